"""Classifies error responses by a first guess: from the status, the form, and a few word stems.

Providers disagree about status codes, and each has its own wording. The guess only decides whether the same job asks
again; which calls fail decides what the gate sets aside (`cogitate.workers.gate.endpoint_reports`). So a wording that
no line matches costs one job, not an endpoint. `tests/fixtures/error-wordings.json` holds responses of providers, each
with its source.

A provider's error text may contain a part of the key or of the prompt. So the client uses it to classify the failure
and then drops it: a `Failure` holds only kind, status and an error code.

Endpoints express a requested wait in many ways: `Retry-After` (RFC 9110, section 10.2.3) in seconds or as a date,
`retry-after-ms`, `x-ratelimit-reset-*` next to each limit's remainder, `RateLimit` with both in one
(draft-ietf-httpapi-ratelimit-headers), or a field or the text of the error.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from cogitate.workers.llm.replies.context_lengths import named_context
from cogitate.workers.llm.replies.failures import CLASSES, Failure, FailureKind

_LONGEST = 86_400.0  # seconds; a longer wait counts as this one
_NUMBER = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_EPOCH = 1_000_000_000.0  # a larger number of seconds is a time, not a wait
_PART = r"\d{1,6}(?:\.\d{1,15})? ?(?:milliseconds?|ms|days?|d|hours?|h|minutes?|m|seconds?|s)(?![a-z])"  # "1.5 s"
_DURATION = re.compile(rf"(?:{_PART}[ ,]{{0,2}})+", re.IGNORECASE)
_IN_TEXT = re.compile(
    rf"(?:try(?: again)? (?:in|after):?|wait(?: for)?|retryDelay:?) ?({_DURATION.pattern})", re.IGNORECASE
)
_COUNTED = re.compile(r"(?<![\d.])([\d.]++) ?(milli|ms|[dhms])", re.IGNORECASE)
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "milli": 0.001}
_RESET = re.compile(r"(x-)?ratelimit(bysize)?-reset(-.+)?|(x|anthropic)-ratelimit-.+-reset")
_LIMIT = re.compile(r"\b(?:r|remaining)=(\d{1,9})[;, ]{1,3}(?:t|reset)=(\d{1,9})\b")  # `"default";r=0;t=30`


def requested_wait(headers: Mapping[str, str], error_text: str = "", *, limited: bool = True) -> float | None:
    """Return the seconds to wait, or None if the response names no time.

    Args:
        error_text: the text of the error, from `error_text`.
        limited: whether a limit caused the error. If not, only an exhausted limit counts, since many providers report
            in every response when their limits reset.
    """
    named = {name.lower(): value.strip() for name, value in headers.items()}
    now = _date(named.get("date", "")) or time.time()  # dates follow the server's clock, which may differ
    after = (_until(value.strip(), now) for name, value in headers.items() if name.lower() == "retry-after")
    in_text = _IN_TEXT.search(f"wait {named.get('retry-after', '')}\n{error_text}")  # "5 seconds, then retry"
    milliseconds = named.get("retry-after-ms", "")
    waits = (
        float(milliseconds) / 1000 if _NUMBER.fullmatch(milliseconds) else None,
        max((seconds for seconds in after if seconds is not None), default=None),
        None if in_text is None else _duration(in_text[1]),  # "try again in 1m30s", "retry after 20 seconds"
        _reset(named, limited, now),
    )
    wait = next((seconds for seconds in waits if seconds is not None), None)
    return None if wait is None else min(max(wait, 0.0), _LONGEST)


def _reset(headers: Mapping[str, str], limited: bool, now: float) -> float | None:
    """Return the wait until the exhausted limit resets.

    If the response reports no remainders, return its shortest wait, provided that a limit caused the error.
    """
    waits = [
        (headers.get(name.replace("reset", "remaining")) in ("0", "0.0"), wait)
        for name, value in headers.items()
        if _RESET.fullmatch(name) and (wait := _until(value, now)) is not None
    ]
    waits += [(int(left) == 0, float(reset)) for left, reset in _LIMIT.findall(headers.get("ratelimit", ""))]
    used_up = [wait for is_used_up, wait in waits if is_used_up]
    return max(used_up) if used_up else min((wait for _, wait in waits), default=None) if limited else None


def _until(value: str, now: float) -> float | None:
    """Return the seconds that a header asks to wait: a number, a duration, a date, or a time since 1970."""
    if _NUMBER.fullmatch(value) is None:
        if (seconds := _duration(value)) is not None:
            return seconds
        return None if (at := _date(value)) is None else at - now
    number = float(value)
    if number < _EPOCH:
        return number
    return (number / 1000 if number > 1000 * _EPOCH else number) - now


def _date(value: str) -> float | None:
    """Convert a date to seconds since 1970; None for any other text."""
    try:
        at = datetime.fromisoformat(value) if value[:4].isdigit() else parsedate_to_datetime(value)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _duration(value: str) -> float | None:
    """Return the seconds of a duration such as "1m30.5s", "120ms" or "20 seconds"; None for any other text."""
    if _DURATION.fullmatch(value) is None:
        return None
    return sum(float(count) * _UNITS[unit.lower()] for count, unit in _COUNTED.findall(value))


#: Describes, in a code or a message, an account that no wait refills. Permissions may be insufficient as well.
EMPTY = r"(?<!scope_)insufficient(?!.{0,20}(?:permission|scope))|余额"
#: The kind of an error by its status and a stem in its text; the first match decides.
WORDINGS: tuple[tuple[FailureKind, str, str], ...] = (
    ("no_completion", "400 404", r"\bPOST /"),  # the text names method and path: this address has no API
    ("context_overflow", "429", "too large"),  # larger than the tokens per minute
    ("quota_exhausted", "400 402 403 429 500", EMPTY),
    ("rate_limited", "400 403 429 500", r"rate.?limit|per.?minute|\b(?:[rt]p[md]|qps)\b"),
    ("quota_exhausted", "400 401 402 403 429 500", "budget|credit|billing"),
    ("quota_exhausted", "400 403", r"quota|\baccount|usage limit"),  # with 429 it may be a quota per minute
    (
        "context_overflow",
        "400 413 422 500",
        # a count below zero is what the prompt leaves of the context
        r"context(?! (?:deadline|cancel))|(prompt|input) \(?(is too|length)|token limit|`inputs`|\bgot -\d",
    ),
    ("filtered", "400 403 422 451 498 499", "content|flagged|guidelines|sensitive"),
    ("auth", "400 403 404", "api.(secret.)?key"),
    ("model_missing", "400 401 403 404 410 422", "(?<![a-z])models?(?![a-z])"),
)

_BY_STATUS: dict[int, FailureKind] = {
    **{int(status): kind for kind, entry in CLASSES.items() for status in re.findall(r"\d{3}", entry.status)},
    405: "no_completion",  # this address takes no calls
    408: "timeout",
    410: "model_missing",
    412: "quota_exhausted",  # Fireworks: the account is suspended
    413: "context_overflow",
    423: "conflict",
    424: "server",  # Bedrock and text-generation-inference: the model failed
    425: "conflict",
    498: "overloaded",  # Groq: no capacity for its flex tier
}
_OF_PAGES = frozenset({400, 404, 410, 421})  # statuses of web pages from servers without an API
_OF_FIREWALLS = frozenset({403, 451})  # statuses of web pages from a firewall in front of an API
_PAGE = re.compile(r"\s*<(!doctype|html)", re.IGNORECASE)

_CODE = re.compile(r"[a-z][a-z0-9_]{1,47}")
_READ = 4_000  # characters; the rest of an error's text is ignored
_CODED = ("code", "type", "status", "param")
_SAID = ("message", "msg", "error_msg", "status_msg", "detail", "reason", "raw", "quotaId")
_NAMED = ("retryDelay", "n_ctx")  # fields whose value means nothing without the name
#: Fields that hold details (Gemini, OpenRouter), the whole error (Cloudflare, MiniMax), or a relayed error.
_PARTS = ("details", "violations", "metadata", "errors", "base_resp", "error")
_WAITS = ("estimated_time", "retry_after")  # in seconds: the field of Hugging Face, and that of many gateways
_DEEPEST = 4
_CODES = ("code", "status", "http_code")
_ERROR_STATUSES = frozenset(map(str, range(400, 600)))


def from_status(status: int, body: object, headers: Mapping[str, str]) -> Failure:
    """Classify an error response, by its text before its status, since providers disagree about status codes."""
    generated = _error_in(body).get("failed_generation")  # the endpoint has rejected the model's JSON
    kind = _kind(status, body, headers) if generated is None else "not_json" if generated else "truncated"
    return _failure(status, kind, body, headers)


def from_success(body: Mapping[str, object], headers: Mapping[str, str]) -> Failure | None:
    """Classify the error in a response with a success status; None if it reports no error.

    Uses the error's own status, if it has one, or else its text alone.
    """
    error = body.get("error") or body.get("base_resp") or body.get("error_code")  # the last is Baidu's
    stated = error if isinstance(error, Mapping) else body
    codes = (str(stated.get(key)) for key in _CODES)
    status = next((int(code) for code in codes if code in _ERROR_STATUSES), None)
    if status is not None:
        return from_status(status, body, headers)
    if not error and isinstance(body.get("message"), Mapping):
        return None  # a model's text is not an error
    kind = next(_meanings(error_text(body), passed="model_missing"), None)  # every error may say "model"
    return _failure(500, kind or "server", body, headers) if kind or error else None


def _failure(status: int, kind: FailureKind, body: object, headers: Mapping[str, str]) -> Failure:
    code, text = _read(body)
    context = named_context(text) if kind == "context_overflow" else 0
    limited = kind in ("rate_limited", "quota_exhausted", "overloaded")
    wait = requested_wait(headers, text, limited=limited)
    if wait is None:
        wait = requested_wait(_headers_within(body), limited=limited)
    return Failure(kind=kind, status=status, retry_after=wait, context=context, detail=code)


def _headers_within(body: object) -> dict[str, str]:
    """Return the headers of the provider behind OpenRouter, which OpenRouter includes in its error."""
    for key in ("error", "metadata", "headers"):
        body = body.get(key) if isinstance(body, Mapping) else None
    return {str(name): str(value) for name, value in body.items()} if isinstance(body, Mapping) else {}


def error_text(body: object) -> str:
    """Return the text of an error response, to classify it, not to show it."""
    return _read(body)[1]


def _read(body: object) -> tuple[str, str]:
    """Return an error body's code ("" if it does not look like one), and its text."""
    error = _error_in(body)
    if not error:
        return "", str(body or "")[:_READ]
    codes = [str(error.get(key) or "") for key in ("code", "type")]
    code = next((c for c in codes if _CODE.fullmatch(c)), "")
    title = error.get("error")  # text beside the fields with details
    words = [*([title] if isinstance(title, str) else []), *_words(error, _DEEPEST)]
    return code, " ".join(words or _words({"details": [*error.values()]}, _DEEPEST))[:_READ]


def _error_in(body: object) -> Mapping[str, Any]:
    """Return the error object in a body; an empty one if the body is text."""
    error = body[0] if isinstance(body, list) and body else body  # Gemini sends a list of one error
    if isinstance(error, Mapping) and isinstance(error.get("error"), Mapping):
        error = error["error"]  # the usual shape; some send only the inner part
    return error if isinstance(error, Mapping) else {}


def _words(node: object, depth: int) -> Iterator[str]:
    """Yield the text of the known fields; others, such as Groq's `failed_generation`, may contain a model's text."""
    if isinstance(node, list):
        for part in node[:10]:
            yield from _words(part, depth)
    elif isinstance(node, Mapping) and depth:
        for key in (*_CODED, *_SAID, *_NAMED):
            if value := node.get(key):
                yield (f"{key} " if key in _NAMED else "") + str(value)[:_READ]
        for key in _WAITS:
            if isinstance(wait := node.get(key), int | float):
                yield f"retryDelay {wait:.3f}s"
        for key in _PARTS:
            yield from _words(node.get(key), depth - 1)


def _kind(status: int, body: object, headers: Mapping[str, str]) -> FailureKind:
    """Guess the kind of an error response."""
    text = error_text(body)
    is_page = _PAGE.match(text) is not None
    if status < 400 or (status in _OF_PAGES and is_page):
        return "no_completion"  # a redirect or a web page: this address has no API
    is_html = isinstance(body, str) and text.strip() and "html" in headers.get("Content-Type", "").lower()
    if status in _OF_FIREWALLS and (is_page or is_html):
        return "blocked"
    # An error that ends at a named time is a limit.
    is_limit = status == 429 and requested_wait(headers, text, limited=False) is not None
    meanings = _meanings(text, str(status), passed="quota_exhausted" if is_limit else None)
    return next(meanings, _BY_STATUS.get(status, "server" if status >= 500 else "bad_request"))


def _meanings(text: str, status: str = "", passed: FailureKind | None = None) -> Iterator[FailureKind]:
    """Yield the kinds that an error's text may mean, with this status or, if "", any.

    Args:
        passed: the kind to skip, unless the text describes an empty account.
    """
    for kind, statuses, words in WORDINGS:
        if status in statuses and re.search(words, text, re.IGNORECASE) and (kind != passed or words == EMPTY):
            yield kind
