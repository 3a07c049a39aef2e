"""Cadences of declared kinds: due daily at a time, or repeatedly after a span of game time or a number of ticks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

from cogitate.memory.clock import DAY
from cogitate.tasks.kind import Moment
from cogitate.tasks.kind_check import KindError
from cogitate.tasks.timing import is_turn, next_turn, offset, tick_at

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_SPAN = re.compile(r"([1-9]\d{0,5}) ?([mhd])")
_TURNS = re.compile(r"([1-9]\d{0,5}) ?(s|ticks?)")
_MINUTES = {"m": 1, "h": 60, "d": DAY}


class Cadence(Protocol):
    """A rule that says at which ticks an owner is due."""

    def is_now(self, moment: Moment) -> bool:
        """Return whether the owner is due at the moment's tick."""

    def next_tick(self, moment: Moment) -> int:
        """Return the owner's next tick after the moment's."""


@dataclass(frozen=True)
class Repeating:
    """Due every `every` game minutes, `at` minutes after 00:00 of the first day, each owner up to `spread` later."""

    every: int
    at: int = 0
    spread: int = 0
    time: str = field(default="", compare=False)  # of day, as `daily` gives it

    def next_after(self, owner: str, minute: int) -> int:
        """Return the owner's first game time after `minute`."""
        first = self.at + offset(owner, self.spread)
        return first + ((minute - first) // self.every + 1) * self.every

    def is_now(self, moment: Moment) -> bool:
        """Return whether a due time lies between the previous tick and the moment's."""
        before = moment.world.clock.minute_before(moment.tick, moment.minute)
        return self.next_after(moment.owner, before) <= moment.minute

    def next_tick(self, moment: Moment) -> int:
        """Return the tick of the next due time after the moment."""
        return tick_at(moment, self.next_after(moment.owner, moment.minute))


@dataclass(frozen=True)
class Turns:
    """Due at each owner's turn, once in a number of ticks, or in the ticks of a number of seconds of game time."""

    ticks: int = 0
    seconds: int = 0

    def is_now(self, moment: Moment) -> bool:
        """Return whether it is the owner's turn."""
        return is_turn(moment, self._every(moment))

    def next_tick(self, moment: Moment) -> int:
        """Return the tick of the owner's next turn."""
        return next_turn(moment, self._every(moment))

    def _every(self, moment: Moment) -> int:
        return self.ticks or -(-self.seconds // moment.world.clock.seconds_per_tick)


def daily(time: str, *, spread: int = 0) -> Cadence:
    """Return a cadence of once each game day, such as `daily("02:00")`; of every tick if ticks last a day or longer.

    A run in rounds, which has no days, refuses a kind with this cadence.

    Args:
        time: from "00:00" to "23:59".
        spread: game minutes after it over which owners are distributed.

    Raises:
        KindError: when the time or the spread is invalid.
    """
    match = _TIME.fullmatch(time) if isinstance(time, str) else None
    if match is None:
        raise KindError(f'daily({time!r}): give a time from "00:00" to "23:59"')
    if type(spread) is not int or not 0 <= spread <= DAY:
        raise KindError(f"daily(…, spread={spread!r}): give game minutes from 0 to {DAY}")
    return Repeating(DAY, int(match[1]) * 60 + int(match[2]), spread, time)


def every(span: str) -> Cadence:
    """Return a cadence of once per span of game time or per number of ticks, with owners spread over the span.

    Spans are counted from 00:00 of the first day, ticks from tick 0. An owner's name determines its moment within the
    span: with `every("12h")` one is due at 04:41 and 16:41, another at 09:03 and 21:03. For a fixed time use `daily`.

    Args:
        span: such as "30s", "90m", "6h", "2d" or "3 ticks".

    Raises:
        KindError: when the span is invalid.
    """
    if minutes := minutes_in(span):
        return Repeating(minutes, spread=minutes)
    match = _TURNS.fullmatch(span) if isinstance(span, str) else None
    if match is None:
        raise KindError(f'every({span!r}): give a span of game time such as "30s", "90m", "6h" or "2d", or "3 ticks"')
    return Turns(seconds=int(match[1])) if match[2] == "s" else Turns(ticks=int(match[1]))


def minutes_in(span: object) -> int:
    """Return the game minutes of a span such as "90m", "6h" or "2d"; 0 for anything else."""
    match = _SPAN.fullmatch(span) if isinstance(span, str) else None
    return int(match[1]) * _MINUTES[match[2]] if match else 0
