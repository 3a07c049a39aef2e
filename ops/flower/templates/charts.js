// Readable on light and on dark.
const COLOURS = ["#237a3b", "#4f7fd9", "#d9822b", "#b04fc0", "#c23b3b", "#1f9e9e", "#8a7a1f", "#7a7a7a", "#d95fa0", "#5f6fd9"];
const HEIGHT = 224;
const drawn = {};  // chart -> {series, raw, plot}
// Distances between grid lines in game minutes, chosen to fall on hours and days.
const DISTANCES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720];
for (let days = 1; days < 1e6; days *= 10) { DISTANCES.push(days * DAY, 2 * days * DAY, 5 * days * DAY); }
const dayOf = (minute) => "day " + (Math.floor(minute / DAY) + 1);
const timeOfDay = (minute) => {
  const of = ((minute % DAY) + DAY) % DAY;
  const hour = Math.floor(of / 60);
  return (hour % 12 || 12) + ":" + String(Math.floor(of % 60)).padStart(2, "0") + (hour < 12 ? " AM" : " PM");
};
let times = [];  // real times of the points
let names = new Map();  // names of points, if the game has no times of day: "round 4"
const gameTime = (minute) => names.get(minute) || dayOf(minute) + ", " + timeOfDay(minute);
const MOST_NAMES = 6;
const splits = (plot) => plot.data[0].filter((at, index) => index % Math.ceil(plot.data[0].length / MOST_NAMES) === 0);
const labels = (plot, minutes) => {
  plot.root.dataset.marks = minutes.join(" ");  // a canvas is unreadable for tests and screen readers
  if (names.size) { return minutes.map((at) => names.get(at)); }
  return minutes.map((at) => at % DAY === 0 ? dayOf(at) : timeOfDay(at).replace(":00", ""));
};
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const shown = (chart, value) => {
  if (value === null || value === undefined) { return "—"; }
  const said = value.toLocaleString("en", value < 100 ? {maximumSignificantDigits: 3} : {maximumFractionDigits: 0});
  return chart.unit === "$" ? "$" + said : said + chart.unit;
};
let events = [];  // of the span, oldest first
const LABEL = 16;  // the least distance between two event numbers, in pixels

// Draws a line at each event, with the event's number in the table.
function markEvents(plot) {
  const {ctx, bbox} = plot;
  const dots = window.devicePixelRatio;
  let free = -Infinity;
  ctx.save();
  ctx.lineWidth = dots;
  ctx.setLineDash([4 * dots, 3 * dots]);
  ctx.font = 11 * dots + "px system-ui, sans-serif";
  ctx.textAlign = "center";
  events.forEach((one, at) => {
    const x = plot.valToPos(one.minute, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) { return; }
    ctx.strokeStyle = ctx.fillStyle = ink(one.bad ? "--flower-danger" : "--bs-body-color");
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (x > free) {
      ctx.fillText(at + 1, x, bbox.top - 3 * dots);
      free = x + LABEL * dots;
    }
  });
  ctx.restore();
  plot.root.dataset.events = events.length;
}

// Returns the indices of values without a neighbour, which need a dot, since no line goes through them.
function alone(values) {
  return [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null);
}

function options(chart, series, width, raw) {
  const line = {stroke: () => ink("--bs-body-color"), grid: {stroke: () => ink("--bs-border-color"), width: 1}, ticks: {show: false}, labelSize: 18, labelFont: "12px system-ui, sans-serif"};
  return {
    width, height: HEIGHT, padding: [14, null, null, null],
    cursor: {drag: {x: false, y: false}},
    scales: {x: {time: false}, y: {range: (plot, low, high) => [0, high > 0 ? 1.08 * high : 1]}},
    axes: [
      {...line, label: "time in the simulation", size: 28, space: 70, incrs: DISTANCES, values: labels, ...(names.size ? {splits} : {})},
      {...line, label: chart.axis, size: chart.unit === "$" ? 80 : 62, values: (plot, marks) => marks.map((value) => chart.unit === "$" ? value.toPrecision(2) : figure(value))},
    ],
    series: [
      {label: "at", value: (plot, at, series, index) => at === null ? "—" : gameTime(at) + (times[index] ? ", in real time " + clock(new Date(1000 * times[index])) : "")},
      ...series.map((name, at) => ({
        label: name, stroke: COLOURS[at % COLOURS.length], width: 2,
        points: {show: true, size: 5, filter: (plot, index) => alone(plot.data[index])},
        value: (plot, value, series, index) => index === null ? "—" : shown(chart, raw.lines[at][index]),
      })),
    ],
    hooks: {draw: [markEvents]},
  };
}

function plot(chart, minutes) {
  const id = "chart-" + chart.name;
  let holder = byId(id);
  if (!holder) {
    holder = element("section", "cogitate-chart");
    holder.id = id;
    holder.append(element("h2", "cogitate-title", chart.title), element("p", "muted", ""), element("div"));
    byId("charts").append(holder);
  }
  const series = Object.keys(chart.series);
  became(holder.children[1], "textContent", chart.note);
  holder.dataset.totals = JSON.stringify(chart.totals);
  const lines = series.map((name) => chart.series[name]);
  const cut = (value) => value === null || chart.top === null ? value : Math.min(value, chart.top);
  const data = [minutes, ...lines.map((line) => line.map(cut))];
  const known = drawn[id];
  if (known && known.series.join("\n") === series.join("\n")) {
    known.raw.lines = lines;
    known.plot.setData(data);
    return;
  }
  if (known) { known.plot.destroy(); }
  const raw = {lines};  // with the values above `chart.top`, where the drawn lines are cut off
  drawn[id] = {series, raw, plot: new uPlot(options(chart, series, holder.clientWidth, raw), data, holder.lastChild)};
}

const span = () => new URLSearchParams(window.location.search).get("span") || "hour";

function draw(reading) {
  document.querySelectorAll("[data-span]").forEach((button) => {
    button.setAttribute("aria-pressed", String(button.dataset.span === span()));
    button.classList.toggle("active", button.dataset.span === span());
    if (reading.spans[button.dataset.span]) { became(button, "textContent", "Last " + reading.spans[button.dataset.span]); }
  });
  names = new Map(reading.names.map((name, at) => [reading.minutes[at], name]));
  times = reading.times;
  events = reading.events.slice().reverse();
  became(byId("window"), "textContent", reading.window);
  eventTable(reading.events, (one) => events.length - reading.events.indexOf(one));
  byId("too-few").hidden = reading.minutes.length > 1;
  if (reading.minutes.length > 1) { reading.charts.forEach((chart) => plot(chart, reading.minutes)); }
}

document.querySelectorAll("[data-span]").forEach((button) => button.addEventListener("click", () => {
  const asked = new URLSearchParams(window.location.search);
  asked.set("span", button.dataset.span);
  window.location.search = asked.toString();
}));
const plots = () => Object.values(drawn).map((one) => one.plot);
new ResizeObserver(() => plots().forEach((one) => one.setSize({width: one.root.parentElement.clientWidth, height: HEIGHT}))).observe(byId("charts"));
new MutationObserver(() => plots().forEach((one) => one.redraw())).observe(document.documentElement, {attributeFilter: ["data-bs-theme"]});
