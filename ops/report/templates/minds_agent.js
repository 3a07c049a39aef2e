"use strict";
const PROMISES = 30, PROMISES_OF_ALL = 200, PEOPLE = 8, BY_URGENCY = ["broken", "open", "settled", "kept"];

function people(one) {
  const met = new Map();  // subject: [number of memories, the newest one]
  for (const entry of one.entries) {
    for (const subject of entry.subjects || []) {
      if (subject !== one.owner) met.set(subject, [(met.get(subject) || [0])[0] + 1, entry]);
    }
  }
  return met;
}

function peopleList(one, met) {
  const stated = new Map(Object.entries(one.relations)), list = element("ul");
  for (const [subject, [count, newest]] of [...met].sort((a, b) => b[1][0] - a[1][0]).slice(0, PEOPLE)) {
    const name = named(subject), words = stated.get(subject) || stated.get(name);
    stated.delete(stated.has(subject) ? subject : name);
    list.append(linkTo(shown.owner, newest, `${name}: ${memories(count)}${words ? `, ${words}` : ""}`));
  }
  for (const [who, words] of stated) list.append(element("li", `${named(who)}: ${words}`));
  if (met.size > PEOPLE) list.append(element("li", `and ${met.size - PEOPLE} others`));
  return list.children.length ? [element("h3", "People in the memories"), list] : [];
}

const holder = (id) => about.owners.findIndex((one) => one[0] === id && one[2] === about.owners[shown.owner][2]);
const another = (id) => (id === about.owners[shown.owner][0] ? "" : `, remembered by ${named(id)}`);

/* A promise: its state, who gave it to whom in which words, and the memory that tells the outcome. */
function promiseItem({ giver, taker, said, by, n, when, state, outcome, teller, told, came }) {
  const item = element("li"), mark = element("span", state, `state ${state}`);
  const link = (owner, number, text) => Object.assign(element("a", text), { href: address(owner, number) });
  item.append(mark, `${named(giver)} promised${taker ? ` ${named(taker)}` : ""}: `, link(holder(by), n, said));
  item.append(element("div", `${when}${another(by)}`, "note"));
  const result = element("div", "", "note");
  if (outcome) result.append(`${{ kept: "Kept", broken: "Broken" }[state] || "Outcome"}, ${came}${another(teller)}: `, link(holder(teller), told, outcome));
  else result.append("No memory tells the outcome.");
  item.append(result);
  return item;
}

const newest = (promises) => [...promises].sort((a, b) => b.minute - a.minute);
const urgent = (promises) => newest(promises).sort((a, b) => BY_URGENCY.indexOf(a.state) - BY_URGENCY.indexOf(b.state));

function promiseList(promises, most = PROMISES) {
  const list = element("ul", "", "promises");
  list.append(...promises.slice(0, most).map(promiseItem));
  if (promises.length > most) list.append(element("li", `and ${promises.length - most} more`, "note"));
  return list;
}

/* The promises that an entry makes, or whose outcome it tells. */
function promisesIn(one, entry) {
  const of = (one.promises || []).filter(({ by, n, teller, told }) => (by === one.owner && n === entry.n) || (teller === one.owner && told === entry.n));
  return of.length ? [element("h3", of.length === 1 ? "Promise" : "Promises"), promiseList(newest(of))] : [];
}

const byState = (promises) => BY_URGENCY
  .map((state) => [promises.filter((one) => one.state === state).length, state])
  .filter(([count]) => count).map(([count, state]) => `${count} ${state}`).join(", ");

/* Shows the chosen agent, whichever memory is chosen. */
function drawAgent() {
  const one = here(), parts = [], promises = one.promises, met = people(one);
  const told = promises && promises.length ? `, ${counted(promises.length, "promise", "promises")} (${byState(promises)})` : "";
  at("about-agent").textContent = `${label(shown.owner)}${one.left ? ", has left" : ""}: ${memories(one.entries.length)}${told}`;
  if (one.summary) parts.push(element("h3", "Long-term summary"), element("p", one.summary, "said"));
  if (promises && promises.length) {
    const own = promises.filter((each) => each.giver === one.owner), to = promises.filter((each) => each.giver !== one.owner && each.taker === one.owner);
    const others = promises.filter((each) => !own.includes(each) && !to.includes(each));
    for (const [title, list] of [["Promises by", own], ["Promises to", to]]) {
      if (list.length) parts.push(element("h3", `${title} ${label(shown.owner)}: ${byState(list)}`), promiseList(newest(list)));
    }
    if (others.length) parts.push(element("h3", `Other promises that ${label(shown.owner)} remembers: ${byState(others)}`), promiseList(newest(others)));
  }
  parts.push(...peopleList(one, met), element("p", one.owner, "note small"));
  at("of-agent").replaceChildren(...parts);
}

/* Returns the promises that any agent of the chosen agent's run remembers, each once. */
async function promisesOfAll() {
  const run = about.owners[shown.owner][2];
  if (about.served) return askLast("promises", { owner: "" }, run);
  const found = new Map();
  for (const [index, [id, , of]] of about.owners.entries()) {
    for (const one of of === run ? mind(index).promises.filter(({ by }) => by === id) : []) {
      const key = JSON.stringify([one.giver, one.taker, one.said]), kept = found.get(key);
      if (!kept || (kept.state === "open" && one.state !== "open")) found.set(key, one);
    }
  }
  return { promises: [...found.values()] };
}

at("everybody").addEventListener("click", async () => {
  const found = await promisesOfAll();
  if (!found) return;
  at("agent").open = false;
  at("side").scrollTop = 0;
  const title = element("h2", `Promises of all agents: ${byState(found.promises) || "none"}`);
  at("card").replaceChildren(title, promiseList(urgent(found.promises), PROMISES_OF_ALL));
  if (innerWidth < NARROW) at("side").scrollIntoView();
});
