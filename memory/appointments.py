"""Appointments that memories mention: what, when, where ("party at 5 pm at Hobbs Cafe").

Game time has no calendar, so a day is understood from "today", "tomorrow", "day 3". A mention without such a word,
or with a calendar date, counts for the coming day if it is not older than a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.commitments import Appointed
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.times import find_times
from cogitate.memory.profile import Location


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
        if entry.type != "plan" and find_times(entry.text)
        for sentence in split_sentences(entry.text)
        if find_times(sentence) and (appointment := _appointment(sentence, entry, places, start, end)) is not None
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


def _appointment(sentence: str, entry: Entry, places: Sequence[Location], start: int, end: int) -> Appointment | None:
    place = find_place(sentence, places)
    found = language_of(sentence).appointed(sentence, entry.minute, place.name if place else "")
    minute = None if found is None else _when(found, entry.minute, start, end)
    if found is None or minute is None:
        return None
    return Appointment(minute, found.what, place.id if place else None, entry.number)


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


def find_place(text: str, places: Sequence[Location]) -> Location | None:
    """Return the known place that `text` names, by name or id; the longest name wins."""
    folded = text.casefold()
    best: tuple[int, Location] | None = None
    for place in places:
        for word in (place.name.casefold(), place.id.casefold()):
            if not word or word not in folded or (best is not None and len(word) <= best[0]):
                continue  # at once: a big town has more places than `re` keeps patterns, and compiling takes long
            if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", folded):
                best = (len(word), place)
    return best[1] if best else None
