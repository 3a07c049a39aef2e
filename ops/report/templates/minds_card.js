"use strict";
const LEFT_OUT = 10, PROMISES = 30, SUMMARY = 4, FROM_MEMORY = [0, 1, SUMMARY];  // lanes of what a prompt is chosen from

const address = (owner, number) => `#${encodeURIComponent(about.owners[owner][0])}${number ? `/${number}` : ""}${about.owners[owner][2] ? "&1" : ""}`;
const named = (subject) => (about.owners.find((one) => one[0] === subject) || [subject, subject])[1];

function linkTo(owner, entry, text) {
  const item = element("li"), link = element("a", text);
  link.href = address(owner, entry.n);
  item.append(link);
  return item;
}

function people(one) {
  const met = new Map();  // subject: number of memories, the newest of them
  for (const entry of one.entries) {
    for (const subject of entry.subjects || []) {
      if (subject !== one.owner) met.set(subject, [(met.get(subject) || [0])[0] + 1, entry]);
    }
  }
  const stated = new Map(Object.entries(one.relations)), list = element("ul");
  for (const [subject, [count, newest]] of [...met].sort((a, b) => b[1][0] - a[1][0]).slice(0, PEOPLE)) {
    const name = named(subject), words = stated.get(subject) || stated.get(name);
    stated.delete(stated.has(subject) ? subject : name);
    list.append(linkTo(shown.owner, newest, `${name}: ${count}${words ? `, ${words}` : ""}`));
  }
  for (const [who, words] of stated) list.append(element("li", `${named(who)}: ${words}`));
  return list.children.length ? [element("h3", "Whom the memories are about"), list] : [];
}

/* The promises in a mind, the newest first: each with its entry, and the entry that tells what came of it. */
function promises(one) {
  if (!one.promises.length) return [];
  const list = element("ul"), parts = [element("h3", "Promises"), list];
  for (const { giver, taker, said, n, outcome, told } of [...one.promises].reverse().slice(0, PROMISES)) {
    const given = one.byNumber.get(n), came = one.byNumber.get(told);
    const item = linkTo(shown.owner, given, `${named(giver)}${taker ? ` to ${named(taker)}` : ""}, ${when(one, given)}: ${said}`);
    const result = element("ul");
    result.append(came ? linkTo(shown.owner, came, `what came of it, ${when(one, came)}: ${outcome}`) : element("li", "no memory tells what came of it"));
    item.append(result);
    list.append(item);
  }
  if (one.promises.length > PROMISES) parts.push(element("p", `and ${one.promises.length - PROMISES} before`, "note"));
  return parts;
}

const when = (one, entry) => `${one.days[dayOf(entry)]}, ${entry.time}`;

function links(title, entries, owner) {
  if (!entries.length) return [];
  const list = element("ul");
  for (const entry of entries) {
    const day = dayOf(entry) === shown.day ? "" : `${here().days[dayOf(entry)]}, `;
    list.append(linkTo(owner, entry, `${day}${entry.time}: ${words(entry)}`));
  }
  return [element("h3", title), list];
}

/* Whether an entry was remembered when a job was asked for at a tick. */
const rememberedAt = (entry, tick) => (entry.tick || 0) <= tick && (!entry.archived || entry.archived > tick);

/* What the job of an entry read, and what else was remembered when it was asked for. */
function read(one, entry, known) {
  const what = entry.model ? "Its prompt showed" : "Its heuristic used";
  if (!entry.shown) return [element("h3", what), element("p", "Not kept.", "note")];
  const seen = new Set(entry.shown), kept = known(entry.shown);
  const parts = String(entry.shown) === String(entry.evidence || [])
    ? [element("h3", what), element("p", `the ${seen.size === 1 ? "memory" : `${seen.size} memories`} that it rests on`, "note")]
    : [...links(what, kept, shown.owner), ...deleted(seen.size - kept.length)];
  if (!entry.asked) return parts;
  const rest = one.entries.filter((e) => FROM_MEMORY.includes(e.lane) && !seen.has(e.n) && rememberedAt(e, entry.asked));
  const first = rest.sort((a, b) => (b.importance || 0) - (a.importance || 0) || b.n - a.n).slice(0, LEFT_OUT);
  parts.push(...links(`Remembered then and left out: ${rest.length}, the most important first`, first, shown.owner));
  if (rest.length > first.length) parts.push(element("p", `and ${rest.length - first.length} more`, "note"));
  const gone = one.entries.filter((e) => e.n < entry.n).length < entry.n - 1;
  if (gone) parts.push(element("p", "What was deleted since is not counted.", "note"));
  if (entry.model) parts.push(element("p", "A prompt can also have the agent's profile, plan, summary and last reflections; these are not marked.", "note"));
  return parts;
}

const deleted = (count) => (count ? [element("p", `and ${count} that ${count === 1 ? "is" : "are"} deleted`, "note")] : []);

/* Why no job is named for an entry that a job usually writes. */
function withoutJob(entry) {
  if (FROM_MEMORY.includes(entry.lane) && entry.lane !== SUMMARY) return "";
  const trimmed = about.trimmed[about.owners[shown.owner][2]];
  return (entry.tick || 0) > trimmed ? "none: the world gave it" : `not kept: the journal begins after tick ${trimmed}`;
}

/* The prompt and the answer of an attempt, if the run kept them. */
function attempt(texts) {
  return ["system", "user", "answer", "fault"].filter((name) => texts[name]).map((name) => {
    const text = element("details");
    text.append(element("summary", `Attempt ${texts.attempt}, ${name}`), element("pre", texts[name]));
    return text;
  });
}

function drawCard() {
  const card = at("card"), one = here(), entry = one.byNumber.get(shown.number);
  if (!entry) {
    const lines = [element("h2", label(shown.owner)), element("p", `${one.owner}${one.left ? ", has left" : ""}: ${one.entries.length} memories`, "note")];
    if (one.summary) lines.push(element("h3", "Long-term summary"), element("p", one.summary, "said"));
    lines.push(...people(one), ...promises(one));
    card.replaceChildren(...lines, element("p", "Choose a memory to read it.", "note"));
    return;
  }
  const known = (numbers) => numbers.map((number) => one.byNumber.get(number)).filter(Boolean);
  const parts = [element("h2", `${about.types[entry.lane]}, ${one.days[dayOf(entry)]}, ${entry.time}`)];
  parts.push(element("p", `${label(shown.owner)}, entry ${entry.n}, since tick ${entry.tick || 0}`, "note"), element("p", entry.text || "", "said"));
  if (entry.items) {
    const items = element("ul");
    for (const [time, text, status] of entry.items) items.append(element("li", `${time ? `${time} ` : ""}${text} (${status})`));
    parts.push(items);
  }
  const facts = element("dl");
  const fact = (name, text) => { if (text) facts.append(element("dt", name), element("dd", text)); };
  fact("importance", entry.importance ? String(entry.importance) : "not rated");
  fact("about", (entry.subjects || []).map(named).join(", "));
  fact("place", entry.location);
  fact("seen", entry.repeats ? `${entry.repeats + 1} times` : "");
  fact("archived", entry.archived ? `at tick ${entry.archived}` : "");
  fact("note", entry.provisional ? "a heuristic wrote it in place of a model" : "");
  if (about.served && !entry.told) fetchWriting(shown.owner, entry);
  else if (entry.job) {
    const command = element("dd");
    command.append(element("code", `cogitate job ${entry.job}`));
    facts.append(element("dt", "job"), command);
    for (const [name, text] of entry.steps) fact(name, text);
    fact("lateness", entry.lateness ? `${entry.lateness} ticks` : "none");
  } else fact("job", withoutJob(entry));
  for (const [who, change, reason] of entry.changes || []) fact("relation", `${named(who)}: ${change}${reason ? ` (${reason})` : ""}`);
  parts.push(facts);
  parts.push(...links("It rests on", known(entry.evidence || []), shown.owner));
  parts.push(...deleted((entry.evidence || []).length - known(entry.evidence || []).length));
  if (entry.replaced) parts.push(...links("It replaced", known([entry.replaced]), shown.owner));
  if (entry.job) parts.push(...read(one, entry, known));
  parts.push(...links("Thoughts that rest on it", one.citing.get(entry.n) || [], shown.owner));
  if (entry.into > 0) parts.push(...links("Archived into", known([entry.into]), shown.owner));
  for (const text of entry.texts || []) parts.push(...attempt(text));
  card.replaceChildren(...parts);
}
