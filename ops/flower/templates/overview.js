const COLUMNS = ["Ticks behind", "Model's answers", "Spent today", "Refused", "Late or too slow", "Cadence"];

// Copies a command, or selects it if the page may not use the clipboard.
function copied(code, button) {
  const select = () => window.getSelection().selectAllChildren(code);
  if (!navigator.clipboard) { select(); return; }
  navigator.clipboard.writeText(code.textContent).then(() => { button.textContent = "Copied"; }, select);
}

function remedy(label) {
  const made = element("p", "cogitate-remedy");
  const code = element("code");
  const button = element("button", "btn btn-sm btn-outline-secondary", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", "Copy the command of " + label);
  button.addEventListener("click", () => copied(code, button));
  made.append(code, button, link("Jobs", ""));
  return made;
}

// Cards of causes precede cards of their consequences, on the page and in the tab.
const CAUSES = ["host", "workers", "money", "model", "failing", "late"];
const place = (found) => found.grade === "bad" ? CAUSES.indexOf(found.name) - CAUSES.length : 0;

// Shows a card. It is created once; later only its texts change, which keeps selection and focus.
function card(found, run) {
  let made = byId("card-" + found.name);
  if (!made) {
    made = element("article");
    made.id = "card-" + found.name;
    made.append(element("p", "metric-label"), element("p", "metric-value"), element("div", "cogitate-lines"), remedy(found.label));
    byId("cards").append(made);
  }
  const [label, value, lines, act] = made.children;
  became(made, "className", "metric-card cogitate-card" + (found.grade ? " is-" + found.grade : ""));
  became(made.style, "order", String(place(found)));
  became(label, "textContent", found.label);
  became(value, "textContent", found.value);
  while (lines.children.length > found.lines.length) { lines.lastChild.remove(); }
  found.lines.forEach((line, at) => {
    if (!lines.children[at]) { lines.append(element("p")); }
    became(lines.children[at], "textContent", line);
  });
  const [code, button, list] = act.children;
  const wrong = found.grade === "bad";
  if (code.textContent !== found.command) {
    code.textContent = found.command;
    button.textContent = "Copy";
  }
  code.hidden = button.hidden = !wrong || !found.command;
  list.hidden = !wrong || !Object.keys(found.jobs).length;
  became(list, "href", new URL(JOBS + "?" + new URLSearchParams({run, ...found.jobs}), window.location).href);
  act.hidden = code.hidden && list.hidden;
  Object.entries(found.figures).forEach(([name, figure]) => { became(made.dataset, name, String(figure)); });
}

function draw(reading) {
  table("rows", [
    ["Run", "", (row) => link(row.run, "?run=" + encodeURIComponent(row.run))],
    ["Host", "", (row) => element("span", row.grade, row.state)],
    ...COLUMNS.map((name, at) => [name, at === 1 ? "number" : "number minor", (row) => row.cells[at] ? element("span", row.cells[at][1], row.cells[at][0]) : "—"]),
  ], reading.rows, "No run.", (row) => row.run);
  document.querySelectorAll("#rows tr[data-key]").forEach((line) => {
    line.classList.toggle("cogitate-chosen", line.dataset.key === reading.run);
  });
  byId("further").hidden = !reading.further;
  byId("further").textContent = "and " + figure(reading.further) + " more: cogitate runs";
  reading.cards.forEach((one) => card(one, reading.run));
  const worst = ["bad", "warn"].find((grade) => reading.cards.some((one) => one.grade === grade)) || "good";
  const named = reading.cards.filter((one) => one.grade === worst && worst !== "good").sort((one, other) => place(one) - place(other));
  tab(worst, named.map((one) => one.label + ": " + one.value)[0]);
  eventTable(reading.events);
  const share = (count, ended) => figure(count) + " of " + figure(ended);
  table("minutes", [
    ["Minutes", "number", (one) => one.minutes],
    ["Ticks", "number", (one) => one.ticks],
    ["Model's", "number", (one) => share(one.thought, one.ended)],
    ["Late", "number", (one) => one.late],
    ["Failed", "number", (one) => one.failed],
    ["Refused", "number", (one) => one.refused],
  ], reading.real_windows, "", (one) => String(one.minutes));
  table("failed", [
    ["Job", "", (job) => jobLink(job.id, job.kind + " · " + job.owner.replace(/^agent:/, "") + " · tick " + job.tick)],
    ["Class", "", (job) => job.why ? job.failure + "; " + job.why : job.failure],
    ["Attempts", "number minor", (job) => job.attempts],
  ], reading.recent.failed, "Nothing failed.", (job) => job.id);
  table("refused", [
    ["Limit", "", (one) => one.limit],
    ["Value", "number minor", (one) => one.value],
    ["Held", "number minor", (one) => one.held],
    ["Refused", "number", (one) => one.count],
  ], reading.refused, "No request was refused.", (one) => one.limit);
  became(byId("since"), "textContent", reading.spenders.clock);
  table("spenders", [
    ["Owner", "", ([owner]) => owner],
    ["Calls", "number", ([, cost]) => cost.calls || 0],
    ["Tokens", "number", ([, cost]) => cost.tokens || 0],
    ["$", "number", ([, cost]) => ((cost.usd_micros || 0) / 1e6).toFixed(4)],
  ], Object.entries(reading.spenders.owners), "No job that has ended cost anything.", ([owner]) => owner);
}
