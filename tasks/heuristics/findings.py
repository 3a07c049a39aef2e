"""The typed findings of an insight: what became of a promise, what is coming, what was promised.

Each rests on what an entry says in so many words, and quotes it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, day_of
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.times import anchor_days, find_times, names_date
from cogitate.tasks.heuristics.closing import AHEAD, is_closed
from cogitate.tasks.heuristics.promises import Promise, find_promises
from cogitate.tasks.heuristics.reading import TIMED
from cogitate.tasks.heuristics.recalled import Finding, Recalled, tell

_REFUSAL = re.compile(
    r"\b(?:cannot|can['’]t|not sure|won['’]t|will not|would rather not|unfortunately|what a pity|already promised|"
    r"some other time|maybe|perhaps)\b",
    re.I,
)


def promises_of(recalled: Recalled) -> list[Promise]:
    """Return the promises that the memories tell of."""
    return find_promises(recalled.owner, recalled.entries, recalled.names)


def typed_findings(recalled: Recalled, promises: Sequence[Promise]) -> Iterator[Finding]:
    """Yield what an insight may tell beside its theme, what matters most first."""
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
                lead, opening, quotes = telling.partition(': "')  # of all that a summary quotes, the promise alone
                told = f'{lead}{opening}{promise.said}"' if promise.said in quotes else telling
                yield Finding(tell(recalled, entries[number], told), promise.evidence)


def _coming(recalled: Recalled) -> Iterable[Finding]:
    """Yield what is to come within two days, the soonest first; what is over, or was declined, is not coming."""
    found = TIMED.of(recalled.entries, recalled.owner, recalled.names)
    timed = [e for e in found if e is not None and e.type not in ("plan", "reflection")]
    end = recalled.minute + AHEAD
    coming = appointments(timed, recalled.places, recalled.minute + recalled.delay + 1, end)
    for item in coming:
        entry = recalled.by_number[item.number]
        if _is_of_another(recalled, entry):
            continue
        spoken = recalled.told_by_number[item.number].line.text
        said = next((s for s in split_sentences(spoken) if _names_hour(s, item.minute) and not s.endswith("?")), "")
        same_day = day_of(item.minute) == day_of(entry.minute) and not names_date(said)
        is_dated = same_day or "day " in said or anchor_days(said, entry.minute, around=recalled.language) != said
        if said and is_dated and not _is_declined(recalled, entry):
            yield Finding(tell(recalled, entry, said), (item.number,))


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


def _is_declined(recalled: Recalled, entry: Entry) -> bool:
    """Return whether the line of dialogue that follows an invitation, by another, refuses it."""
    if not is_dialogue(entry):
        return False
    told = recalled.told_by_number
    later = islice(recalled.entries, bisect_right(recalled.entries, entry.number, key=attrgetter("number")), None)
    answer = next((e for e in later if e.type not in ("plan", "reflection")), None)
    return (
        answer is not None
        and is_dialogue(answer)
        and _REFUSAL.search(answer.text) is not None
        and told[answer.number].line.speaker != told[entry.number].line.speaker
    )
