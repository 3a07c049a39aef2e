"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const map = document.getElementById("map");
const shown = document.getElementById("shown");

function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function side(name, thoughts, count, others) {
  const known = new Set(others.flatMap((thought) => thought.evidence));
  const box = document.createElement("div");
  box.append(element("h3", name));
  if (!thoughts.length) box.append(element("p", "Nothing that the other run lacks.", "note"));
  for (const thought of thoughts) {
    const by = thought.source ? `${thought.by}, ${thought.source}` : thought.by;
    box.append(element("p", `${thought.type} at ${thought.at} (${by})`, "note"), element("p", thought.text, "said"));
    if (!thought.evidence.length) continue;
    const list = document.createElement("ul");
    for (const text of thought.evidence) list.append(element("li", text, known.has(text) ? "said" : "said own"));
    box.append(element("p", "It rests on (bold: not evidence in the other run):", "note"), list);
  }
  if (count > thoughts.length) box.append(element("p", `${thoughts.length} of ${count} are shown.`, "note"));
  return box;
}

// Draws a separate frame on top, since the neighbours of a cell would cover half of its outline.
function frame(id, cell) {
  for (const name of ["x", "y", "width", "height"]) {
    document.getElementById(id).setAttribute(name, cell.getAttribute(name));
  }
}

function show(cell) {
  for (const old of map.querySelectorAll("[aria-selected=true]")) old.setAttribute("aria-selected", "false");
  cell.setAttribute("aria-selected", "true");
  frame("chosen", cell);
  const { owner, window, time } = cell.dataset;
  shown.replaceChildren(element("h3", `${owner} from ${time}`));
  const found = data.owners[owner][window];
  if (!found) {
    shown.append(element("p", "The runs are equal here.", "note"));
    return;
  }
  const [both, a, b] = found.counts;
  shown.append(element("p", `${both} in both, ${a} only in ${data.runs[0]}, ${b} only in ${data.runs[1]}`, "note"));
  const sides = element("div", "", "sides");
  sides.append(side(data.runs[0], found.thoughts[0], a, found.thoughts[1]), side(data.runs[1], found.thoughts[1], b, found.thoughts[0]));
  shown.append(sides);
}

function move(cell, rows, columns) {
  const row = cell.parentElement;
  const body = [...row.parentElement.children];
  const to = body[body.indexOf(row) + rows];
  const next = to && to.querySelectorAll("rect")[[...row.querySelectorAll("rect")].indexOf(cell) + columns];
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  next.scrollIntoView({ block: "nearest", inline: "nearest" });
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
if (map) {
  map.addEventListener("click", (event) => {
    const cell = event.target.closest("rect[role=gridcell]");
    if (cell) show(cell);
  });
  map.addEventListener("focusin", (event) => frame("cursor", event.target));
  map.addEventListener("keydown", (event) => {
    const cell = event.target.closest("rect[role=gridcell]");
    if (!cell) return;
    if (event.key in STEPS) move(cell, ...STEPS[event.key]);
    else if (event.key === "Enter" || event.key === " ") show(cell);
    else return;
    event.preventDefault();
  });
  document.getElementById("save").addEventListener("click", () => {
    const figure = map.cloneNode(true);
    for (const cell of figure.querySelectorAll("[aria-selected=true]")) cell.setAttribute("aria-selected", "false");
    for (const mark of figure.querySelectorAll("#cursor, #chosen")) mark.remove();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(figure)], { type: "image/svg+xml" }));
    link.download = `${data.runs.join("-and-")}.svg`;
    link.click();
  });
}
