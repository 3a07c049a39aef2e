"""The setting of a kind's latency: a number of ticks, or game minutes or seconds as text."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainValidator

from cogitate.tasks.job import LATENCIES, is_latency


def _checked(given: Any) -> int | str:
    """Return ticks as a number, or game minutes or seconds as text.

    Raises:
        ValueError: if the value is invalid.
    """
    if isinstance(given, str) and is_latency(given):
        return given
    digits = isinstance(given, str) and given.isdecimal() and len(given) < 10
    ticks = int(given) if digits or (isinstance(given, float) and given.is_integer()) else given
    if isinstance(ticks, bool) or not isinstance(ticks, int) or ticks < 1:
        raise ValueError(f"{given!r} is not a latency: give {LATENCIES}")
    return ticks


LatencySetting = Annotated[int | str, PlainValidator(_checked)]
