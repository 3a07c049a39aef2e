"use strict";
const PAUSE = 200;  // milliseconds between the last key and the search

async function ask(part, values, run) {
  const answer = await fetch(`minds/${part}?${new URLSearchParams({ run: about.runs[run], at: about.at, ...values })}`);
  const found = await answer.json().catch(() => ({ error: `the server answered with ${answer.status}` }));
  if (found.error) throw new Error(found.error);
  return found;
}

const of = (owner, values) => [{ owner: about.owners[owner][0], ...values }, about.owners[owner][2]];

/* Returns the answer to the newest request for a part; null for an older request, or after a failure, which the page shows. */
const turns = new Map();
async function askLast(part, values, run) {
  const turn = (turns.get(part) || 0) + 1;
  turns.set(part, turn);
  try {
    const found = await ask(part, values, run);
    if (turns.get(part) !== turn) return null;
    if (at("trouble").dataset.part === part) at("trouble").hidden = true;  // but not the failure of another part
    return found;
  } catch (error) {
    at("trouble").textContent = `Cannot be read: ${error.message}`;
    at("trouble").dataset.part = part;
    at("trouble").hidden = false;
    return null;
  }
}

/* Returns whether an owner's memories are loaded, and the visitor has chosen no other owner meanwhile. */
async function fetchMind(index) {
  if (minds.has(index)) { turns.set("owner", (turns.get("owner") || 0) + 1); return true; }
  const found = await askLast("owner", ...of(index));
  if (found) learn(index, found);
  return found !== null;
}

/* Fetches data that an owner's day can be drawn without: promises, and which thoughts of the day heuristics wrote. */
const asked = new Set();
async function fetchFurther() {
  const owner = shown.owner, day = shown.day, one = here(), key = `${owner} ${day}`;
  if (!one.promises && !asked.has(owner)) {
    asked.add(owner);
    const found = await askLast("promises", ...of(owner));
    asked.delete(owner);
    if (found) one.promises = found.promises;
    if (found && shown.owner === owner) { drawAgent(); drawCard(); }
  }
  if (asked.has(key) || !(one.byDay.get(day) || []).some((entry) => entry.lane > 1)) return;
  asked.add(key);
  const found = await askLast("heuristics", ...of(owner, { day }));
  if (!found) { asked.delete(key); return; }
  for (const number of found.numbers) if (one.byNumber.has(number)) one.byNumber.get(number).heuristic = true;
  if (found.numbers.length && shown.owner === owner && shown.day === day) drawTimeline(at("timeline").contains(document.activeElement));
}

async function fetchWriting(owner, entry) {
  const found = await askLast("writing", ...of(owner, { number: entry.n, tick: entry.tick || 0 }));
  if (!found) return;
  Object.assign(entry, found, { told: true });
  if (shown.owner === owner && shown.number === entry.n) drawCard();
}

let pause = 0;
function searchServer(text) {
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const all = [];
    let count = 0;
    for (const run of text.trim() ? about.runs.keys() : []) {
      const answer = await askLast("search", { text }, run);
      if (!answer) return;
      all.push(...answer.found.map((one) => readFound(one, run)).filter((one) => one.owner >= 0));
      count += answer.count;
    }
    found(text.trim() ? all : null, count);
  }, PAUSE);
}

function readFound({ owner, entry, day }, run) {
  entry.minute = entry.minute || 0;
  return { owner: about.owners.findIndex((one) => one[0] === owner && one[2] === run), entry, day };
}

/* -- recall -- */

async function recall(query) {
  const owner = shown.owner, answer = await askLast("recall", ...of(owner, { query }));
  if (!answer || owner !== shown.owner) return;
  const known = answer.found.filter((one) => here().byNumber.has(one.n));
  at("recalled").replaceChildren(...known.map(({ n, score, parts }) => {
    const entry = here().byNumber.get(n), item = linkTo(owner, entry, `${score}: ${words(entry)}`), why = element("dl", "", "parts");
    for (const [name, value] of parts) {
      const part = element("div");
      part.append(element("dt", name), element("dd", value));
      why.append(part);
    }
    item.append(why);
    return item;
  }));
  if (!known.length) at("recalled").append(element("li", "Nothing."));
}

at("ask").addEventListener("submit", (event) => { event.preventDefault(); recall(at("query").value); });

/* -- other runs, and earlier times -- */

function go(values) {
  location.href = `minds?${new URLSearchParams({ run: about.runs[0], beside: about.runs[1] || "", at: about.at, ...values })}${location.hash}`;
}

at("past").addEventListener("submit", async (event) => {
  event.preventDefault();
  const moment = { at: at("moment").value.trim() };
  if (await askLast("past", moment, 0)) go(moment);
});
if (at("run")) at("run").addEventListener("change", (event) => go({ run: event.target.value, beside: "" }));
if (at("other")) at("other").addEventListener("change", (event) => go({ beside: event.target.value }));
