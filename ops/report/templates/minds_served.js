"use strict";
const PAUSE = 200;  // milliseconds after the last key before a search

async function ask(part, values) {
  const answer = await fetch(`minds/${part}?${new URLSearchParams({ run: about.run, ...values })}`);
  const found = await answer.json().catch(() => ({ error: `the server answered with ${answer.status}` }));
  if (!answer.ok) throw new Error(found.error);
  return found;
}

/* Return the answer for what was asked last; null for an earlier question, or after a failure, which the page then tells. */
const turns = new Map();
async function askLast(part, values) {
  const turn = (turns.get(part) || 0) + 1;
  turns.set(part, turn);
  try {
    const found = await ask(part, values);
    if (turns.get(part) !== turn) return null;
    at("trouble").hidden = true;
    return found;
  } catch (error) {
    at("trouble").textContent = `This cannot be read: ${error.message}`;
    at("trouble").hidden = false;
    return null;
  }
}

/* Return whether the memories of an owner are here, and the visitor has chosen no other meanwhile. */
async function fetchMind(index) {
  if (minds.has(index)) { turns.set("owner", (turns.get("owner") || 0) + 1); return true; }
  const found = await askLast("owner", { owner: about.owners[index][0] });
  if (found) learn(index, found);
  return found !== null;
}

async function fetchWriting(owner, entry) {
  const found = await askLast("writing", { owner: about.owners[owner][0], number: entry.n, tick: entry.tick || 0 });
  if (!found) return;
  Object.assign(entry, found, { told: true });
  if (shown.owner === owner && shown.number === entry.n) drawCard();
}

let pause = 0;
function searchServer(text) {
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const answer = text.trim() ? await askLast("search", { text }) : { found: null };
    const index = new Map(about.owners.map((one, at) => [one[0], at]));
    if (answer) found(answer.found && answer.found.filter((one) => index.has(one.owner)).map((one) => readFound(one, index)));
  }, PAUSE);
}

function readFound({ owner, entry, day }, index) {
  entry.minute = entry.minute || 0;
  return { owner: index.get(owner), entry, day };
}

/* -- what comes to mind -- */

async function recall(query) {
  const owner = shown.owner, answer = await askLast("recall", { owner: about.owners[owner][0], query });
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
if (at("run")) at("run").addEventListener("change", (event) => { location.href = `minds?${new URLSearchParams({ run: event.target.value })}`; });
