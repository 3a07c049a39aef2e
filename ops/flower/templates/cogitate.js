// Shared by all pages: cells, tables and the refresh. Data becomes text, never markup.
const DAY = 1440;  // minutes
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

const jobLink = (id, text) => link(text, JOB + "?id=" + encodeURIComponent(id));

// Shows a figure, whose card is red only if something is wrong.
function alarm(id, text, wrong) {
  byId(id).textContent = text;
  byId(id).closest(".metric-card").classList.toggle("metric-card-danger", wrong);
}

// Sets a property only if it differs, so that an unchanged element stays untouched.
function became(thing, name, value) {
  if (thing[name] !== value) { thing[name] = value; }
}

// Shows rows in a table. Columns are [title, class, cell], where `cell` makes text, a node or a number from a row. The
// table is created once; later only cells that differ change, which keeps selection, focus and scroll position.
function table(id, columns, rows, nothing, key) {
  const holder = byId(id);
  const titles = JSON.stringify(columns.map(([title, className]) => [title, className]));
  if (holder.dataset.titles !== titles) {
    holder.dataset.titles = titles;
    const made = element("table", "broker-table table table-hover align-middle mb-0");
    const head = made.createTHead().insertRow();
    columns.forEach(([title, className]) => {
      const cell = element("th", className, title);
      cell.scope = "col";
      head.append(cell);
    });
    made.createTBody();
    const card = element("div", "broker-table-card");
    const figureOf = element("figure", "table-responsive mb-0");
    figureOf.tabIndex = 0;  // so that the keyboard can scroll it on a narrow screen
    figureOf.setAttribute("aria-label", "Table: " + columns.map(([title]) => title).filter(Boolean).join(", "));
    figureOf.append(made);
    card.append(figureOf);
    holder.replaceChildren(card);
  }
  const body = holder.querySelector("tbody");
  if (!rows.length) {
    if (!body.querySelector(".empty-table-message")) {
      const cell = element("td", "empty-table-message", nothing);
      cell.colSpan = columns.length;
      const line = element("tr");
      line.append(cell);
      body.replaceChildren(line);
    }
    return;
  }
  const old = new Map(Array.from(body.rows, (line) => [line.dataset.key, line]));
  rows.forEach((row, at) => {
    const name = key ? key(row) : String(at);
    let line = old.get(name);
    old.delete(name);
    if (!line) {
      line = element("tr");
      line.dataset.key = name;
    }
    if (body.rows[at] !== line) { body.insertBefore(line, body.rows[at] || null); }
    columns.forEach((column, place) => fill(line, place, column, row));
  });
  old.forEach((line) => line.remove());
}

function fill(line, place, [title, className, make], row) {
  const value = make(row);
  const cell = element("td", className);
  cell.dataset.name = title;
  if (typeof value === "number") { cell.dataset.value = value; }
  cell.append(typeof value === "number" ? figure(value) : value);
  const present = line.cells[place];
  if (!present) { line.append(cell); } else if (!present.isEqualNode(cell)) { present.replaceWith(cell); }
}

function state(text, dot) {
  byId("live").textContent = text;
  byId("live-dot").className = "status-dot " + dot;
}

// Shows the events of a run, with their numbers in the charts if given.
function eventTable(events, number) {
  table("events", [
    ...(number ? [["No.", "number", number]] : []),
    ["Time", "number", (one) => clock(new Date(1000 * one.at))],
    ["In the game", "", (one) => one.clock],
    ["Event", "wraps", (one) => element("span", one.bad ? "bad" : "", one.what)],
  ], events, "Nothing happened.", (one) => one.at + one.what);
}

// Sends a request to the run's host once the operator has confirmed it, and shows the outcome.
async function ask(act, question) {
  if (!window.confirm(question)) { return; }
  const cookie = document.cookie.split("; ").find((one) => one.startsWith("_xsrf=")) || "";
  byId("outcome").textContent = "Sent…";
  let reply;
  try {
    const answer = await fetch(ASK, {
      method: "POST", credentials: "same-origin", body: JSON.stringify(act),
      headers: {"Content-Type": "application/json", "X-XSRFToken": decodeURIComponent(cookie.slice(6))},
    });
    reply = await answer.json();
  } catch (error) {
    reply = {error: "Flower does not answer: the run's history shows whether it got the request"};
  }
  byId("outcome").textContent = reply.outcome || reply.error;
  if (!reply.error) { byId("reason").value = ""; }  // the reason applied to this request only
  byId("outcome").className = reply.error || reply.state === "refused" ? "bad" : "";
}

// Enables the actions, or shows why they are disabled.
function allow(reading) {
  byId("may-not").hidden = !reading.why_not;
  became(byId("may-not"), "textContent", reading.why_not);
  byId("acts").disabled = Boolean(reading.why_not);
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

const clock = (time) => time.toLocaleTimeString("en-GB");
const dated = (time) => time.toLocaleString("en-GB");

const TITLE = document.title;
const SIGNS = {bad: ["\u25b2 ", "#b42318", "M8 1 16 15H0Z"], warn: ["\u25cf ", "#a15c00", "M8 1 15 8 8 15 1 8Z"], good: ["", "#237a3b", "M1 8a7 7 0 1 0 14 0a7 7 0 1 0-14 0Z"]};

// Shows the run's state in the browser's tab, by the icon's shape and colour and by the worst figure.
function tab(grade, said) {
  const [sign, colour, shape] = SIGNS[grade];
  const icon = document.querySelector("link[rel=icon]");
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="' + colour + '" d="' + shape + '"/></svg>';
  became(icon, "href", "data:image/svg+xml," + encodeURIComponent(drawing));
  became(document, "title", sign + (said ? said + " · " : "") + TITLE);
}

// Shows that the figures are stale, since when and why, with nothing green left on the page.
function stale(since, why) {
  state(since ? "Stale since " + clock(since) : "No answer", "status-dot-error");
  tab("bad", "No answer");
  byId("trouble").textContent = why.charAt(0).toUpperCase() + why.slice(1);
  byId("trouble").hidden = false;
  byId("empty").hidden = true;
  byId("page").classList.add("cogitate-stale");
}

function start(draw) {
  let seen = null;  // time of the last answer
  const show = (reading) => {
    if (reading.error) { stale(seen, reading.error); return; }
    seen = new Date();
    byId("trouble").hidden = !reading.no_writes;
    became(byId("trouble"), "textContent", reading.no_writes || "");
    if (document.title.startsWith(SIGNS.bad[0])) { tab("good"); }
    byId("page").classList.remove("cogitate-stale");
    choices(reading);
    byId("empty").hidden = Boolean(reading.run);
    byId("page").hidden = !reading.run;
    if (reading.run) {
      if (byId("tick")) {
        byId("tick").textContent = figure(reading.tick);
        byId("tick").dataset.value = reading.tick;
        byId("clock").textContent = "Tick · " + reading.clock;
      }
      document.body.dataset.tick = reading.tick;
      const ticks = reading.recent ? reading.recent.last - reading.recent.first + 1 : 0;
      document.querySelectorAll(".span").forEach((span) => { span.textContent = "in the last " + figure(ticks) + " ticks"; });
      draw(reading);
    }
    const live = reading.status === "running" && !reading.no_writes;
    const gone = (reading.status || "").endsWith("no host");
    const real = reading.at ? new Date(1000 * reading.at) : null;  // real time of the tick
    const since = real === null ? "" : live ? " · " + clock(real) : " · last tick " + dated(real);
    state(
      reading.run && reading.no_writes ? "Redis takes no writes · tick " + figure(reading.tick) + since : reading.run && live ? "Live · tick " + figure(reading.tick) + ", " + reading.clock + since : reading.run ? "Run is " + reading.status + since : "No run",
      live ? "status-dot-live" : gone || reading.no_writes ? "status-dot-error" : "",
    );
  };
  const ask = async () => {
    const impatience = new AbortController();
    const timer = window.setTimeout(() => impatience.abort(), PATIENCE);
    try {
      const answer = await fetch(DATA + window.location.search, {credentials: "same-origin", signal: impatience.signal});
      if (answer.ok || answer.status === 503) { return await answer.json(); }
      return {error: answer.status === 404 ? "This run or job no longer exists: choose another" : "Flower answers " + answer.status};
    } catch (error) {
      return {error: impatience.signal.aborted ? "No answer within " + PATIENCE / 1000 + " s: Flower or Redis is busy, paused or gone. See cogitate doctor" : "Flower does not answer: start it again with cogitate flower"};
    } finally {
      window.clearTimeout(timer);
    }
  };
  const renew = async () => {
    const reading = document.hidden ? null : await ask();
    if (reading) { show(reading); }
    if (!reading || !reading.over) { window.setTimeout(renew, INTERVAL); }
  };
  byId("run").addEventListener("change", (event) => {
    window.location.href = PAGE + "?run=" + encodeURIComponent(event.target.value);
  });
  const first = JSON.parse(byId("reading").textContent);
  show(first);
  if (!first.over) { window.setTimeout(renew, INTERVAL); }
}
