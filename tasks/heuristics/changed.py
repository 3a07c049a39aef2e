"""Changes that an insight tells: promises kept or broken, bonds, events, new people, plans, habits and company."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from memory.appointments import appointments
from memory.clock import DAY, day_of
from memory.entry import Entry, is_dialogue
from memory.language.courtesies import acts
from memory.language.sentences import split_sentences
from memory.language.text import normal, words
from memory.language.times import find_times
from memory.policies.compaction import rating
from memory.summaries.conversations import format_list, parse_line
from tasks.heuristics.day_plan import AGAIN
from tasks.heuristics.promises import KEEP, Promise
from tasks.heuristics.recalled import (
    Finding,
    Recalled,
    after_when,
    as_told,
    ended,
    in_first_person,
    is_person,
    number_word,
    placed,
    uncapital,
)

NOTABLE = 4  # importance from which an event may be told
TRIVIAL = 1  # importance of what is not worth telling however often it happens
_COLD = re.compile(
    r"\b(?:quarrel\w*|argued?|shouted at|yelled at|insult\w*|lied to|betray\w*|stole|cheated|hates?|in vain|"
    r"did not come|didn['’]t come|stood (?:me|us) up|let (?:me|us|him|her|them) down|counting on|"
    r"do(?:es)?(?: not|n['’]t) believe|threaten\w*|blamed?)\b",
    re.I,
)
_WARM = re.compile(
    r"\b(?:helped|praised|thank\w*|forgave|made up with|hugged|comforted|gave (?:me|him|her|them)|married|marry|"
    r"engaged(?! in\b)|apologi[sz]ed|appreciat\w*|proud of|saved my)\b",
    re.I,
)
_OF_YOU = re.compile(r"\byou\b", re.I)
_OF_ME = re.compile(r"\b(?:I|me|my|us|we|our)\b", re.I)
_HERE = re.compile(r"\bhere (?:is|are)\b", re.IGNORECASE)
_MEAL = re.compile(r"^(?:have|eat|take a break for) (?:breakfast|lunch|dinner|supper)\b", re.I)
_STATE = re.compile(
    r"^(?!.{0,200}\b(?:now|new|today|longer|last|again)\b)"
    r"[^,;:]{0,80}(?:, [^,;:]{0,40},)? (?:(?:is|are|am) (?:an?|the|my) |and I share )"
)
_LOOKS_ON = re.compile(r"^(?:I saw |Saw |Arrived |Woke |Had )|\bis [a-z]+ing\b[^,]*\.?$")

#: How a change between two is told; which way is chosen by the number of the entry that shows it.
_BETTER = (
    "{name} and I are closer than before",
    "Things are better between {name} and me",
    "I think more of {name} now",
)
_WORSE = ("{name} and I are further apart than before", "Things are worse between {name} and me")


def what_changed(recalled: Recalled, promises: Sequence[Promise]) -> Iterable[Finding]:
    """Yield what changed since the last reflection."""
    yield from _settled(recalled, promises)
    yield from _bonds(recalled, promises)
    yield from _events(recalled)
    yield from _new_people(recalled)
    yield from _plan(recalled)
    yield from _repeated(recalled)
    yield from _company(recalled)


def time_spent(recalled: Recalled) -> list[Finding]:
    """Return the fallback of the streams design: places and people of most of the time."""
    places = [p for p, _ in Counter(e.location for e in recalled.recent if e.location).most_common(3)]
    people = [
        s for s, _ in Counter(s for e in recalled.recent for s in e.subjects if s != recalled.owner).most_common(3)
    ]
    parts = []
    if places:
        parts.append(f"Today I spent time at {format_list([recalled.of(p) for p in places])}.")
    if people:
        parts.append(f"I interacted with {format_list([recalled.of(s) for s in people])}.")
    numbers = tuple(e.number for e in recalled.recent)
    return [Finding(0.0, "changed", " ".join(parts), numbers)] if parts else []


def _settled(recalled: Recalled, promises: Iterable[Promise]) -> Iterable[Finding]:
    """Yield the promises of which something came since the last reflection."""
    recent = {e.number for e in recalled.recent}
    for promise in promises:
        if promise.outcome == "open" or not recent & set(promise.evidence[-1:]):
            continue
        kept, mine = promise.outcome == "kept", promise.giver == recalled.owner
        other = recalled.of(promise.taker if mine else promise.giver) if promise.taker else ""
        to_do = f" to {promise.deed}" if promise.deed else ""
        if mine and kept:
            text = f"I kept the promise that I had given {other}" + (f":{to_do}" if to_do else "")
        elif mine:
            text = f"I let {other} down" + (
                f": I had promised{to_do}, and did not" if to_do else " and broke a promise"
            )
        elif kept:
            text = f"{other} kept the promise{to_do or ' given to me'}"
        else:
            text = f"{other} broke the promise{to_do or ' given to me'}, which has come between us"
        if other:
            yield Finding(9.5 if not kept else 8.5, "changed", ended(text), promise.evidence)


def _bonds(recalled: Recalled, promises: Iterable[Promise]) -> Iterable[Finding]:
    """Yield with whom things got better or worse, and what shows it; a broken promise has told so already."""
    recent = {e.number for e in recalled.recent}
    broken = (p for p in promises if p.outcome == "broken" and recent & set(p.evidence[-1:]))
    fallen_out = {who for promise in broken for who in (promise.giver, promise.taker)}
    signs: dict[str, list[tuple[float, Entry]]] = {}
    for entry in recalled.recent:
        others = [s for s in entry.subjects if s != recalled.owner and s in recalled.names]
        if len(others) != 1 or entry.type == "summary" or _LOOKS_ON.search(entry.text):
            continue
        told = parse_line(entry, recalled.names)
        shown = told.text
        if told.speaker:  # what one says of others says nothing of the two, unless it is said of "you"
            shown = " ".join(sentence for sentence in split_sentences(told.text) if _OF_YOU.search(sentence))
        elif not (_OF_ME.search(shown) or {*words(f"{recalled.of(others[0])} {recalled.name}")} & {*words(shown)}):
            continue  # it happened where the other was, to somebody else
        weight = 2.0 * bool(_WARM.search(shown)) - 2.0 * bool(_COLD.search(shown))
        if told.speaker == recalled.of(others[0]):
            weight += 1.0 * any(act in ("thanked", "praised") for s in split_sentences(told.text) for act in acts(s))
        if weight:
            signs.setdefault(others[0], []).append((weight, entry))
    for other, signed in signs.items():
        total = sum(weight for weight, _ in signed)
        better = total > 0
        if abs(total) < 2 or (not better and other in fallen_out):
            continue
        _, best = max(signed, key=lambda s: (s[0] * total, rating(s[1]), s[1].number))
        why = as_told(recalled, best)
        if why:
            name = recalled.of(other)
            ways = _BETTER if better else _WORSE
            text = f"{ways[best.number % len(ways)].format(name=name)}: {uncapital(why, recalled)}"
            numbers = tuple(sorted(e.number for _, e in signed))
            yield Finding(6.5 + min(2.0, abs(total) / 4), "changed", ended(text), numbers)


def _events(recalled: Recalled) -> Iterable[Finding]:
    """Yield what happened or was heard, the more important the better; what one saw oneself before what was said."""
    known = {normal(e.text) for e in recalled.before}
    for entry in recalled.recent:
        worth = rating(entry)
        if worth < NOTABLE or normal(entry.text) in known or _LOOKS_ON.search(entry.text):
            continue
        if _HERE.search(entry.text):
            continue  # it is elsewhere by now, and over
        if entry.source == "internal" and _STATE.search(entry.text):
            continue  # what the owner knows all along is nothing that happened
        if _appointed(recalled, entry):
            continue
        voted = recalled.own_votes.told(entry)
        text = in_first_person(recalled, voted) if voted else as_told(recalled, entry)
        if text:
            text = text if voted or is_dialogue(entry) or entry.source == "internal" else _placed(recalled, entry, text)
            yield Finding(worth - (1.5 if is_dialogue(entry) else 0.5), "changed", ended(text), (entry.number,))


def _placed(recalled: Recalled, entry: Entry, text: str) -> str:
    """Return an event with the place where the owner noticed it, if it does not name it and is not the owner's own."""
    place = recalled.names.get(entry.location, "")
    following = after_when(text, recalled)
    if place in text or not following or _OF_ME.search(text):  # an empty name is in every text
        return text
    return placed(place, following)


def _appointed(recalled: Recalled, entry: Entry) -> bool:
    """Return whether an entry speaks of an hour, as invitations do: it is told as what is coming, or not at all."""
    return bool(find_times(entry.text)) and bool(
        appointments([entry], recalled.places, 0, entry.minute + 7 * DAY)
        or re.search(r"\b(?:will|['’]ll|shall|let['’]s|invit\w+)\b", entry.text, re.I)
    )


def _new_people(recalled: Recalled) -> Iterable[Finding]:
    known = {s for e in recalled.before if e.type != "plan" for s in e.subjects}
    known |= {s for s in recalled.names if recalled.of(s) in recalled.summary}
    first: dict[str, Entry] = {}
    for entry in sorted(recalled.recent, key=lambda e: (e.minute, e.number)):
        for subject in entry.subjects:
            if subject not in known and subject != recalled.owner and is_person(subject, recalled):
                first.setdefault(subject, entry)
    if known and first:
        people = [recalled.of(s) for s in islice(first, 3)]
        text = f"I met {format_list(people)} for the first time"
        yield Finding(5.5, "changed", ended(text), tuple(first[s].number for s in islice(first, 3)))


def _plan(recalled: Recalled) -> Iterable[Finding]:
    """Yield what of the plan came true, and what did not; what came of a promise, others say better."""
    for item in recalled.plan:
        if item.description.removeprefix(AGAIN).startswith(KEEP):
            continue
        words = item.description.removeprefix(AGAIN).partition(": ")[0].strip(" .")
        if not words or words.lower().startswith("continue ") or _MEAL.search(words):
            continue  # what is continued was told as what it is, and everybody eats
        deed = words if words[:2].isupper() else words[:1].lower() + words[1:]
        if not item.done:
            yield Finding(5.0, "changed", ended(f"I had planned to {deed}, but did not get to it"), ())
        elif not item.usual:
            done = f"spent {deed[6:]}" if deed.startswith("spend ") else f"found the time to {deed}"
            yield Finding(4.0, "changed", ended(f"I {done}, as I had planned"), ())


def _repeated(recalled: Recalled) -> Iterable[Finding]:
    """Yield the event that happened most often; lines of talk are no events."""

    def times(group: Sequence[Entry]) -> int:
        return sum(1 + recalled.repeats.get(e.number, 0) for e in group)

    by_text: dict[str, list[Entry]] = {}
    for entry in recalled.recent:
        if rating(entry) > TRIVIAL and not is_dialogue(entry) and entry.type != "summary":
            by_text.setdefault(normal(entry.text), []).append(entry)
    often = [entries for entries in by_text.values() if times(entries) >= 3]
    if often:
        entries = max(often, key=lambda g: (rating(g[0]), times(g), -g[0].number))
        text = in_first_person(recalled, entries[0].text)
        how_often = f"{number_word(times(entries))} times"
        told = f"I noticed it {how_often}: {uncapital(text, recalled)}"
        if text.startswith("I saw "):
            told = f"I often{text[1:]}"
        elif text.startswith("I "):
            told = f"{text.rstrip(' .!')}, {how_often}"
        yield Finding(3.0, "changed", ended(told), tuple(e.number for e in entries[:5]))


def _company(recalled: Recalled) -> Iterable[Finding]:
    """Yield who was talked with on several days, or more than anybody else."""
    days: dict[str, set[int]] = {}
    talks: dict[str, set[tuple[int, int]]] = {}
    lines: dict[str, list[int]] = {}
    for other, entry in _talks([*recalled.before, *recalled.recent], recalled):
        days.setdefault(other, set()).add(day_of(entry.minute))
    for other, entry in _talks(recalled.recent, recalled):
        talks.setdefault(other, set()).add((day_of(entry.minute), entry.minute // 60))
        lines.setdefault(other, []).append(entry.number)
    for other, spoken in talks.items():
        streak = len(days[other])
        numbers = tuple(sorted(lines[other])[:3])
        if streak >= 3:
            text = f"I have talked with {recalled.of(other)} on {number_word(streak)} different days by now"
            yield Finding(2.0 + min(streak, 9) / 10, "changed", ended(text), numbers)
        elif len(spoken) >= 2:
            yield Finding(1.0, "changed", f"{recalled.of(other)} and I talked more than once.", numbers)


def _talks(entries: Iterable[Entry], recalled: Recalled) -> Iterable[tuple[str, Entry]]:
    """Yield whom the owner talked with, with the line; a talk that it only overheard is none."""
    for entry in entries:
        if is_dialogue(entry) and recalled.owner in entry.subjects:
            for other in entry.subjects:
                if other != recalled.owner and is_person(other, recalled):
                    yield other, entry
