"""The days ahead that an insight tells: appointments of the next days, and promises that are still owed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from memory.appointments import appointments
from memory.clock import DAY, clock_time, day_number, day_of
from memory.entry import Entry, is_dialogue
from memory.language.references import leans_on_others
from memory.language.times import find_times
from memory.summaries.conversations import first_person, parse_line
from tasks.heuristics.promises import Promise
from tasks.heuristics.recalled import Finding, Recalled, ended, number_word

LONG_OWED = 3  # days after which a promise is told by its age
AHEAD = 2 * DAY  # game minutes in which appointments are looked for
_REFUSAL = re.compile(
    r"\b(?:cannot|can['’]t|not sure|won['’]t|will not|would rather not|unfortunately|what a pity|already promised|"
    r"some other time|maybe|perhaps)\b",
    re.I,
)


def what_is_ahead(recalled: Recalled, promises: Sequence[Promise]) -> Iterable[Finding]:
    """Yield what is coming, and what is owed."""
    yield from _coming(recalled)
    yield from _owed(recalled, promises)


def _coming(recalled: Recalled) -> Iterable[Finding]:
    """Yield what is to come within two days, the soonest first; what is over, or was declined, is not coming."""
    told = {e.number: e for e in (*recalled.before, *recalled.recent) if e.type not in ("plan", "reflection")}
    entries = [first_person(e, recalled.owner, recalled.names) for e in told.values()]
    declined = _declined(recalled, told.values())
    end = recalled.minute + AHEAD
    for item in appointments(entries, recalled.places, recalled.minute + recalled.delay + 1, end):
        entry = told[item.number]
        if item.number in declined:
            continue
        what = item.what[:1].lower() + item.what[1:]
        when = f"{_day(item.minute, recalled.minute)} at {clock_time(item.minute)}"
        rest = _source(recalled, entry)
        text = f"I am to {what} {when}{rest}" if not leans_on_others(what) else ""
        if text:
            worth = 7.0 - (item.minute - recalled.minute) / DAY + (0.5 if what.startswith("host") else 0.0)
            yield Finding(worth, "ahead", ended(text), (item.number,))


def _source(recalled: Recalled, entry: Entry) -> str:
    """Return from whom the owner knows of what is coming, or whom it told, as the end of a sentence."""
    told = parse_line(entry, recalled.names)
    if told.speaker == recalled.name:
        return f", as I told {told.listener}" if told.listener else ""
    if told.speaker:
        return f", as {told.speaker} told me"
    match = re.search(r"\b([^\W\d_a-z][\w'’-]{0,40}(?: [^\W\d_a-z][\w'’-]{0,40}){0,2}) invited me\b", entry.text)
    return f", since {match[1]} invited me" if match else ""


def _declined(recalled: Recalled, entries: Iterable[Entry]) -> set[int]:
    """Return the invitations that the owner did not accept in the same talk."""
    ordered = sorted(entries, key=lambda e: (e.minute, e.number))
    found: set[int] = set()
    for entry, answer in pairwise(ordered):
        if (
            is_dialogue(entry)
            and is_dialogue(answer)
            and find_times(entry.text)
            and parse_line(answer, recalled.names).speaker != parse_line(entry, recalled.names).speaker
            and _REFUSAL.search(answer.text)
        ):
            found.add(entry.number)
    return found


def _owed(recalled: Recalled, promises: Iterable[Promise]) -> Iterable[Finding]:
    """Yield the promises that are still open: first what the owner owes, then what it is owed."""
    for promise in promises:
        if promise.outcome != "open" or not promise.taker or not promise.deed:
            continue
        if _is_over(promise.deed, recalled.minute):
            continue
        mine = promise.giver == recalled.owner
        other = recalled.of(promise.taker if mine else promise.giver)
        days = day_of(recalled.minute) - day_of(promise.minute)
        if days < LONG_OWED:
            made = _day(promise.minute, recalled.minute)
            kept = (
                f"I still owe {other} what I promised" if mine else f"{other} has not yet kept the promise made to me"
            )
            text = f"{kept} {made}: to {promise.deed}"
        elif mine:
            text = f"I promised {other} {number_word(days)} days ago to {promise.deed}, and still have not"
        else:
            text = f"{other} promised me {number_word(days)} days ago to {promise.deed}, and still has not"
        yield Finding(6.0 if mine else 5.0, "ahead", ended(text), promise.evidence)


def _day(minute: int, now: int) -> str:
    """Return the day of a game time as one says it now: "on day 2", and "today" on that day."""
    return "today" if day_of(minute) == day_of(now) else f"on day {day_number(minute)}"


def _is_over(text: str, minute: int) -> bool:
    """Return whether a text names a day, and this day or its hour is over."""
    days = [int(day) for day in re.findall(r"\bday (\d{1,6})\b", text)]
    if not days:
        return False
    times = find_times(text)
    return (max(days) - 1) * DAY + (max(t.minute for t in times) if times else DAY - 1) <= minute
