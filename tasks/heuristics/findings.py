"""The typed findings of an insight: the outcome of a promise, a coming appointment, or an open promise.

Each quotes an entry that says so in so many words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.port import language_called, language_of
from cogitate.memory.language.sentences import QUESTIONS, joined, split_sentences
from cogitate.memory.language.times import anchor_days, find_times, names_date
from cogitate.memory.summaries.conversations import GAP
from cogitate.tasks.heuristics.closing import AHEAD, is_closed
from cogitate.tasks.heuristics.plans.dated_lines import mentions_in
from cogitate.tasks.heuristics.promises import Promise, find_promises
from cogitate.tasks.heuristics.reading import TIMED
from cogitate.tasks.heuristics.recalled import Finding, Recalled, tell


def promises_of(recalled: Recalled) -> list[Promise]:
    """Return the promises that the memories tell of."""
    return find_promises(recalled.owner, recalled.entries, recalled.names)


def typed_findings(recalled: Recalled, promises: Sequence[Promise]) -> Iterator[Finding]:
    """Yield the findings that an insight may tell beside its theme, the most important first."""
    entries = recalled.by_number
    recent = {e.number for e in recalled.recent}
    for promise in promises:
        if promise.settled_by and promise.evidence[-1] in recent:
            yield Finding(tell(recalled, entries[promise.evidence[-1]], promise.settled_by), promise.evidence, True)
    yield from _coming(recalled)
    for mine in (True, False):
        for promise in promises:
            open_ = not is_closed(promise, recalled.minute + 1)
            open_ = open_ and language_of(promise.said).stands_alone(promise.said)  # "I promise to check them"
            if open_ and recalled.owner == (promise.giver if mine else promise.taker):
                number, telling = promise.tellings[0]
                if promise.said in telling.partition(': "')[2]:  # a summary quotes more than the promise
                    yield Finding(_quoted(recalled, promise), promise.evidence)
                else:
                    yield Finding(tell(recalled, entries[number], telling), promise.evidence)


def _quoted(recalled: Recalled, promise: Promise) -> str:
    """Return the words of a promise with its giver and taker."""
    taker = "me" if recalled.says_i and promise.taker == recalled.owner else recalled.of(promise.taker)
    is_mine = recalled.says_i and promise.giver == recalled.owner
    names_day = anchor_days(promise.said, promise.minute, around=recalled.language) != promise.said
    minute = promise.minute if names_day and day_of(promise.minute) != day_of(recalled.minute) else None
    language = language_called(recalled.language)
    return language.quoted(promise.said, recalled.of(promise.giver), taker, is_mine, minute)


def _coming(recalled: Recalled) -> Iterable[Finding]:
    """Yield the appointments of the next two days, from talk and from notes, the soonest first."""
    found = TIMED.of(recalled.entries, recalled.owner, recalled.names)
    noted = [e for e in found if e is not None and e.type not in ("plan", "reflection") and not is_dialogue(e)]
    start, end = recalled.minute + recalled.delay + 1, recalled.minute + AHEAD
    coming = [*appointments(noted, recalled.places, start, end), *recalled.agreed]
    for item in sorted(one for one in coming if start <= one.minute < end):
        entry = recalled.by_number[item.number]
        if is_dialogue(entry):
            yield from _agreed(recalled, entry, item.minute)
            continue
        if _is_of_another(recalled, entry):
            continue
        said = _naming(recalled.told_by_number[item.number].line.text, item.minute)
        same_day = day_of(item.minute) == day_of(entry.minute) and not names_date(said)
        is_dated = same_day or "day " in said or anchor_days(said, entry.minute, around=recalled.language) != said
        if said and is_dated:
            yield Finding(tell(recalled, entry, said), (item.number,))


def _agreed(recalled: Recalled, last: Entry, minute: int) -> Iterable[Finding]:
    """Yield the line of a talk that names the hour of an appointment, with the question that it answers.

    A line that names the day before them is told, too: it may name the matter.

    Args:
        last: the last line that adds to the appointment.
    """
    near = (e for e in recalled.entries if last.minute - GAP < e.minute and e.number <= last.number)
    lines = [e for e in near if is_dialogue(e) and {*e.subjects} == {*last.subjects}]
    told = [recalled.told_by_number[line.number].line for line in lines]
    at = next((at for at in range(len(lines) - 1, -1, -1) if _naming(told[at].text, minute)), None)
    if at is None:
        return
    parts = [(at, _naming(told[at].text, minute))]
    if at and told[at - 1].speaker != told[at].speaker:
        questions = [s for s in split_sentences(told[at - 1].text) if s.endswith(QUESTIONS)]
        parts = [*((at - 1, question) for question in questions[-1:]), *parts]
    for index in range(parts[0][0]):
        named = [m for m in mentions_in(told[index].text, lines[index].minute, clock_in_force()) if not m.asks]
        if day := next((m.text for m in named if m.day == day_of(minute)), ""):
            parts = [(index, day), *parts]
            break
    text = joined(tell(recalled, lines[index], said) for index, said in parts)
    yield Finding(text, tuple(sorted({lines[index].number for index, _ in parts})))


def _naming(text: str, minute: int) -> str:
    """Return the first sentence that names the hour of a game time and does not ask for it, or ""."""
    return next((s for s in split_sentences(text) if _names_hour(s, minute) and not s.endswith(QUESTIONS)), "")


def _is_of_another(recalled: Recalled, entry: Entry) -> bool:
    """Return whether an observation tells of others by name and not of its owner."""
    told = recalled.told_by_number[entry.number]
    if told.line.speaker or recalled.name in entry.text or language_of(entry.text).says_i(entry.text):
        return False
    named = {name.partition(" ")[0] for owner, name in recalled.names.items() if owner != recalled.owner}
    return not named.isdisjoint(re.findall(r"\w+", entry.text))


def _names_hour(text: str, minute: int) -> bool:
    """Return whether a text names the hour of a game time."""
    return any(time.minute == minute % DAY for time in find_times(text))
