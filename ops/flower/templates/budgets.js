const PERIODS = ["day", "run"];
const UNIT = {calls: "calls", tokens: "tokens", usd_micros: "$", jobs: "jobs"};
const dollars = (micros) => "$" + (micros / 1e6).toFixed(4);
const amount = (line, value) => line.unit === "usd_micros" ? dollars(value) : figure(value);
const named = (line, words) => line.unit === "usd_micros" ? words : words + " " + UNIT[line.unit];

function used(line) {
  const {share, outlook} = line.forecast;
  const made = element("div", "cogitate-used");
  const bar = element("div", "cogitate-bar" + (outlook === "full" ? " full" : ""));
  bar.title = "spent " + amount(line, line.spent) + ", in flight " + amount(line, line.reserved) + ", held " + amount(line, line.held);
  const whole = Math.max(line.limit, line.spent + line.reserved + line.held, 1);
  for (const part of ["spent", "reserved", "held"]) {
    const piece = element("span", part);
    piece.style.width = 100 * line[part] / whole + "%";
    bar.append(piece);
  }
  made.append(bar, element("span", "number", percent(share)));
  const cell = element("div");
  cell.append(made, element("span", "narrow", named(line, amount(line, line.spent) + " of " + line.limit_words)));
  return cell;
}

function pace(line) {
  if (line.forecast.pace === null) { return amount(line, line.forecast.unit_rate) + (line.forecast.unit === "hour" ? " an " : " a ") + line.forecast.unit; }
  return element("span", line.forecast.pace > 1 ? "warn" : "", line.forecast.pace.toFixed(2) + "×");
}

function outlook(line, minute) {
  const words = {full: ["bad", "full"], lasts: ["good", "lasts"], "runs out": [line.forecast.out_at - minute < DAY ? "warn" : "", line.forecast.out_clock]};
  return element("span", ...words[line.forecast.outlook]);
}

const money = (name, take) => [name, "number minor", (line) => {
  const value = take(line);
  const made = element("span", name === "Overrun" && value ? "bad" : "", amount(line, value));
  made.dataset.value = value;
  return made;
}];

function limit(line) {
  const made = element("span", "", line.limit_words);
  made.dataset.value = line.limit;
  return made;
}

const columns = (scoped, minute) => [
  ["Window", "", (line) => line.window_words],
  ...(scoped ? [["Scope", "", (line) => line.scope.startsWith("kind:") ? kindLink(line.scope.slice(5)) : line.scope.slice(6)]] : []),
  ["Unit", "minor", (line) => UNIT[line.unit]],
  ["Used", "", used],
  ["Limit", "number minor limit", limit],
  money("In flight", (line) => line.reserved),
  money("Held", (line) => line.held),
  money("Spent", (line) => line.spent),
  money("Overrun", (line) => line.overrun),
  ["Pace", "number minor", pace],
  ["Runs out", "number", (line) => outlook(line, minute)],
];
// Days in descending order, then the run.
function byWindow(a, b) {
  const [one, other] = [a, b].map((line) => line.window.split(":"));
  return PERIODS.indexOf(one[0]) - PERIODS.indexOf(other[0]) || Number(other[1]) - Number(one[1]);
}
const keyOf = (line) => [line.window, line.scope, line.unit].join(" ");

const COSTS = [["Calls", "calls"], ["Tokens", "tokens"], ["$", "usd_micros"]];
const priced = (reading) => reading.windows.some((line) => line.unit === "usd_micros" && (line.spent || line.limit !== null));
// Returns a column for each unit in which costs are known.
const costs = (reading, take) => COSTS.filter(([, unit]) => unit !== "usd_micros" || priced(reading)).map(([title, unit]) => [
  title, "number", (row) => unit === "usd_micros" ? dollars(take(row, unit)) : take(row, unit),
]);

// Shows the run's spending, with or without a limit.
function spent(reading) {
  const found = new Map(reading.windows.map((line) => [keyOf(line), line.spent]));
  table("spent", [
    ["Window", "", ([words]) => words],
    ...costs(reading, ([, window], unit) => found.get([window, "run", unit].join(" ")) || 0),
  ], [[reading.today, "day:" + Math.floor(reading.minute / DAY)], ["whole run", "run:0"]], "", ([, window]) => window);
}

function draw(reading) {
  const today = Math.floor(reading.minute / DAY);
  const isPast = (line) => line.window.startsWith("day:") && Number(line.window.slice(4)) < today;
  const lines = [...reading.windows, ...reading.unused].filter((line) => line.limit !== null)
    .filter((line) => !line.window.startsWith("tick:")).sort(byWindow);
  const own = lines.filter((line) => line.scope === "run");
  const kinds = lines.filter((line) => line.scope.startsWith("kind:"));
  table("windows", columns(false, reading.minute), own.filter((line) => !isPast(line)), "No limit of a day or of the run is set.", keyOf);
  byId("kinds-section").hidden = !kinds.length;
  table("kinds", columns(true, reading.minute), kinds.filter((line) => !isPast(line)), "None today.", keyOf);
  const [past, pastKinds] = [own.filter(isPast), kinds.filter(isPast)];
  const days = new Set(past.map((line) => line.window)).size;
  byId("past").hidden = !past.length;
  byId("past-count").textContent = days === 1 ? "One past day" : figure(days) + " past days";
  table("past-windows", columns(false, reading.minute), past, "", keyOf);
  byId("past-kinds-section").hidden = !pastKinds.length;
  table("past-kinds", columns(true, reading.minute), pastKinds, "", keyOf);
  spent(reading);
  byId("owners-section").hidden = !reading.owners.all;
  byId("owners-count").textContent = "the fullest " + reading.owners.fullest.length + " of " + reading.owners.all;
  table("owners", columns(true, reading.minute), reading.owners.fullest, "No owner has one.", keyOf);

  const limited = [...own, ...kinds].filter((line) => !isPast(line)).concat(reading.owners.fullest);
  const fullest = limited.sort((a, b) => b.forecast.share - a.forecast.share)[0];
  byId("tightest").textContent = fullest ? percent(fullest.forecast.share) : "—";
  byId("tightest-label").textContent = fullest
    ? "Fullest limit · " + fullest.window_words + (fullest.scope === "run" ? "" : ", " + fullest.scope.replace(/^\w+:/, "")) + ", " + UNIT[fullest.unit]
    : "Fullest limit";
  const denied = sum(Object.values(reading.denied));
  alarm("refused", figure(denied), denied > 0);
  const over = reading.windows.filter((line) => line.scope === "run" && line.window === "run:0" && line.overrun);
  alarm("overrun", over.length ? over.map((line) => named(line, amount(line, line.overrun))).join(", ") : "none", over.length > 0);

  const cut = ["denied", "too_slow", "late", "failed", "dead"];
  const rows = Object.entries(reading.recent.kinds);
  const count = (facts, name) => ([, tally]) => tally[facts][name] || 0;
  table("cuts", [
    ["Kind", "", ([kind]) => kindLink(kind)],
    ["Ended", "number", ([, tally]) => sum(Object.values(tally.ends))],
    ...cut.map((name) => [name, "number" + (name === "dead" ? " minor" : ""), count("reasons", name)]),
    ["deferred", "number", count("decisions", "deferred")],
    ["dropped", "number", count("decisions", "dropped")],
  ], rows, "No job ended.", ([kind]) => kind);
  table("limits", [
    ["Limit", "", ([name]) => name in reading.limits ? name + " = " + reading.limits[name] : name],
    ["Refused", "number", ([, times]) => times],
  ], Object.entries(reading.denied).sort((a, b) => b[1] - a[1]), "No request was refused.", ([name]) => name);
  const cost = ([, one], unit) => one[unit] || 0;
  const byKind = rows.map(([kind, tally]) => [kind, tally.spent]).filter((row) => sum(COSTS.map(([, unit]) => cost(row, unit))));
  table("kind-spenders", [["Kind", "", ([kind]) => kindLink(kind)], ...costs(reading, cost)], byKind, "No kind has spent anything.", ([kind]) => kind);
  table("spenders", [["Owner", "", ([owner]) => owner], ...costs(reading, cost)], Object.entries(reading.recent.owners), "No job that has ended cost anything.", ([owner]) => owner);
}
