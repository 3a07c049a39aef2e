"""Game time: minutes since the midnight at which the first day begins, and its formats.

Code counts days from 0 (`day_of`); texts for people and models count them from 1 (`day_number`).
"""

from __future__ import annotations

from functools import lru_cache

DAY = 1440  # minutes


def day_of(minute: int) -> int:
    """Return the game day (from 0) of a game time; days start at 00:00."""
    return minute // DAY


def day_number(minute: int) -> int:
    """Return the game day of a game time as texts show it: the first is 1."""
    return day_of(minute) + 1


@lru_cache(maxsize=10_000)  # the minutes of a week: a prompt shows twenty, and agents saw most of it together
def day_and_time(minute: int) -> str:
    """Return a game time as "day 1, 7:05 AM"."""
    return f"day {day_number(minute)}, {clock_time(minute)}"


def clock_time(minute: int) -> str:
    """Return a game time as "7:05 AM"."""
    hour, rest = divmod(minute % DAY, 60)
    return f"{(hour + 11) % 12 + 1}:{rest:02d} {'AM' if hour < 12 else 'PM'}"


def next_morning(minute: int, morning: int) -> int:
    """Return the first game time after `minute` at which a day's plan ends (`morning` is minutes after 00:00)."""
    day = day_of(minute)
    return day * DAY + morning if minute < day * DAY + morning else (day + 1) * DAY + morning
