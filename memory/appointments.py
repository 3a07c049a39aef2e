"""Appointments that memories mention: what, when, where ("party at 5 pm at Hobbs Cafe").

Game time has no calendar, so a day is understood from "today", "tomorrow", "day 3". A mention without such a word,
or with a calendar date, counts for the coming day if it is not older than a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.clock import DAY, Clock, clock_in_force, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.commitments import Appointed
from cogitate.memory.language.packs import forget_with_packs
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.times import find_times
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.text_cache import TextCache


class Appointment(NamedTuple):
    """An activity at a game time (total minutes), its place if known, and the number of the entry that mentions it."""

    minute: int
    what: str
    location: str | None
    number: int


def appointments(entries: Iterable[Entry], places: Sequence[Location], start: int, end: int) -> list[Appointment]:
    """Return the appointments that entries mention between `start` and `end` (game minutes, end excluded), by time.

    Of several mentions within half an hour the function keeps the one with a place, then the latest. Where the clock in
    force has no times of day the result is empty.
    """
    if not clock_in_force().has_times:
        return []
    found = [
        appointment
        for entry in entries
        if entry.type != "plan"
        for sentence in _TIMED.of(entry.text)
        if (appointment := _appointment(sentence, entry, places, start, end)) is not None
    ]
    found.sort(key=lambda a: (a.minute, a.location is None, -a.number))
    kept: list[Appointment] = []
    for appointment in found:
        if kept and appointment.minute - kept[-1].minute < 30:
            if kept[-1].location is None and appointment.location is not None:
                kept[-1] = appointment
            continue
        kept.append(appointment)
    return kept


def names_time(text: str) -> bool:
    """Return whether a text names a clock time."""
    return bool(_TIMES.of(text))


def _timed_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text that name a clock time; most texts have none."""
    return tuple(filter(find_times, split_sentences(text))) if _TIMES.of(text) else ()


_TIMES = TextCache(lambda text: tuple(find_times(text)), most=300_000)  # items: one for most texts; some 20 MB
_TIMED = TextCache(_timed_sentences, most=100_000)


def _appointment(sentence: str, entry: Entry, places: Sequence[Location], start: int, end: int) -> Appointment | None:
    place = find_place(sentence, places)
    found = _appointed(sentence, entry.minute, place.name if place else "", clock_in_force())
    minute = None if found is None else _when(found, entry.minute, start, end)
    if found is None or minute is None:
        return None
    return Appointment(minute, found.what, place.id if place else None, entry.number)


@lru_cache(maxsize=65_536)
def _appointed(sentence: str, minute: int, place: str, clock: Clock) -> Appointed | None:
    """Return what a sentence appoints; `clock` is the one in force, by which it is told."""
    return language_of(sentence).appointed(sentence, minute, place)


forget_with_packs(_appointed.cache_clear)


def _when(found: Appointed, said: int, start: int, end: int) -> int | None:
    if found.day is not None:
        minute = found.day * DAY + found.time
        return minute if start <= minute < end else None
    if said < start - DAY:
        return None
    for minute in (day_of(start) * DAY + found.time, (day_of(start) + 1) * DAY + found.time):
        if start <= minute < end:
            return minute
    return None
