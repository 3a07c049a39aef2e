"""The setting of a kind's latency: a number of ticks, or seconds as text."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainValidator

from tasks.job import seconds_of


def _ticks_or_seconds(given: Any) -> int | str:
    """Return ticks as a number, or seconds as text.

    Raises:
        ValueError: when it is neither.
    """
    if isinstance(given, str) and seconds_of(given) is not None:
        return given
    digits = isinstance(given, str) and given.isdecimal() and len(given) < 10
    ticks = int(given) if digits or (isinstance(given, float) and given.is_integer()) else given
    if isinstance(ticks, bool) or not isinstance(ticks, int) or ticks < 1:
        raise ValueError(f'{given!r} is no latency: give ticks from 1 on, or seconds such as "5s"')
    return ticks


LatencySetting = Annotated[int | str, PlainValidator(_ticks_or_seconds)]
