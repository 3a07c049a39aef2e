const STATES = ["waiting", "running", "staged", "dead", "held"];
const SOURCES = ["llm", "cached", "heuristic", "none"];
const beats = {};  // worker -> heartbeats at the last reading

function stack(tally) {
  const total = sum(SOURCES.map((name) => tally.sources[name] || 0));
  const made = element("div", "cogitate-stack");
  for (const name of SOURCES) {
    const piece = element("span", name);
    piece.style.width = total ? 100 * (tally.sources[name] || 0) / total + "%" : "0";
    made.append(piece);
  }
  made.title = SOURCES.map((name) => name + " " + (tally.sources[name] || 0)).join(", ");
  return made;
}

function heartbeat(worker) {
  const before = beats[worker.worker];
  beats[worker.worker] = worker.beats;
  if (!worker.running) { return element("span", "muted", "no job"); }
  if (before === undefined || worker.beats > before) { return element("span", "good", "at work"); }
  return element("span", "warn", "at work, no new heartbeat");
}

const counted = (ticks) => figure(ticks) + (ticks === 1 ? " tick" : " ticks");

function oldest(kind) {
  if (!kind.oldest) { return element("span", "muted", "—"); }
  return jobLink(kind.oldest, counted(kind.age));
}

const CAUSES = {late: "late results", failed: "failed jobs", budget: "pace of the budget"};
const BY = {controller: "controller", pinned: "pinned by an operator", settings: "controller is off"};

function pressure(steering) {
  const made = element("span");
  Object.entries(steering.causes).forEach(([cause, share]) => {
    const pressing = steering.pressing.includes(cause);
    if (made.childNodes.length) { made.append(", "); }
    made.append(element("span", pressing ? "warn" : "muted", CAUSES[cause] + " " + share + "%"));
  });
  if (!made.childNodes.length) { made.append(element("span", "good", "none")); }
  return made;
}

function steer(steering) {
  const slow = steering.cadence < 1;
  table("steering", [
    ["Reflections", "", () => element("span", slow ? "warn" : "", steering.every)],
    ["Of usual", "number", () => percent(steering.cadence)],
    ["Decided by", "", () => BY[steering.by]],
    ["Pressure", "", () => pressure(steering)],
    ["Waiting", "number", () => steering.waiting],
    ["Postponed", "number minor", () => steering.postponed],
    ["Run", "", () => element("span", steering.mode === "running" ? "" : "warn", steering.mode)],
    ["Asked", "number minor", () => steering.asked],
    ["Behind", "number", () => counted(steering.lag)],
    ["Host, ms a tick", "number minor", () => element("span", "", steering.host_ms.toFixed(1))],
  ], [steering], "", () => "steering");
}

function draw(reading) {
  steer(reading.steering);
  const none = {oldest: "", age: 0};
  const names = Array.from(new Set([...Object.keys(reading.queues), ...Object.keys(reading.open)])).sort();
  const kinds = names.map((name) => [name, reading.open[name] || none, reading.queues[name] || 0]);
  table("queues", [
    ["Kind", "", ([name]) => kindLink(name)],
    ["Queue", "number", ([, , depth]) => depth],
    ["Oldest", "number", ([, kind]) => oldest(kind)],
    ...STATES.map((name) => [name, "number" + (name === "dead" || name === "held" ? " minor" : ""), ([, kind]) => kind[name] || 0]),
  ], kinds, "No kinds.", ([name]) => name);
  byId("open").textContent = figure(sum(kinds.map(([, kind]) => sum(STATES.map((name) => kind[name] || 0)))));
  byId("oldest").textContent = figure(Math.max(0, ...kinds.map(([, kind]) => kind.age)));
  const wrong = sum(Object.values(reading.recent.failures));
  alarm("failures", figure(wrong), wrong > 0);

  const ended = ([, tally]) => sum(Object.values(tally.ends));
  const tries = ([, tally]) => tally.attempts / Math.max(1, sum(Object.values(tally.sources)));
  table("sources", [
    ["Kind", "", ([name]) => kindLink(name)],
    ["Share", "", ([, tally]) => stack(tally)],
    ["Ended", "number minor", ended],
    ...SOURCES.map((name) => [name, "number" + (name === "none" || name === "cached" ? " minor" : ""), ([, tally]) => tally.sources[name] || 0]),
    ["late", "number", ([, tally]) => tally.reasons.late || 0],
    ["Attempts a job", "number minor", (row) => tries(row).toFixed(2)],
    ["most", "number minor", ([, tally]) => tally.most_attempts],
  ], Object.entries(reading.recent.kinds).sort((a, b) => tries(b) - tries(a) || ended(b) - ended(a)), "No job ended.", ([name]) => name);

  const counts = (found) => Object.entries(found).map(([name, times]) => name + " " + figure(times) + "×").join(" · ");
  table("endpoints", [
    ["Endpoint", "", (one) => one.endpoint],
    ["Breaker", "", (one) => element("span", one.breaker === "closed" ? "good" : "warn", one.words)],
    ["Calls", "number", (one) => one.calls],
    ["In flight", "number minor", (one) => one.in_flight],
    ["Waits", "number minor", (one) => one.waits],
    ["Failures", "", (one) => counts(one.failures)],
    ["Not called", "", (one) => counts(one.refused)],
  ], reading.endpoints, "No endpoint was called.", (one) => one.endpoint);

  byId("classes").textContent = Object.entries(reading.recent.failures).map(([name, times]) => name + " " + times + "×").join(" · ");
  table("failed", [
    ["Job", "", (job) => jobLink(job.id, job.kind + " · " + job.owner.replace(/^agent:/, "") + " · tick " + job.tick)],
    ["Class", "", (job) => job.why ? job.failure + "; " + job.why : job.failure],
    ["Ended", "number", (job) => "tick " + figure(job.ended)],
    ["Attempts", "number minor", (job) => job.attempts],
  ], reading.recent.failed, "Nothing failed.", (job) => job.id);
  table("workers", [
    ["Process", "", (worker) => worker.worker.split(":").slice(0, 2).join(" · pid ")],
    ["State", "", heartbeat],
    ["Attempts", "number", (worker) => worker.running],
    ["Calls", "number", (worker) => (reading.recent.workers[worker.worker] || {asked: 0}).asked],
    ["Failed", "number", (worker) => (reading.recent.workers[worker.worker] || {failed: 0}).failed],
    ["Beats", "number minor", (worker) => worker.beats],
  ], reading.workers, "No worker has claimed a job.", (worker) => worker.worker);
}
