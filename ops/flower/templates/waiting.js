function draw(reading) {
  byId("jobs").textContent = figure(reading.jobs);
  byId("served").textContent = figure(reading.served);
  became(byId("oldest"), "textContent", reading.oldest);
  became(byId("lately"), "textContent", "in the last " + reading.minutes + " minutes");
  table("waiting", [
    ["Run", "", (row) => link(row.run, "?run=" + encodeURIComponent(row.run))],
    ["Waiting jobs", "number", (row) => row["waiting jobs"]],
    ["Oldest wait", "number", (row) => row["oldest wait"]],
    ["Served", "number", (row) => row.served],
    ["Due", "number", (row) => row.due],
    ["Waits for", "", (row) => row["waits for"]],
  ], reading.waiting, "No host is active.", (row) => row.run);
}
