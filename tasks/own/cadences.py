"""Cadences of declared kinds: due at a time of each day, or again after an interval."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from cogitate.memory.clock import DAY
from cogitate.tasks.kind import Moment
from cogitate.tasks.kind_check import KindError
from cogitate.tasks.timing import offset, tick_at

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_SPAN = re.compile(r"([1-9]\d{0,5}) ?([mhd])")
_MINUTES = {"m": 1, "h": 60, "d": DAY}


class Cadence(Protocol):
    """A rule that says at which game times an owner is due."""

    def next_after(self, owner: str, minute: int) -> int:
        """Return the owner's first game time after `minute`."""


@dataclass(frozen=True)
class Repeating:
    """Due every `every` game minutes, `at` minutes after 00:00 of the first day, each owner up to `spread` later."""

    every: int
    at: int = 0
    spread: int = 0

    def next_after(self, owner: str, minute: int) -> int:
        """Return the owner's first game time after `minute`."""
        first = self.at + offset(owner, self.spread)
        return first + ((minute - first) // self.every + 1) * self.every


def daily(time: str, *, spread: int = 0) -> Cadence:
    """Return a cadence of once each game day, such as `daily("02:00")`.

    Args:
        time: from "00:00" to "23:59".
        spread: game minutes after it over which owners are distributed.

    Raises:
        KindError: when the time or the spread is invalid.
    """
    found = _TIME.fullmatch(time) if isinstance(time, str) else None
    if found is None:
        raise KindError(f'daily({time!r}): give a time from "00:00" to "23:59"')
    if type(spread) is not int or not 0 <= spread <= DAY:
        raise KindError(f"daily(…, spread={spread!r}): give game minutes from 0 to {DAY}")
    return Repeating(DAY, int(found[1]) * 60 + int(found[2]), spread)


def every(span: str) -> Cadence:
    """Return a cadence of once per span of game time, with owners spread over the span.

    Args:
        span: such as "90m", "6h" or "2d".

    Raises:
        KindError: when the span is invalid.
    """
    minutes = minutes_in(span)
    if not minutes:
        raise KindError(f'every({span!r}): give a span of game time such as "90m", "6h" or "2d"')
    return Repeating(minutes, spread=minutes)


def minutes_in(span: object) -> int:
    """Return the game minutes of a span such as "90m", "6h" or "2d"; 0 for anything else."""
    found = _SPAN.fullmatch(span) if isinstance(span, str) else None
    return int(found[1]) * _MINUTES[found[2]] if found else 0


def is_now(cadence: Cadence, moment: Moment) -> bool:
    """Return whether a due time lies between the previous tick and the moment's."""
    before = moment.world.clock.minute_before(moment.tick, moment.minute)
    return cadence.next_after(moment.owner, before) <= moment.minute


def next_tick(cadence: Cadence, moment: Moment) -> int:
    """Return the tick of the next due time after the moment."""
    return tick_at(moment, cadence.next_after(moment.owner, moment.minute))
