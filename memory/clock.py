"""Game time: minutes since the midnight at which the first day begins, and how texts name it.

A day has 24 hours of 60 minutes, however long it lasts in the world: a game minute is a 1,440th of it. Code counts days
from 0 (`day_of`); texts for people and models count them from 1. Texts name times by the clock in force, which is their
run's: `with clock.in_force():` sets it for a thread, as `decimal.localcontext` sets a precision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache

import msgspec

DAY = 1440  # minutes
DAY_SECONDS = 86_400
MONTH, YEAR = 30, 360  # days
STANDARD = "12h"
NAMES = re.compile(r"12h|24h|months|(?:([1-9]\d{0,8}) )?rounds(?: of ([1-9]\d{0,3}) ticks)?")


class Clock(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The clock of a run: the game time of its ticks, and their names in texts."""

    seconds_per_tick: int = 60
    day_seconds: int = DAY_SECONDS  # length of a day, in the same seconds
    start: int = 0  # game time of tick 0
    names: str = STANDARD  # "12h", "24h", "months", "rounds", "10 rounds" or "10 rounds of 2 ticks"

    def minute(self, tick: int) -> int:
        """Return the game time of a tick."""
        return self.start + self.minutes(tick)

    def minutes(self, ticks: int) -> int:
        """Return the length of a number of ticks in whole game minutes."""
        return ticks * self.seconds_per_tick * DAY // self.day_seconds

    def ticks(self, minutes: int) -> int:
        """Return the number of whole ticks in a number of game minutes."""
        return minutes * self.day_seconds // (self.seconds_per_tick * DAY)

    def ticks_until(self, minutes: int, tick: int = 0) -> int:
        """Return the number of ticks from `tick` to the first one at least `minutes` game minutes later."""
        elapsed = tick * self.seconds_per_tick * DAY % self.day_seconds  # of the tick's minute
        return -((elapsed - minutes * self.day_seconds) // (self.seconds_per_tick * DAY))

    def minute_before(self, tick: int, minute: int) -> int:
        """Return the game time of the tick before one whose game time is `minute`."""
        return minute - (self.minutes(tick) - self.minutes(tick - 1))

    @property
    def minutes_per_tick(self) -> float:
        """The length of a tick in game minutes; it may be a fraction."""
        return self.seconds_per_tick * DAY / self.day_seconds

    @cached_property
    def day_or_tick(self) -> int:
        """The length in game minutes of a day, or of a tick if that is longer."""
        return max(DAY, self.minutes(1))

    @property
    def hours_per_tick(self) -> float:
        """The length of a tick in game hours, at least 1."""
        return max(1.0, self.minutes_per_tick / 60)

    @cached_property
    def has_times(self) -> bool:
        """Whether ticks have times of day; rounds, months, and ticks of a day or longer have none."""
        return self.counts_days and self.seconds_per_tick < self.day_seconds

    @cached_property
    def counts_days(self) -> bool:
        """Return whether texts name days by their number."""
        return self.names in ("12h", "24h")

    @property
    def counts_rounds(self) -> bool:
        """Return whether texts name rounds."""
        return "rounds" in self.names

    @property
    def unit(self) -> tuple[str, float]:
        """Return the unit of time in texts (hour, round, day or month) and its length in game minutes."""
        tick = self.minutes_per_tick
        if self.has_times:
            return "hour", 60
        if self.counts_rounds:
            return "round", tick * _rounds(self.names)[1]
        return ("month", MONTH * DAY) if tick >= MONTH * DAY else ("day", DAY)

    def span(self, minutes: int) -> str:
        """Return a duration in words, at least a tick: "720 game minutes", "3 rounds", "2 days" or "month"."""
        name, length = ("game minute", 1) if self.has_times else self.unit
        count = -(-max(minutes, self.minutes(1), 1) // length)
        return name if count == 1 else f"{count:,.0f} {name}s"

    def hours(self, count: int) -> str:
        """Return `count` game hours in words: "game hour", "24 game hours", "60 rounds" or "month"."""
        if not self.has_times:
            return self.span(60 * count)
        return "game hour" if count == 1 else f"{count} game hours"

    def day_window(self, day: int) -> str:
        """Return the ticks of a day (from 0) in words: "day 1", "rounds 1 to 1439" or "year 1, month 3"."""
        if not self.counts_rounds:
            return self.date(day * DAY)
        most, length = _rounds(self.names)
        ticks = (self.ticks_until(day * DAY - self.start), self.ticks_until((day + 1) * DAY - self.start) - 1)
        first, last = (-(-max(1, tick) // length) for tick in ticks)
        last = min(last, int(most or last))
        return f"round {last}" if first >= last else f"rounds {first} to {last}"

    def ends_before(self, minute: int) -> bool:
        """Return whether the last round, if known, ends before a game time."""
        last, ticks = _rounds(self.names) if self.counts_rounds else ("", 1)
        return bool(last) and self.ticks_until(minute - self.start) > int(last) * ticks

    def day(self, minute: int) -> int:
        """Return the number of a time's day in texts, from 1; a tick of a day or longer has that of the day it ends."""
        return (minute if self.has_times else max(0, minute - 1)) // DAY + 1

    def date(self, minute: int) -> str:
        """Return "day 3", "year 1, month 3", "round 4" or "round 4 of 10"."""
        if self.counts_days:
            return f"day {self.day(minute)}"
        if not (known := self.dated(minute)):
            return "before round 1"
        named = ", ".join(f"{name} {number}" for name, number in known.items() if name != "last")
        return f"{named} of {known['last']}" if "last" in known else named

    def dated(self, minute: int) -> dict[str, int]:
        """Return the numbers of a date that it has: "year", "month" and "day", or "round" and the "last" round.

        A time before the first round has none; a round after the last has no "last".
        """
        if self.names == "months":
            year, day = divmod(self.day(minute) - 1, YEAR)
            numbers = {"year": year + 1, "month": day // MONTH + 1}
            return numbers if self.seconds_per_tick >= MONTH * self.day_seconds else numbers | {"day": day % MONTH + 1}
        if self.counts_days:
            return {"day": self.day(minute)}
        last, ticks = _rounds(self.names)
        number = -(-self.ticks_until(minute - self.start) // ticks)
        return {} if number <= 0 else {"round": number} | ({"last": int(last)} if last and number <= int(last) else {})

    def time(self, minute: int, tick: int | None = None) -> str:
        """Return "7:05 AM" or "07:05", with the seconds of `tick` where ticks have seconds; else the date."""
        if not self.has_times:
            return self.date(minute)
        hour, rest = divmod(minute % DAY, 60)
        second = ""
        if tick is not None and self.seconds_per_tick * DAY % self.day_seconds and self.minute(tick) == minute:
            second = f":{tick * self.seconds_per_tick * DAY % self.day_seconds * 60 // self.day_seconds:02d}"
        if self.names == "24h":
            return f"{hour:02d}:{rest:02d}{second}"
        return f"{(hour + 11) % 12 + 1}:{rest:02d}{second} {'AM' if hour < 12 else 'PM'}"

    def date_and_time(self, minute: int, tick: int | None = None) -> str:
        """Return "day 1, 7:05 AM", or the date alone where there are no times of day."""
        date = self.date(minute)
        return f"{date}, {self.time(minute, tick)}" if self.has_times else date

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Use this clock for the texts of this thread."""
        token = _IN_FORCE.set(self)
        try:
            yield
        finally:
            _IN_FORCE.reset(token)


@lru_cache(maxsize=64)
def _rounds(names: str) -> tuple[str, int]:
    """Return the number of the last round, "" if unknown, and the ticks of a round."""
    match = NAMES.fullmatch(names)
    return (match[1] or "", int(match[2] or 1)) if match else ("", 1)


USUAL = Clock()
_IN_FORCE: ContextVar[Clock] = ContextVar("clock", default=USUAL)


def clock_in_force() -> Clock:
    """Return the clock by which this thread writes texts."""
    return _IN_FORCE.get()


def day_of(minute: int) -> int:
    """Return the game day (from 0) of a game time; days start at 00:00."""
    return minute // DAY


def day_number(minute: int) -> int:
    """Return the number of a game time's day in texts, from 1, by the clock in force."""
    return _IN_FORCE.get().day(minute)


def date(minute: int) -> str:
    """Return the date of a game time, such as "day 3", by the clock in force."""
    return _IN_FORCE.get().date(minute)


def day_and_time(minute: int, tick: int | None = None) -> str:
    """Return a game time as "day 1, 7:05 AM", by the clock in force.

    Args:
        tick: the tick of that game time, if known, whose seconds are shown where ticks have seconds.
    """
    return _date_and_time(_IN_FORCE.get(), minute, tick)


# Holds the minutes of a week: a prompt shows twenty, and agents remember mostly the same ones.
_date_and_time = lru_cache(maxsize=10_000)(Clock.date_and_time)


def at_time(minute: int) -> str:
    """Return "on day 1, 7:05 AM", "during day 3" or "in round 4", by the clock in force."""
    clock = _IN_FORCE.get()
    return f"{'on' if clock.has_times else 'during' if clock.counts_days else 'in'} {day_and_time(minute)}"


def on_date(minute: int) -> str:
    """Return "on day 3" or "in round 4", by the clock in force."""
    clock = _IN_FORCE.get()
    return f"{'on' if clock.counts_days else 'in'} {clock.date(minute)}"


def span(minutes: int) -> str:
    """Return a duration in words, such as "720 game minutes" or "3 rounds", by the clock in force."""
    return _IN_FORCE.get().span(minutes)


def clock_time(minute: int, tick: int | None = None) -> str:
    """Return a game time as "7:05 AM" by the clock in force, or the date if that has no times of day."""
    return _IN_FORCE.get().time(minute, tick)


def next_morning(minute: int, morning: int) -> int:
    """Return the first game time after `minute` at which a day's plan ends (`morning` is minutes after 00:00)."""
    day = day_of(minute)
    return day * DAY + morning if minute < day * DAY + morning else (day + 1) * DAY + morning
