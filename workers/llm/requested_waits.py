"""The wait that an endpoint requests before the next call, from the headers and the body of an error response.

Endpoints name it in many ways: `Retry-After` (RFC 9110, section 10.2.3) in seconds or as a date, `retry-after-ms`,
`x-ratelimit-reset-*` with what is left of each limit beside it, or within the error (Gemini's `retryDelay`).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

_LONGEST = 86_400.0  # seconds; a longer wait counts as this one
_EPOCH = 1_000_000_000.0  # a larger number of seconds is a time, not a wait
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_IN_TEXT = re.compile(
    r"(?:retry in|try again in|retryDelay:?) ?((?:\d{1,6}(?:\.\d{1,9})?(?:ms|[dhms]))+)", re.IGNORECASE
)
_RESET = re.compile(r"x-ratelimit-reset(-.+)?|(x|anthropic)-ratelimit-.+-reset")


def requested_wait(headers: Mapping[str, str], error_text: str = "") -> float | None:
    """Return the seconds to wait, or None if the response names no time.

    Args:
        error_text: the words of the error, see `failures.error_text`.
    """
    named = {name.lower(): value.strip() for name, value in headers.items()}
    if "retry-after-ms" in named:
        wait = _number(named["retry-after-ms"], 0.001)
    elif "retry-after" in named:
        wait = _number(named["retry-after"]) if _is_number(named["retry-after"]) else _until_date(named["retry-after"])
    elif (said := _IN_TEXT.search(error_text)) is not None:
        wait = _duration(said[1])
    else:
        wait = _reset(named)
    return None if wait is None else min(max(wait, 0.0), _LONGEST)


def _reset(headers: Mapping[str, str]) -> float | None:
    """Return the wait until the limit that is used up is renewed; the shortest one if no limit says what is left."""
    waits, used_up = [], []
    for name, value in headers.items():
        if _RESET.fullmatch(name) is None or (wait := _until(value)) is None:
            continue
        waits.append(wait)
        if headers.get(name.replace("reset", "remaining")) in ("0", "0.0"):
            used_up.append(wait)
    if used_up:
        return max(used_up)
    return min(waits, default=None)


def _until(value: str) -> float | None:
    """Return the seconds that a value of a reset header names: a number, a duration, a date, or a time since 1970."""
    if not _is_number(value):
        return _duration(value) if _DURATION.fullmatch(value) else _until_date(value)
    number = _number(value)
    if number is None or number < _EPOCH:
        return number
    return (number / 1000 if number > 1000 * _EPOCH else number) - time.time()


def _until_date(value: str) -> float | None:
    try:
        at = datetime.fromisoformat(value) if value[:4].isdigit() else parsedate_to_datetime(value)
        return at.timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdigit() and value.isascii()


def _number(value: str, unit: float = 1.0) -> float | None:
    try:
        number = float(value) * unit
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _duration(value: str) -> float | None:
    """Return the seconds of a duration such as "1m30.5s" or "120ms"."""
    found = _DURATION.fullmatch(value.lower())
    if found is None or not value:
        return None
    units = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
    return sum(float(part) * unit for part, unit in zip(found.groups(), units, strict=True) if part)
