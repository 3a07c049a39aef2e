"""Promises of an agent as plan items: with an hour, without one, or no longer due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import clock_in_force, day_of
from cogitate.memory.entry import Entry, resolve_name
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, languages_of
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.sentences import SPACED, UNSPACED
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import anchor_days
from cogitate.memory.profile import Location
from cogitate.tasks.heuristics.closing import is_closed, time_of
from cogitate.tasks.heuristics.promises import KEEP, Promise, find_promises

_ALIKE = 0.6  # share of an appointment's words that a promise repeats
_SHARED = 3  # shared words that suffice
_CLOSE = 30  # minutes between two mentions of one appointment


@dataclass(frozen=True, kw_only=True)
class Owed:
    """What is owed, as items of a plan."""

    timed: tuple[Appointment, ...] = ()  # at an hour of the plan
    untimed: tuple[str, ...] = ()  # the oldest first
    over: frozenset[str] = frozenset()  # settled, or their time is past
    numbers: frozenset[int] = frozenset()  # of the entries that mention promises by any giver


def find_owed(
    owner: str, entries: Sequence[Entry], names: Mapping[str, str], places: Sequence[Location], start: int, end: int
) -> Owed:
    """Return what an owner promised before the day of a plan, whose window is [start, end) in game minutes.

    Without times of day, return what it promised before the plan.
    """
    has_times = clock_in_force().has_times
    earlier = {item.description for plan in entries if plan.type == "plan" for item in plan.items}
    timed: list[Appointment] = []
    untimed: list[str] = []
    over: set[str] = set()
    promises = find_promises(owner, entries, names)
    for promise in promises:
        if promise.giver != owner:
            continue
        text = _reminder(promise, names)
        opens, at, _ = time_of(promise)
        if is_closed(promise, start):
            over.add(text)
        elif opens > day_of(start) or (
            day_of(promise.minute) >= day_of(start) if has_times else promise.minute > start
        ):
            continue
        elif at is not None and start <= at < end:
            place = find_place(promise.said, places)
            timed.append(Appointment(at, text, place.id if place else None, promise.evidence[0]))
        elif text not in earlier:
            untimed.append(text)
    numbers = frozenset(n for p in promises for n in (*p.evidence, *(number for number, _ in p.tellings)))
    return Owed(timed=tuple(timed), untimed=tuple(untimed), over=frozenset(over), numbers=numbers)


def _reminder(promise: Promise, names: Mapping[str, str]) -> str:
    """Return what is to be done, in the language in which it was promised."""
    language = languages_of(promise.said)[0]
    if language not in (ENGLISH, UNDETERMINED):
        pack, said = pack_of(language), anchor_days(promise.said, promise.minute).rstrip(SPACED + UNSPACED)
        return pack.to_do("keep", said.removeprefix(pack.labelled(resolve_name(promise.giver, names), "")))
    taker = f" to {resolve_name(promise.taker, names)}" if promise.taker else ""
    return f"{KEEP}{taker}: {promise.reminder}"


def with_owed(booked: Iterable[Appointment], owed: Iterable[Appointment]) -> list[Appointment]:
    """Return appointments and promises by time, without appointments that repeat a promise."""
    promised = list(owed)
    others = (one for one in booked if not any(_is_same(one, other) for other in promised))
    return sorted([*others, *promised], key=lambda a: a.minute)


def _is_same(appointment: Appointment, promise: Appointment) -> bool:
    if abs(appointment.minute - promise.minute) >= _CLOSE:
        return False
    words = set(stems(appointment.what))
    shared = len(words & set(stems(promise.what)))
    return appointment.number == promise.number or shared >= min(_ALIKE * len(words), _SHARED)
