"""The failures of a model by stable name, and how each is recognised.

A provider's error text may hold a part of the key or of the prompt, so the client reads it to classify the failure and
then drops it: a `Failure` holds only kind, status and an error code.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal, get_args

from pydantic_core import ErrorDetails

FailureKind = Literal[
    "connection",  # refused, reset, closed, or no connection in time
    "timeout",  # sent, but the answer was not complete by the deadline; or the server timed out (408)
    "auth",  # 401, 403
    "quota_exhausted",  # 402, or 429 for an empty account: waiting does not help
    "model_missing",  # 404
    "unsupported",  # the endpoint refuses this dialect; the next call omits what it refuses
    "bad_request",  # another 3xx or 4xx: this request can never succeed
    "conflict",  # 409
    "rate_limited",  # 429
    "server",  # 5xx
    "overloaded",  # 503, 529
    "context_overflow",  # the prompt is too long for the model
    "filtered",  # a content filter stopped prompt or answer
    "refused",  # the model declined
    "truncated",  # the answer reached its cap of tokens
    "empty",  # no choices, or no text
    "not_json",  # no JSON object in the answer, or no JSON in the response
    "wrong_schema",  # a JSON object that does not match the schema
    "too_large",  # the response passed the cap of bytes
]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

#: Another attempt with the same prompt may succeed.
RETRYABLE: frozenset[FailureKind] = frozenset(
    {
        "connection",
        "timeout",
        "unsupported",
        "conflict",
        "rate_limited",
        "server",
        "overloaded",
        "refused",
        "truncated",
        "empty",
        "not_json",
        "wrong_schema",
    }
)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The reason why there is no usable answer."""

    kind: FailureKind
    status: int | None = None  # of the HTTP response, if there was one
    retry_after: float | None = None  # seconds the provider asked to wait
    detail: str = ""  # for logs: an error code or the place of a wrong value; never a provider's or model's text

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.kind in RETRYABLE


_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|too many (input )?tokens|"
    r"(prompt|input|request) is too (long|large)|exceeds? the (available|maximum) (context|number of tokens)",
    re.IGNORECASE,
)
_FILTER = re.compile(r"content[ _]?(filter|policy|management)|moderation|safety system|responsible ?ai", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient[ _](quota|balance|funds|credits?)|exceeded your current quota", re.IGNORECASE)
_MODEL = re.compile(r"model[ _]not[ _]found|model .{0,200}(does not exist|not found)|unknown model", re.IGNORECASE)
_CODE = re.compile(r"[a-z][a-z0-9_]{1,47}")
_READ = 2_000  # characters of an error text that are read
_MOST_WAIT = 86_400.0  # seconds; a longer Retry-After counts as this one


def from_status(status: int, body: object, headers: Mapping[str, str]) -> Failure:
    """Return the failure of an error response, by its text first: providers disagree about status codes."""
    code, text = _read(body)
    kind = _kind(status, f"{code} {text}")
    return Failure(kind=kind, status=status, retry_after=_retry_after(headers), detail=code)


def error_text(body: object) -> str:
    """Return the text of an error response in short: to recognise it, not to show it."""
    return " ".join(_read(body))


def _kind(status: int, text: str) -> FailureKind:
    if status in (400, 413, 422, 500) and _OVERFLOW.search(text):
        return "context_overflow"
    if 400 <= status < 500 and _FILTER.search(text):
        return "filtered"
    if status == 402 or (status in (403, 429) and _QUOTA.search(text)):
        return "quota_exhausted"
    if status == 404 or (status == 400 and _MODEL.search(text)):
        return "model_missing"
    by_status: dict[int, FailureKind] = {
        401: "auth",
        403: "auth",
        408: "timeout",
        409: "conflict",
        413: "context_overflow",
        425: "conflict",
        429: "rate_limited",
        503: "overloaded",
        529: "overloaded",
    }
    return by_status.get(status, "server" if status >= 500 else "bad_request")


def _read(body: object) -> tuple[str, str]:
    """Return an error body's code, if it looks like one, and its words."""
    error: object = body
    if isinstance(body, Mapping) and isinstance(body.get("error"), str | Mapping):
        error = body["error"]  # the client hands over the inner part of the usual shape, but not of every shape
    if not isinstance(error, Mapping):
        return "", str(error or "")[:_READ]
    words = [str(error[key]) for key in ("code", "type", "param", "message", "detail") if error.get(key)]
    codes = [str(error.get(key) or "") for key in ("code", "type")]
    code = next((c for c in codes if _CODE.fullmatch(c)), "")
    return code, " ".join(words)[:_READ]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3)."""
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif "retry-after" not in headers:
            return None
        elif (text := headers["retry-after"].strip()).replace(".", "", 1).isdigit():
            wait = float(text)
        else:
            wait = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, 0.0), _MOST_WAIT) if math.isfinite(wait) else None


def charged_in_doubt(failure: Failure) -> bool:
    """Return whether the provider may have done, and charged for, work whose usage it never reported.

    No provider we know charges for error responses, except when a gateway stopped waiting.
    """
    return failure.status is None or failure.status in (408, 504, 524)


def describe_places(errors: Sequence[ErrorDetails]) -> str:
    """Return where a validated object is wrong, as "activities.0.time: missing", at most three places.

    Names come from the answer's own keys and may be a model's words: anything but a plain name becomes "?".
    """
    places = []
    for error in errors[:3]:
        path = ".".join(str(p) if re.fullmatch(r"\w{1,32}", str(p), re.ASCII) else "?" for p in error["loc"])
        places.append(f"{path or 'answer'}: {error['type']}")
    return "; ".join(places)
