function draw(reading) {
  const job = reading.job;
  byId("life").dataset.job = job.id;
  byId("kind").textContent = job.kind;
  byId("owner").textContent = job.owner;
  alarm("state", job.state, false);
  alarm("source", job.source + (job.reason === "none" ? "" : ", " + job.reason), job.grade === "bad");
  byId("spent").textContent = job.spent;
  table("life", [
    ["Step", "step", ([name]) => name],
    ["What happened", "wraps", ([name, text]) => name === "next try" ? jobLink(text, text) : text],
  ], job.at ? [...reading.life, ["ended", dated(new Date(1000 * job.at)) + " in real time"]] : reading.life, "", null);
  allow(reading);
  byId("acts").hidden = !job.retryable;
  byId("untold").hidden = reading.texts;
  table("task", [
    ["State", "", (task) => link(task.state, TASK.replace("JOB", encodeURIComponent(job.id)))],
    ["Received", "", (task) => task.received ? dated(new Date(1000 * task.received)) : "—"],
    ["Seconds", "number", (task) => task.runtime === null ? "—" : task.runtime.toFixed(2)],
    ["Worker", "minor", (task) => task.worker || "—"],
  ], reading.task ? [reading.task] : [], "Flower was not running when the message was published, or has discarded it.", null);
}

byId("retry").addEventListener("click", () => {
  const id = byId("life").dataset.job;
  ask({run: byId("run").value, action: "retry", jobs: [id]}, "Ask a model again for job " + id + "? It is charged to today.");
});
