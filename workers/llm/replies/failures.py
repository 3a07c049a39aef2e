"""The failures of model calls, by stable name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic_core import ErrorDetails

FailureKind = Literal[
    "connection",  # refused, reset, closed, or no connection in time
    "timeout",  # sent, but the answer was not complete by the deadline; or the server timed out (408)
    "auth",
    "quota_exhausted",  # an empty account: waiting does not help
    "model_missing",
    "unsupported",  # the endpoint refuses this dialect; the next call omits what it refuses
    "bad_request",  # this request can never succeed
    "conflict",
    "rate_limited",
    "server",
    "overloaded",
    "context_overflow",  # the prompt is too long for the model
    "filtered",  # a content filter stopped prompt or answer
    "refused",  # the model declined
    "truncated",  # the answer reached its cap of tokens
    "empty",  # no choices, or no text
    "not_json",  # no JSON object in the answer, or broken JSON in the response
    "wrong_schema",  # a JSON object that does not match the schema
    "no_completion",  # the response is not a model's: a web page, another service; the URL may be wrong
    "too_large",  # the response exceeded the cap in bytes
]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

#: The HTTP status that a class stands for.
STATUS: Mapping[str, str] = {
    "auth": "401 or 403",
    "quota_exhausted": "402 or 429",
    "model_missing": "404",
    "bad_request": "4xx",
    "conflict": "409",
    "rate_limited": "429",
    "server": "5xx",
    "overloaded": "503 or 529",
}

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
        "no_completion",
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
    status: int | None = None  # of the HTTP response, if any
    retry_after: float | None = None  # seconds the provider asked to wait
    context: int = 0  # tokens that prompt and answer may have together, if the error names them
    detail: str = ""  # for logs: an error code or the place of a wrong value; never a provider's or model's text

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.kind in RETRYABLE


def charged_in_doubt(failure: Failure) -> bool:
    """Return whether the provider may have done, and charged for, work whose usage it never reported.

    No known provider charges for error responses, except when a gateway stopped waiting.
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
