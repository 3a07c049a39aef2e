// What both pages need: cells, tables, and renewing themselves. Everything from outside becomes text, never markup.
const byId = (id) => document.getElementById(id);
const figure = (value) => value === null || value === undefined ? "—" : Number(value).toLocaleString("en");
const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0) + "%";
const sum = (values) => values.reduce((total, value) => total + value, 0);

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) { made.className = className; }
  if (text !== undefined) { made.textContent = text; }
  return made;
}

function link(text, address) {
  const made = element("a", "", text);
  made.href = address;
  return made;
}

const kindLink = (kind) => link(kind, TASKS + "?name=" + encodeURIComponent(kind));

// A job as the task list names it, linked to its task's page where Flower has one.
function jobLink(reading, id, text) {
  return reading.known.includes(id) ? link(text, TASK.replace("JOB", encodeURIComponent(id))) : element("span", "", text);
}

// Columns: [title, class, cell]; a cell is text, a node or a number, made from a row.
function table(id, columns, rows, nothing, key) {
  const made = element("table", "broker-table table table-hover align-middle mb-0");
  const head = made.createTHead().insertRow();
  columns.forEach(([title, className]) => {
    const cell = element("th", className, title);
    cell.scope = "col";
    head.append(cell);
  });
  const body = made.createTBody();
  rows.forEach((row) => {
    const line = body.insertRow();
    if (key) { line.dataset.key = key(row); }
    columns.forEach(([title, className, make]) => {
      const cell = line.insertCell();
      const value = make(row);
      cell.className = className;
      cell.dataset.name = title;
      if (typeof value === "number") { cell.dataset.value = value; }
      cell.append(typeof value === "number" ? figure(value) : value);
    });
  });
  if (!rows.length) {
    const cell = body.insertRow().insertCell();
    cell.className = "empty-table-message";
    cell.colSpan = columns.length;
    cell.textContent = nothing;
  }
  const card = element("div", "broker-table-card");
  const figureOf = element("figure", "table-responsive mb-0");
  figureOf.append(made);
  card.append(figureOf);
  const old = byId(id);
  const left = old.querySelector("figure") ? old.querySelector("figure").scrollLeft : 0;
  old.replaceChildren(card);
  figureOf.scrollLeft = left;
}

function state(text, dot) {
  byId("live").textContent = text;
  byId("live-dot").className = "status-dot " + dot;
}

function choices(reading) {
  const list = byId("run");
  const wanted = reading.runs.map((one) => one.run + " · " + one.status);
  const shown = Array.from(list.options, (option) => option.textContent);
  if (wanted.join("\n") !== shown.join("\n")) {
    list.replaceChildren(...reading.runs.map((one, at) => new Option(wanted[at], one.run)));
  }
  list.value = reading.run || "";
  list.hidden = !reading.runs.length;
}

function start(draw) {
  const asked = () => new URLSearchParams(window.location.search).get("run");
  const show = (reading) => {
    choices(reading);
    byId("empty").hidden = Boolean(reading.run);
    byId("page").hidden = !reading.run;
    if (reading.run) {
      byId("tick").textContent = figure(reading.tick);
      byId("tick").dataset.value = reading.tick;
      byId("clock").textContent = "Tick · " + reading.clock;
      const ticks = reading.recent.last - reading.recent.first + 1;
      document.querySelectorAll(".span").forEach((span) => { span.textContent = "in the last " + figure(ticks) + " ticks"; });
      draw(reading);
    }
    state(reading.run && reading.status === "running" ? "Live" : reading.run ? "Run is " + reading.status : "No run", "status-dot-live");
  };
  const renew = async () => {
    if (!document.hidden) {
      try {
        const run = asked();
        const answer = await fetch(DATA + (run ? "?run=" + encodeURIComponent(run) : ""), {credentials: "same-origin"});
        if (!answer.ok) { throw new Error(answer.status === 503 ? "The runs cannot be read" : "Answer " + answer.status); }
        show(await answer.json());
      } catch (error) {
        state(error instanceof TypeError ? "Flower does not answer" : error.message, "status-dot-error");
      }
    }
    window.setTimeout(renew, INTERVAL);
  };
  byId("run").addEventListener("change", (event) => {
    window.location.search = "?run=" + encodeURIComponent(event.target.value);
  });
  show(JSON.parse(byId("reading").textContent));
  window.setTimeout(renew, INTERVAL);
}
