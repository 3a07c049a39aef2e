"""The wait that an endpoint requests before the next call, from the headers and the body of an error response.

Endpoints express it in many ways: `Retry-After` (RFC 9110, section 10.2.3) in seconds or as a date, `retry-after-ms`,
`x-ratelimit-reset-*` next to each limit's remainder, `RateLimit` with both in one
(draft-ietf-httpapi-ratelimit-headers), or a field of the error (Gemini's `retryDelay`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 86_400.0  # seconds; a longer wait counts as this one
_EPOCH = 1_000_000_000.0  # a larger number of seconds is a time, not a wait
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_ASKS = r"(?:try(?: again)? (?:in|after):?|wait(?: for)?|retryDelay:?) ?"
_IN_TEXT = re.compile(_ASKS + r"((?:\d{1,6}(?:\.\d{1,15})?(?:ms|[dhms])(?![a-z]))+)", re.IGNORECASE)
_IN_WORDS = re.compile(_ASKS + r"(\d{1,6}(?:\.\d{1,15})?) ?(milli)?(second|minute|hour|day)", re.IGNORECASE)
_UNITS = {"day": 86_400.0, "hour": 3_600.0, "minute": 60.0, "second": 1.0}
_RESET = re.compile(r"(x-)?ratelimit(bysize)?-reset(-.+)?|(x|anthropic)-ratelimit-.+-reset")
_LIMIT = re.compile(r"\b(?:r|remaining)=(\d{1,9})[;, ]{1,3}(?:t|reset)=(\d{1,9})\b")  # `"default";r=0;t=30`


def requested_wait(headers: Mapping[str, str], error_text: str = "", *, limited: bool = True) -> float | None:
    """Return the seconds to wait, or None if the response names no time.

    Args:
        error_text: the words of the error, see `failures.error_text`.
        limited: whether a limit caused the error. If not, only an exhausted limit counts: many providers report with
            every response when their limits reset.
    """
    named = {name.lower(): value.strip() for name, value in headers.items()}
    now = _date(named.get("date", "")) or time.time()  # dates follow the server's clock, which may differ
    wait = _milliseconds(named.get("retry-after-ms", ""))
    if wait is None:
        waits = [_retry_after(value.strip(), now) for name, value in headers.items() if name.lower() == "retry-after"]
        wait = max((one for one in waits if one is not None), default=None)
    if wait is None:
        wait = _in_words(error_text)
    if wait is None:
        wait = _reset(named, limited, now)
    return None if wait is None else min(max(wait, 0.0), _LONGEST)


def _retry_after(value: str, now: float) -> float | None:
    """Return the seconds of a `Retry-After`, with or without a unit ("5 seconds")."""
    seconds = _until(value, now)
    return _in_words(f"wait {value}") if seconds is None else seconds


def _in_words(text: str) -> float | None:
    """Return the seconds that the words of an error name: "try again in 1m30s", "retry after 20 seconds"."""
    if (found := _IN_TEXT.search(text)) is not None:
        return _duration(found[1])
    if (found := _IN_WORDS.search(text)) is not None:
        return float(found[1]) * _UNITS[found[3].lower()] * (0.001 if found[2] else 1.0)
    return None


def _reset(headers: Mapping[str, str], limited: bool, now: float) -> float | None:
    """Return the wait until the exhausted limit resets.

    If no remainders are reported, return the shortest wait that a response to a `limited` request names.
    """
    waits, used_up = [], []
    for name, value in headers.items():
        if _RESET.fullmatch(name) is None or (wait := _until(value, now)) is None:
            continue
        waits.append(wait)
        if headers.get(name.replace("reset", "remaining")) in ("0", "0.0"):
            used_up.append(wait)
    for remaining, reset in _LIMIT.findall(headers.get("ratelimit", "")):
        waits.append(float(reset))
        if int(remaining) == 0:
            used_up.append(float(reset))
    if used_up:
        return max(used_up)
    return min(waits, default=None) if limited else None


def _until(value: str, now: float) -> float | None:
    """Return the seconds that a header names: as a number, a duration, a date, or a time since 1970."""
    if not _is_number(value):
        if _DURATION.fullmatch(value.lower()):
            return _duration(value)
        at = _date(value)
        return None if at is None else at - now
    number = float(value)
    if number < _EPOCH:
        return number
    return (number / 1000 if number > 1000 * _EPOCH else number) - now


def _milliseconds(value: str) -> float | None:
    return float(value) / 1000 if _is_number(value) else None


def _date(value: str) -> float | None:
    """Return the seconds since 1970 of a date."""
    try:
        at = datetime.fromisoformat(value) if value[:4].isdigit() else parsedate_to_datetime(value)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdigit() and value.isascii()


def _duration(value: str) -> float | None:
    """Return the seconds of a duration such as "1m30.5s" or "120ms"."""
    found = _DURATION.fullmatch(value.lower())
    if found is None or not value:
        return None
    units = (*_UNITS.values(), 0.001)
    return sum(float(part) * unit for part, unit in zip(found.groups(), units, strict=True) if part)
