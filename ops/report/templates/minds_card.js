"use strict";
const LEFT_OUT = 10, PAUSE_OF_TALK = 10, SUMMARY = 4, TALK = 1, FROM_MEMORY = [0, 1, SUMMARY];  // lanes whose entries a prompt may show

const address = (owner, number) => `#${encodeURIComponent(about.owners[owner][0])}${number ? `/${number}` : ""}${about.owners[owner][2] ? "&1" : ""}`;
const named = (subject) => (about.owners.find((one) => one[0] === subject) || [subject, subject])[1];

function linkTo(owner, entry, text) {
  const item = element("li"), link = element("a", text);
  link.href = address(owner, entry.n);
  item.append(link);
  return item;
}

function links(title, entries, owner) {
  if (!entries.length) return [];
  const list = element("ul");
  for (const entry of entries) {
    const day = dayOf(entry) === shown.day ? "" : `${here().days[dayOf(entry)]}, `;
    list.append(linkTo(owner, entry, `${day}${entry.time}: ${words(entry)}`));
  }
  return [element("h3", title), list];
}

const STATUS = { pending: "not done", active: "under way", completed: "done", cancelled: "cancelled" };  // of plan items
const memories = (count) => counted(count, "memory", "memories");

/* Returns whether an entry was live at the tick at which a job was requested. */
const rememberedAt = (entry, tick) => (entry.tick || 0) <= tick && (!entry.archived || entry.archived > tick);

/* The memories that an entry's job read, and those that it could have read at its request. */
function read(one, entry, known) {
  const what = entry.model ? "Its prompt showed" : "Its heuristic used";
  if (!entry.shown) return [element("h3", what), element("p", "not kept", "note")];
  const seen = new Set(entry.shown), kept = known(entry.shown);
  const parts = String(entry.shown) === String(entry.evidence || [])
    ? [element("h3", what), element("p", `the ${seen.size === 1 ? "memory" : memories(seen.size)} that it rests on`, "note")]
    : [...links(`${what} ${memories(seen.size)}`, kept, shown.owner), ...deleted(seen.size - kept.length)];
  if (!entry.asked) return parts;
  const rest = one.entries.filter((e) => FROM_MEMORY.includes(e.lane) && !seen.has(e.n) && rememberedAt(e, entry.asked));
  const first = rest.sort((a, b) => (b.importance || 0) - (a.importance || 0) || b.n - a.n).slice(0, LEFT_OUT);
  parts.push(...links(`Remembered then and left out: ${rest.length}, the most important first`, first, shown.owner));
  if (rest.length > first.length) parts.push(element("p", `and ${rest.length - first.length} more`, "note"));
  const gone = one.entries.filter((e) => e.n < entry.n).length < entry.n - 1;
  if (gone) parts.push(element("p", "Memories deleted since are not counted.", "note"));
  if (entry.model) parts.push(element("p", "A prompt can also show the agent's profile, plan, summary and last reflections, which are not listed here.", "note"));
  return parts;
}

const deleted = (count) => (count ? [element("p", `and ${count} that ${count === 1 ? "is" : "are"} deleted`, "note")] : []);

/* Returns why an entry that a job usually writes has no job here. */
function withoutJob(entry) {
  if (FROM_MEMORY.includes(entry.lane) && entry.lane !== SUMMARY) return "";
  const trimmed = about.trimmed[about.owners[shown.owner][2]];
  return (entry.tick || 0) > trimmed ? "by the world" : `not kept: the journal begins after tick ${trimmed}`;
}

/* The prompt and the answer of an attempt, if the run recorded them. */
function attempt(texts) {
  return ["system", "user", "answer", "fault"].filter((name) => texts[name]).map((name) => {
    const text = element("details");
    text.append(element("summary", `Attempt ${texts.attempt}, ${name}`), element("pre", texts[name]));
    return text;
  });
}

/* Returns an empty list of facts, and a function that adds a fact to it. */
function facts() {
  const list = element("dl");
  return { list, fact: (name, text) => { if (text) list.append(element("dt", name), element("dd", text)); } };
}

/* Facts about a memory for developers: its number, its ticks, and the job that wrote it. */
function forDevelopers(entry) {
  const box = element("details", "", "small"), { list, fact } = facts();
  fact("entry", String(entry.n));
  fact("tick", String(entry.tick || 0));
  fact("archived", entry.archived ? `at tick ${entry.archived}` : "");
  if (entry.job) {
    const command = element("dd");
    command.append(element("code", `cogitate job ${entry.job}`));
    list.append(element("dt", "job"), command);
    for (const [name, text] of entry.steps) fact(name, text);
  }
  box.append(element("summary", "For developers: entry, ticks, job"), list);
  box.open = shown.developers;
  box.addEventListener("toggle", () => { shown.developers = box.open; });
  return box;
}

/* Formats a change of closeness, such as "+1"; a host's own words stay unchanged. */
const signed = (change) => (Number(change) > 0 ? `+${change}` : change);

/* The other lines of an entry's conversation: those of its day without a long pause between them. */
function conversation(one, entry) {
  if (entry.lane !== TALK) return [];
  const lines = one.byDay.get(dayOf(entry)).filter(({ lane }) => lane === TALK), at = lines.indexOf(entry);
  let first = at, last = at;
  while (first > 0 && lines[first].minute - lines[first - 1].minute <= PAUSE_OF_TALK) first -= 1;
  while (last + 1 < lines.length && lines[last + 1].minute - lines[last].minute <= PAUSE_OF_TALK) last += 1;
  return lines.slice(Math.max(first, at - LEFT_OUT), Math.min(last, at + LEFT_OUT) + 1).filter((line) => line !== entry);
}

/* The text of an entry; for a plan, only if its items do not repeat it. */
function said(entry) {
  const repeated = (entry.items || []).every((item) => (entry.text || "").includes(item[1]));
  return entry.text && !(entry.items && repeated) ? [element("p", entry.text, "said")] : [];
}

function drawCard() {
  const card = at("card"), one = here(), entry = one.byNumber.get(shown.number);
  if (!entry) {
    card.replaceChildren(element("p", "Choose a memory to read it: a mark in the timeline, or a line of the list.", "note"));
    return;
  }
  const known = (numbers) => numbers.map((number) => one.byNumber.get(number)).filter(Boolean);
  const parts = [element("h2", `${about.types[entry.lane]}, ${one.days[dayOf(entry)]}, ${entry.time}`)];
  parts.push(element("p", `remembered by ${label(shown.owner)}`, "note"), ...said(entry));
  if (entry.items) {
    const items = element("ul");
    for (const [time, text, status] of entry.items) items.append(element("li", `${time ? `${time} ` : ""}${text} (${STATUS[status] || status})`));
    parts.push(items);
  }
  const { list, fact } = facts();
  if (about.served && !entry.told) fetchWriting(shown.owner, entry);
  fact("written", entry.origin || (about.served && !entry.told ? "" : withoutJob(entry)));
  fact("cost", entry.cost);
  fact("asked for", entry.requested);
  fact("late", entry.lateness ? `by ${entry.lateness}` : "");
  fact("importance", entry.importance ? `${entry.importance} of 10` : "not rated");
  fact("about", (entry.subjects || []).map(named).join(", "));
  fact("place", entry.location && (one.places[entry.location] || named(entry.location)));
  fact("seen", entry.repeats ? `${entry.repeats + 1} times` : "");
  fact("archived", entry.gone);
  fact("note", entry.provisional ? "a model's answer may still replace it" : "");
  for (const [who, change, reason] of entry.changes || []) fact("relation", `${named(who)}: ${signed(change)}${reason ? ` (${reason})` : ""}`);
  parts.push(list, ...promisesIn(one, entry), ...links("The rest of the conversation", conversation(one, entry), shown.owner));
  const rests = entry.evidence || [];
  parts.push(...links(`It rests on ${memories(rests.length)}`, known(rests), shown.owner), ...deleted(rests.length - known(rests).length));
  if (entry.replaced) parts.push(...links("It replaced", known([entry.replaced]), shown.owner));
  if (entry.job) parts.push(...read(one, entry, known));
  const citing = one.citing.get(entry.n) || [];
  parts.push(...links(`${counted(citing.length, "thought rests", "thoughts rest")} on it`, citing, shown.owner));
  if (entry.into > 0) parts.push(...links("Archived into", known([entry.into]), shown.owner));
  for (const text of entry.texts || []) parts.push(...attempt(text));
  card.replaceChildren(...parts, forDevelopers(entry));
}
