const address = (given) => PAGE + "?" + new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "" && value !== null));
let counted = null;  // the matches that the page shows

const when = (job) => (job.open ? "due at tick " : "tick ") + figure(job.at) + ", " + job.clock;

function named(job) {
  const made = element("span");
  made.append(jobLink(job.id, job.kind + " · " + job.owner.replace(/^agent:/, "") + " · tick " + job.tick), element("span", "narrow", when(job) + (job.real ? ", " + dated(new Date(1000 * job.real)) : "")));
  return made;
}

function time(job) {
  const made = element("span", "", when(job));
  if (job.real) { made.append(element("div", "muted", dated(new Date(1000 * job.real)))); }
  return made;
}

function outcome(job) {
  const made = element("span", job.failure || job.reason !== "none" ? "bad" : "", job.reason === "none" ? job.state : job.state + ", " + job.reason);
  if (job.failure) { made.append(element("span", "narrow", job.failure)); }
  return made;
}

function draw(reading) {
  const form = byId("filters");
  const states = form.elements.state;
  if (states.length === 1) {
    states.append(...reading.states.map((one) => new Option(one, one)));
    byId("kinds").replaceChildren(...reading.kinds.map((one) => new Option(one, one)));
    Object.entries(reading.filters).forEach(([name, value]) => { form.elements[name].value = value === null ? "" : value; });
  }
  table("jobs", [
    ["Job", "", named],
    ["State", "", outcome],
    ["At", "minor", time],
    ["Source", "minor", (job) => job.source === "none" ? "—" : job.source],
    ["Failure", "minor", (job) => job.failure || "—"],
    ["Model", "minor", (job) => job.model || "—"],
    ["Worker", "minor", (job) => job.worker || "—"],
  ], reading.jobs, "No such job.", (job) => job.id);
  const trimmed = reading.trimmed ? "; ends up to tick " + figure(reading.trimmed) + " are no longer in the journal" : "";
  byId("looked").textContent = reading.older ? "Ends since tick " + figure(reading.since) + " were searched; older ones follow." : "These are all" + trimmed + ".";
  const filters = {run: reading.run, ...reading.filters};
  byId("older").hidden = !reading.older;
  byId("older").href = address({...filters, older: reading.older});
  byId("newest").hidden = !new URLSearchParams(window.location.search).has("older");
  byId("newest").href = address(filters);
  allow(reading);
}

byId("filters").addEventListener("submit", (event) => {
  event.preventDefault();
  window.location.href = address({run: byId("run").value, ...Object.fromEntries(new FormData(event.target))});
});
byId("clear").addEventListener("click", () => { window.location.href = address({run: byId("run").value}); });
byId("count").addEventListener("click", async () => {
  const asked = new URLSearchParams(window.location.search);
  asked.set("run", byId("run").value);
  asked.delete("older");
  byId("outcome").textContent = "Counting…";
  try {
    const answer = await fetch(MATCHES + "?" + asked, {credentials: "same-origin"});
    counted = await answer.json();
  } catch (error) {
    counted = {error: "Flower does not answer: start it again with cogitate flower"};
  }
  byId("outcome").textContent = counted.error || "";
  byId("all").hidden = Boolean(counted.error);
  if (counted.error) { return; }
  byId("matches").textContent = counted.found;
  byId("open").textContent = counted.open;
  [["retry", "Retry "], ["cancel", "Cancel "]].forEach(([name, verb]) => {
    byId(name).textContent = verb + figure(counted[name].length);
    byId(name).disabled = !counted[name].length;
  });
});
byId("all").addEventListener("submit", (event) => {
  event.preventDefault();
  const action = event.submitter.value;
  const jobs = action === "retry" ? counted.retry : counted.cancel;
  const many = figure(jobs.length) + (jobs.length === 1 ? " job?" : " jobs?");
  const question = action === "retry" ? "Ask a model again for " + many + " They are charged to today."
    : "Cancel " + many + " Heuristics take their place, and the cost of their calls stays charged.";
  ask({run: byId("run").value, action, jobs, reason: byId("reason").value}, question);
});
