const GRADES = {applied: "good", refused: "bad", waits: "warn"};
const chosen = () => byId("run").value;
byId("why").addEventListener("submit", (event) => event.preventDefault());

function asked(one) {
  const made = element("span", "", one.asked);
  if (one.by) { made.append(element("span", "narrow", "by " + one.by)); }
  if (one.reason) { made.append(element("div", "muted", one.reason)); }
  return made;
}

function took(one) {
  if (!one.tick) { return "—"; }
  const made = element("span", "", "tick " + figure(one.tick) + ", " + one.clock);
  if (one.at) { made.append(element("div", "muted", dated(new Date(1000 * one.at)))); }
  return made;
}

function draw(reading) {
  allow(reading);
  const steering = reading.steering;
  byId("mode").textContent = steering.mode;
  byId("cadence").textContent = percent(steering.cadence);
  byId("asked").textContent = figure(steering.asked);
  const names = Object.keys(reading.limits);
  if (byId("limit-names").dataset.names !== names.join("\n")) {
    byId("limit-names").dataset.names = names.join("\n");
    byId("limit-names").replaceChildren(...names.map((name) => new Option(name, name)));
  }
  table("limits", [
    ["Limit", "", ([name]) => name],
    ["Value", "number limit", ([, value]) => value],
  ], Object.entries(reading.limits), "There is no limit.", ([name]) => name);
  table("history", [
    ["Request", "", asked],
    ["By", "minor", (one) => one.by || "—"],
    ["State", "", (one) => element("span", GRADES[one.state], one.state)],
    ["Took effect", "", took],
    ["Outcome", "", (one) => one.job ? jobLink(one.job, "a new job") : one.refused || one.called_off || "—"],
  ], reading.history, "No requests yet.", (one) => one.id);
}

document.querySelectorAll("[data-action]").forEach((button) => button.addEventListener("click", () => {
  const action = button.dataset.action;
  ask({run: chosen(), reason: byId("reason").value, action}, button.textContent + " run " + chosen() + "?");
}));
byId("throttle").addEventListener("submit", (event) => {
  event.preventDefault();
  const factor = Number(byId("factor").value);
  const pin = byId("pin").checked;
  ask({run: chosen(), reason: byId("reason").value, action: "throttle", factor, pin}, "Let agents of " + chosen() + " reflect at " + factor + " of the usual cadence" + (pin ? ", pinned?" : "?"));
});
byId("auto").addEventListener("click", () => {
  ask({run: chosen(), reason: byId("reason").value, action: "throttle", auto: true}, "Leave the cadence of " + chosen() + " to the controller?");
});
byId("limit").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("limit-name").value;
  const value = Number(byId("limit-value").value);
  ask({run: chosen(), reason: byId("reason").value, action: "limit", name, value}, "Set limit " + name + " of " + chosen() + " to " + figure(value) + "?");
});
byId("lift").addEventListener("click", () => {
  const name = byId("limit-name").value;
  ask({run: chosen(), reason: byId("reason").value, action: "limit", name, value: null}, "Lift limit " + name + " of " + chosen() + "?");
});
