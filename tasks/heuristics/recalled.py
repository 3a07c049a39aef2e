"""The source of an insight: its owner's memories, and the form in which it tells a sentence of them.

It quotes speech with speaker and listener and never retells it: a paraphrase by rule takes the wrong part of too many
sentences. It tells observations as they were noted. It calls the owner as most of its notes do: "I", or by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from typing import NamedTuple

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import DAY, day_of
from cogitate.memory.entry import Entry, resolve_name
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.port import calls_by_short_name, language_called, language_of
from cogitate.memory.language.sentences import has_end, with_end
from cogitate.memory.language.short_names import short_names
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.tasks.heuristics.plans.said_times import find_said
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.reading import TIMED, TOLD, Told

NUMBER = attrgetter("number")
_AHEAD = 3 * DAY  # game minutes in which an announced hour is compared with plans


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The source of an insight: entries since the last reflection, and those before."""

    owner: str
    recent: Sequence[Entry]
    before: Sequence[Entry]
    names: Mapping[str, str]
    minute: int  # game time of the reflection
    repeats: Mapping[int, int]  # how often entries were observed again, by number
    places: Sequence[Location] = ()
    delay: int = 0  # game minutes until the insight reaches the owner
    language: str = ENGLISH  # of the insight, ISO 639 code
    owners: Mapping[str, str] | None = None  # the names of owners alone, as plans read them; None: `names`

    @cached_property
    def told(self) -> Sequence[Told]:
        """Return what may be told of each entry."""
        return TOLD.of(self.entries, self.owner, self.names)

    @cached_property
    def told_by_number(self) -> Mapping[int, Told]:
        """Return what may be told of each entry, by its number."""
        return dict(zip(map(NUMBER, self.entries), self.told, strict=True))

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """Return all entries, in their order."""
        return sorted((*self.before, *self.recent), key=NUMBER)

    @cached_property
    def by_number(self) -> Mapping[int, Entry]:
        """Return the entries by number."""
        return dict(zip(map(NUMBER, self.entries), self.entries, strict=True))

    @cached_property
    def agreed(self) -> Sequence[Appointment]:
        """Return the owner's appointments from talk for the next three days, as its plans see them."""
        found = TIMED.of(self.entries, self.owner, self.names)
        timed = [entry for entry in found if entry is not None and entry.type not in ("plan", "reflection")]
        names = self.names if self.owners is None else self.owners
        said = find_said(self.owner, self.entries, names, self.places, timed, (self.minute, self.minute + _AHEAD))
        return sorted((*said.timed, *said.due))

    @cached_property
    def name(self) -> str:
        """Return the owner's name."""
        return resolve_name(self.owner, self.names)

    @cached_property
    def short(self) -> Mapping[str, str]:
        """Return the short names of owners, which replace their full names after the first mention."""
        names = self.names if self.owners is None else self.owners
        return _short_names(tuple(names.values())) if calls_by_short_name(self.language) else {}

    @cached_property
    def says_i(self) -> bool:
        """Return whether the owner's notes call it "I" more often than by its name."""
        return sum(told.says_i for told in self.told) > 0

    @property
    def me(self) -> str:
        """Return how an insight calls its owner: "I", or its name."""
        return "I" if self.says_i else self.name

    def of(self, subject: str) -> str:
        """Return the name of somebody or of a place."""
        return resolve_name(subject, self.names)


@lru_cache(maxsize=16)  # runs
def _short_names(names: tuple[str, ...]) -> Mapping[str, str]:
    return short_names(names, names)


class Finding(NamedTuple):
    """What may be told, and the numbers of the entries that show it."""

    text: str
    evidence: tuple[int, ...]
    is_outcome: bool = False  # the outcome of a promise, in the promise's words


def tell(recalled: Recalled, entry: Entry, sentence: str) -> str:
    """Return a sentence of an entry as its owner tells it: what was said as a quote, all else as it was noted."""
    line, said = recalled.told_by_number[entry.number].line, shorten(sentence, MOST_QUOTED)
    language = language_of(sentence, recalled.language)
    if not line.speaker:
        noted = language.noted(
            said, recalled.me, recalled.name, recalled.names.values(), partial(_doers, recalled, entry)
        )
        noted = anchor_days(noted, entry.minute, around=recalled.language)
        return noted if has_end(noted) else with_end(noted)
    names_day = anchor_days(said, entry.minute, around=recalled.language) != said
    is_dated = names_day and day_of(entry.minute) != day_of(recalled.minute)
    others = [s for s in entry.subjects if recalled.of(s) != line.speaker]
    to_me = recalled.says_i and others == [recalled.owner]
    listener = "" if len(others) != 1 else "me" if to_me else recalled.of(others[0])
    is_mine = recalled.says_i and line.speaker == recalled.name
    return language_called(recalled.language).quoted(
        said, line.speaker, listener, is_mine, entry.minute if is_dated else None
    )


def _doers(recalled: Recalled, entry: Entry) -> set[str]:
    """Return the names of all of whom this or another recent entry notes the same deed.

    If the owner notes a deed of itself with one other subject, both did it.
    """
    others = [recalled.of(subject) for subject in entry.subjects if subject != recalled.owner]
    who = next((name for name in (recalled.name, *others) if entry.text.startswith(f"{name} ")), "")
    if not who:
        return set()
    did = entry.text.removeprefix(who)
    same = [e for e in recalled.recent if e.text.endswith(did)]
    doers = {who, *(name for e in same for name in map(recalled.of, e.subjects) if e.text == name + did)}
    return doers | set(others) if who == recalled.name and len(others) == 1 else doers
