"use strict";
const DAY = 1440, ROW = 28, FOUND_ROW = 46, LANE = 54, TOP = 8, LEFT = 92, RIGHT = 24, STACK = 2, NARROW = 960;  // pixels
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
const about = JSON.parse(at("about").textContent);
const minds = new Map();
const shown = { owner: 0, day: 0, number: 0, from: 0, to: DAY, off: new Set(), found: null, count: 0, beside: -1, developers: false };

/* -- data -- */

function learn(index, one) {
  one.byNumber = new Map(one.entries.map((entry) => [entry.n, entry]));
  one.byDay = new Map();
  one.citing = new Map();
  for (const entry of one.entries) {
    entry.minute = entry.minute || 0;  // the data lacks values that are 0 or empty
    const day = dayOf(entry);
    if (!one.byDay.has(day)) one.byDay.set(day, []);
    one.byDay.get(day).push(entry);
    for (const number of entry.evidence || []) {
      if (!one.citing.has(number)) one.citing.set(number, []);
      one.citing.get(number).push(entry);
    }
  }
  one.dayList = [...one.byDay.keys()].sort((a, b) => a - b);
  minds.set(index, one);
}

function mind(index) {
  if (!minds.has(index)) learn(index, JSON.parse(at(`mind-${index}`).textContent));
  return minds.get(index);
}

const dayOf = (entry) => Math.floor(entry.minute / DAY);
const label = (owner) => about.owners[owner][1] + (about.runs.length > 1 ? ` (${about.runs[about.owners[owner][2]]})` : "");
const twin = (owner) => about.owners.findIndex((one, index) => index !== owner && one[0] === about.owners[owner][0]);  // of the other run
const here = () => mind(shown.owner);
const ofDay = (owner = shown.owner) => (mind(owner).byDay.get(shown.day) || []).filter((entry) => !shown.off.has(entry.lane));
const row = () => (shown.found ? FOUND_ROW : ROW);
const inList = () => shown.found || ofDay().map((entry) => ({ owner: shown.owner, entry }));

/* -- elements -- */

function element(name, text = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function drawn(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

function words(entry) {
  return entry.text || (entry.items || []).map((item) => item[1]).join("; ");
}

/* -- the timeline -- */

function marksOf(entries, scale, linked, number) {
  const marks = [], more = [];
  about.lanes.forEach((_, lane) => {
    const ends = Array(STACK).fill(-Infinity);  // of the marks in each row of the lane
    for (const entry of entries) {
      if (entry.lane !== lane) continue;
      const radius = 3 + 0.55 * (entry.importance || 1), x = scale(entry.minute);
      const free = ends.findIndex((end) => end < x - radius);
      if (free >= 0 || entry.n === number || linked.has(entry.n)) {
        const row = Math.max(0, free);
        ends[row] = x + radius;
        marks.push({ entry, x, y: TOP + lane * LANE + 10 + row * 17, radius });
        continue;
      }
      const last = more[more.length - 1];
      if (last && last.lane === lane && x - last.x < 60) last.count += 1;
      else more.push({ lane, x, count: 1, minute: entry.minute });
    }
  });
  return { marks, more };
}

function hourName(minute) {
  const hour = Math.floor(minute / 60) % 24, rest = String(minute % 60).padStart(2, "0");
  if (about.clock === "24h") return `${String(hour).padStart(2, "0")}:${rest}`;
  return `${((hour + 11) % 12) + 1}${rest === "00" ? "" : `:${rest}`} ${hour < 12 ? "AM" : "PM"}`;
}

function drawTimeline(focus = false) {
  drawDay(at("timeline"), shown.owner, shown.number, focus);
  at("second").hidden = shown.beside < 0;
  if (shown.beside < 0) return;
  at("whose").textContent = `${label(shown.beside)} on ${mind(shown.beside).days[shown.day] || "this day: no memory"}`;
  drawDay(at("beside-day"), shown.beside, 0, false);
}

function drawDay(svg, owner, number, focus) {
  const width = Math.max(280, svg.clientWidth), height = TOP + about.lanes.length * LANE + 22;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.height = `${height}px`;
  const start = shown.day * DAY, span = shown.to - shown.from;
  const scale = (minute) => LEFT + ((minute - start - shown.from) / span) * (width - LEFT - RIGHT);
  const parts = [];
  about.lanes.forEach((name, lane) => {
    const y = TOP + (lane + 1) * LANE - 2;
    parts.push(drawn("line", { x1: 0, x2: width, y1: y, y2: y }), drawn("text", { x: 6, y: y - LANE / 2 + 6 }, name));
  });
  if (about.clock) {
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360].find((minutes) => (span / minutes) * 60 < width - LEFT) || 720;
    for (let minute = Math.ceil(shown.from / step) * step; minute <= shown.to; minute += step) {
      const x = scale(start + minute);
      parts.push(drawn("line", { x1: x, x2: x, y1: TOP, y2: height - 20 }));
      parts.push(drawn("text", { x, y: height - 6, "text-anchor": "middle" }, hourName(minute)));
    }
  }
  const inside = ofDay(owner).filter((e) => e.minute >= start + shown.from && e.minute <= start + shown.to);
  const chosen = mind(owner).byNumber.get(number), linked = new Set(chosen ? chosen.evidence || [] : []);
  const { marks, more } = marksOf(inside, scale, linked, number);
  let focused = null;
  for (const { entry, x, y, radius } of marks) {
    const kinds = ["mark", `lane${entry.lane}`, entry.archived ? "archived" : "", entry.heuristic ? "heuristic" : "",
      entry.n === number ? "chosen" : "", linked.has(entry.n) ? "linked" : ""].filter(Boolean).join(" ");
    const mark = drawn("g", { class: kinds, role: "button", tabindex: -1, "data-n": entry.n,
      "aria-label": `${about.types[entry.lane]}${entry.heuristic ? " by a heuristic" : ""}, ${entry.time}: ${words(entry).slice(0, 200)}` });
    mark.append(drawn("circle", { cx: x, cy: y, r: radius }), drawn("title", {}, `${entry.time}: ${words(entry).slice(0, 300)}`));
    if (entry.n === number) focused = mark;
    parts.push(mark);
  }
  for (const one of more) {
    const group = drawn("g", { class: `more lane${one.lane}`, "data-minute": one.minute });
    group.append(drawn("text", { x: one.x, y: TOP + one.lane * LANE + 48, "text-anchor": "middle" }, `+${one.count}`));
    parts.push(group);
  }
  svg.replaceChildren(...parts);
  const tabbed = focused || svg.querySelector(".mark");
  if (tabbed) tabbed.setAttribute("tabindex", 0);
  if (focus && focused) focused.focus();
}

function zoom(factor, middle = null) {
  const span = Math.min(DAY, Math.max(10, (shown.to - shown.from) * factor));
  const chosen = here().byNumber.get(shown.number);
  const around = middle ?? (chosen && dayOf(chosen) === shown.day ? chosen.minute - shown.day * DAY : (shown.from + shown.to) / 2);
  shown.from = Math.min(DAY - span, Math.max(0, around - span / 2));
  shown.to = shown.from + span;
}

function step(key) {
  const entries = ofDay(), chosen = here().byNumber.get(shown.number);
  if (!entries.length) return;
  if (!chosen || dayOf(chosen) !== shown.day) { choose(shown.owner, entries[0].n, true); return; }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const own = entries.filter((entry) => entry.lane === chosen.lane);
    const next = own[own.indexOf(chosen) + (key === "ArrowRight" ? 1 : -1)];
    if (next) choose(shown.owner, next.n, true);
    return;
  }
  const way = key === "ArrowDown" ? 1 : -1;
  for (let lane = chosen.lane + way; lane >= 0 && lane < about.lanes.length; lane += way) {
    const own = entries.filter((entry) => entry.lane === lane);
    if (!own.length) continue;
    const gap = (entry) => Math.abs(entry.minute - chosen.minute);
    choose(shown.owner, own.reduce((best, entry) => (gap(entry) < gap(best) ? entry : best)).n, true);
    return;
  }
}

/* -- the list -- */

function drawRows() {
  const list = at("list"), rows = at("rows"), all = inList();
  rows.style.height = `${all.length * row()}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / row()) - 10), last = Math.min(all.length, first + Math.ceil(list.clientHeight / row()) + 20);
  const made = [];
  list.removeAttribute("aria-activedescendant");
  for (let index = first; index < last; index += 1) {
    const { owner, entry } = all[index];
    const line = element("div", "", `row lane${entry.lane}${entry.archived ? " archived" : ""}${shown.found ? " found" : ""}`);
    line.id = `row-${index}`;
    line.dataset.index = index;
    line.style.top = `${index * row()}px`;
    line.setAttribute("role", "option");
    line.setAttribute("aria-setsize", all.length);
    line.setAttribute("aria-posinset", index + 1);
    const selected = owner === shown.owner && entry.n === shown.number;
    line.setAttribute("aria-selected", selected);
    if (selected) list.setAttribute("aria-activedescendant", line.id);
    const when = shown.found ? `${all[index].day}, ${entry.time}, remembered by ${label(owner)}` : entry.time;
    line.append(element("span", when, "when"), element("span", (entry.repeats ? `${entry.repeats + 1}× ` : "") + words(entry), "text"));
    made.push(line);
  }
  rows.replaceChildren(...made);
}

function drawCount() {
  const all = inList(), day = here().days[shown.day] || "no day";
  at("count").textContent = shown.found
    ? `${counted(shown.count, "memory", "memories")} of all agents ${shown.count === 1 ? "matches" : "match"}, by time${shown.count > all.length ? `; the first ${all.length} are listed` : ""}`
    : `${counted(all.length, "memory", "memories")} of ${label(shown.owner)} on ${day}`;
}

function scrollToChosen() {
  const index = inList().findIndex(({ owner, entry }) => owner === shown.owner && entry.n === shown.number);
  const list = at("list");
  if (index < 0) return;
  if (index * row() < list.scrollTop || (index + 1) * row() > list.scrollTop + list.clientHeight) {
    list.scrollTop = Math.max(0, index * row() - list.clientHeight / 2);
  }
}

function search(text) {
  if (about.served) return searchServer(text);
  const wanted = text.trim().toLocaleLowerCase();
  const all = wanted ? inAll(wanted) : null;
  found(all, all ? all.length : 0);
}

const byTime = (one, other) => one.entry.minute - other.entry.minute || one.owner - other.owner || one.entry.n - other.entry.n;

/* Lists the first memories that a search found, with the number of all; null: the memories of the day. */
function found(entries, count) {
  shown.found = entries && entries.sort(byTime).slice(0, about.found);
  shown.count = count;
  document.querySelector("main").classList.toggle("searching", entries !== null);
  at("list").scrollTop = 0;
  drawCount();
  drawRows();
  if (!entries) scrollToChosen();
}

function inAll(wanted) {
  const matching = [];
  for (let owner = 0; owner < about.owners.length; owner += 1) {
    for (const entry of mind(owner).entries) {
      if (words(entry).toLocaleLowerCase().includes(wanted)) matching.push({ owner, entry, day: mind(owner).days[dayOf(entry)] });
    }
  }
  return matching;
}

/* -- choosing -- */

async function choose(owner, number, focus = false) {
  if (about.served && !(await fetchMind(owner))) return;
  const changed = owner !== shown.owner, beside = shown.beside === twin(shown.owner) ? twin(owner) : shown.beside;
  if (about.served && beside >= 0 && !(await fetchMind(beside))) return;
  shown.beside = beside;
  shown.owner = owner;
  shown.number = number;
  at("side").scrollTop = 0;
  if (changed && about.served) at("recalled").replaceChildren();
  const entry = here().byNumber.get(number);
  if (entry) {
    const minute = entry.minute - dayOf(entry) * DAY;
    if (changed || dayOf(entry) !== shown.day) { shown.from = 0; shown.to = DAY; }
    shown.day = dayOf(entry);
    if (minute < shown.from || minute > shown.to) zoom(1, minute);
    shown.off.delete(entry.lane);
  } else if (changed || !here().byDay.has(shown.day)) {
    shown.day = here().dayList[here().dayList.length - 1] ?? 0;
  }
  const hash = address(owner, entry ? number : 0);
  if (location.hash !== hash) history.replaceState(null, "", hash);
  draw(focus);
}

/* Shows the chosen agent. The others become options once a visitor opens the list: a thousand options take longer than the rest
   of the page. */
function showChoice(id, chosen) {
  const select = at(id);
  if (!select.querySelector(`[value="${chosen}"]`)) offer(select, [chosen]);
  select.value = chosen;
}

const offer = (select, indices) => select.replaceChildren(
  ...indices.map((index) => Object.assign(element("option", index < 0 ? "no one" : label(index)), { value: index })),
);

function offerAll({ target: select }) {
  const chosen = select.value, all = [...(select.id === "beside" ? [-1] : []), ...about.owners.keys()];
  if (select.length === all.length) return;
  offer(select, all);
  select.value = chosen;
}

function draw(focus = false) {
  document.body.inert = false;
  showChoice("owner", shown.owner);
  showChoice("beside", shown.beside);
  const days = at("day"), one = here();
  days.replaceChildren(...one.dayList.map((day) => Object.assign(element("option", one.days[day]), { value: day })));
  days.value = shown.day;
  const index = one.dayList.indexOf(shown.day);
  at("earlier").disabled = index <= 0;
  at("later").disabled = index < 0 || index >= one.dayList.length - 1;
  for (const button of at("lanes").children) button.setAttribute("aria-pressed", !shown.off.has(Number(button.dataset.lane)));
  drawCount();
  scrollToChosen();
  drawRows();
  at("agent").open = !shown.number;
  drawAgent();
  drawCard();
  drawTimeline(focus);
  if (about.served) fetchFurther();
}

function toDay(day) {
  shown.day = day;
  shown.number = 0;
  shown.from = 0;
  shown.to = DAY;
  at("list").scrollTop = 0;
  draw();
}

function fromHash() {
  const [place, run] = location.hash.slice(1).split("&");
  const [owner, number] = decodeURIComponent(place).split(/\/(?=\d*$)/);
  const index = about.owners.findIndex((one) => one[0] === owner && one[2] === Number(run || 0));
  choose(Math.max(0, index), index < 0 ? 0 : Number(number) || 0);
}

/* -- events -- */

about.lanes.forEach((name, lane) => {
  const button = element("button", name, `lane${lane}`);
  button.type = "button";
  button.dataset.lane = lane;
  button.addEventListener("click", () => {
    if (!shown.off.delete(lane)) shown.off.add(lane);
    draw();
  });
  at("lanes").append(button);
});
for (const id of ["owner", "beside"]) for (const kind of ["focus", "pointerdown"]) at(id).addEventListener(kind, offerAll);
at("owner").addEventListener("change", (event) => { at("find").value = ""; shown.found = null; choose(Number(event.target.value), 0); });
at("day").addEventListener("change", (event) => toDay(Number(event.target.value)));
at("earlier").addEventListener("click", () => toDay(here().dayList[here().dayList.indexOf(shown.day) - 1]));
at("later").addEventListener("click", () => toDay(here().dayList[here().dayList.indexOf(shown.day) + 1]));
at("in").addEventListener("click", () => { zoom(0.5); drawTimeline(); });
at("out").addEventListener("click", () => { zoom(2); drawTimeline(); });
at("whole").addEventListener("click", () => { shown.from = 0; shown.to = DAY; drawTimeline(); });
at("find").addEventListener("input", (event) => search(event.target.value));
at("beside").addEventListener("change", async (event) => {
  const index = Number(event.target.value);
  if (about.served && index >= 0 && !(await fetchMind(index))) return;
  shown.beside = index;
  drawTimeline();
});
for (const kind of ["click", "keydown"]) at("beside-day").addEventListener(kind, (event) => {
  const mark = event.target.closest(".mark");
  if (!mark || (kind === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  const owner = shown.beside;
  shown.beside = shown.owner;  // the two agents change places
  choose(owner, Number(mark.dataset.n), true);
});
at("timeline").addEventListener("click", (event) => {
  const mark = event.target.closest(".mark"), more = event.target.closest(".more");
  if (mark) choose(shown.owner, Number(mark.dataset.n), true);
  else if (more) { zoom(0.25, Number(more.dataset.minute) - shown.day * DAY); drawTimeline(); }
});
at("timeline").addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.4 : 0.7);
  drawTimeline();
}, { passive: false });
at("timeline").addEventListener("keydown", (event) => {
  if (event.key.startsWith("Arrow")) step(event.key);
  else if (event.key === "+" || event.key === "-") { zoom(event.key === "+" ? 0.5 : 2); drawTimeline(true); }
  else if (event.key === "Enter" || event.key === " ") {
    const mark = event.target.closest(".mark");
    if (mark) choose(shown.owner, Number(mark.dataset.n), true);
  } else return;
  event.preventDefault();
});
at("list").addEventListener("scroll", drawRows);
at("list").addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (row) { const { owner, entry } = inList()[Number(row.dataset.index)]; choose(owner, entry.n).then(() => { if (innerWidth < NARROW) at("side").scrollIntoView(); }); }
});
at("list").addEventListener("keydown", (event) => {
  const way = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
  if (!way) return;
  event.preventDefault();
  const all = inList(), index = all.findIndex(({ owner, entry }) => owner === shown.owner && entry.n === shown.number);
  const next = all[Math.min(all.length - 1, Math.max(0, index < 0 ? 0 : index + way))];
  if (next) choose(next.owner, next.entry.n);
});
addEventListener("hashchange", fromHash);
addEventListener("resize", () => { if (minds.has(shown.owner)) drawTimeline(); });
addEventListener("DOMContentLoaded", () => {
  if (about.owners.length) { shown.beside = twin(0); fromHash(); }
});  // once the further scripts have run
