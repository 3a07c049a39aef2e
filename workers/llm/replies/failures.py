"""The classes of failed model calls: what each says is at fault, and whether asking again may help.

A class is a first guess, from a response's status and words. The gate decides by evidence what is set aside: see
`cogitate.workers.gate.endpoint_reports`. A call returns a `ModelAnswer`: a value or a failure, and its cost.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from cogitate.memory import typed_json
from cogitate.tasks.job import Cost

_Unreached = Literal["connection", "dns", "tls", "proxy", "blocked", "timeout", "no_time"]
_Denied = Literal["auth", "forbidden", "quota_exhausted", "model_missing", "unsupported", "bad_request", "conflict"]
_Busy = Literal["rate_limited", "server", "overloaded"]
_NoText = Literal["context_overflow", "filtered", "refused", "truncated", "empty"]
_Unreadable = Literal["not_json", "wrong_schema", "no_completion", "too_large"]
FailureKind = Literal[_Unreached, _Denied, _Busy, _NoText, _Unreadable]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

Scope = Literal["prompt", "parameter", "model", "key", "account", "endpoint", "network", "deadline"]
Again = Literal["now", "later", "never"]


@dataclass(frozen=True)
class FailureClass:
    """A class of failure."""

    scope: Scope  # what is at fault, by a first guess
    again: Again  # when the same job may ask again; never: until the request or a setting changes
    meaning: str
    status: str = ""  # the HTTP status that it stands for, if one does
    check: str = ""  # what an operator must check


CLASSES: Mapping[FailureKind, FailureClass] = typed_json.convert(
    tomllib.loads((resources.files(__package__) / "failure_classes.toml").read_text(encoding="utf-8")),
    dict[FailureKind, FailureClass],
)

#: The HTTP status that a class stands for.
STATUS: Mapping[str, str] = {kind: one.status for kind, one in CLASSES.items() if one.status}

#: What is not the prompt's fault: another model, or one at another endpoint, may answer.
NOT_OF_PROMPTS: frozenset[FailureKind] = frozenset(
    kind for kind, one in CLASSES.items() if one.scope not in ("prompt", "parameter", "deadline")
)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The reason why there is no usable answer."""

    kind: FailureKind
    status: int | None = None  # of the HTTP response, if any
    retry_after: float | None = None  # seconds the provider asked to wait
    context: int = 0  # tokens that prompt and answer may have together, if the error names them
    detail: str = ""  # for logs: an error code or the place of a wrong value; never a provider's or model's text
    of_tier: bool = False  # it may concern only the service tier that was asked for; the standard one may answer

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return CLASSES[self.kind].again != "never"


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


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """A model's answer to one question: a value or a failure, never both, and its cost."""

    usage: Cost  # calls: requests that were sent; tokens: prompt and output, reasoning included
    estimated: bool = False  # part of the usage was not reported and is a high estimate
    value: BaseModel | None = None
    failure: Failure | None = None
    prompt_tokens: int = 0  # as reported by the endpoint; 0: not reported
    reasoning: int = 0  # reasoning tokens in the output, as reported by the endpoint
    text: str = field(default="", repr=False)  # the model's text, usable or not
    packed: int = 0  # cases that one request asked; 0: it asked this one alone
    service_tier: str = ""  # that answered, as the endpoint reports
    discount: int = 0  # micro-dollars more that the standard service tier would have cost
    saved: bool = False  # it was the answer to another call, so it costs this one nothing

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.failure is not None and self.failure.retryable
