"""The classes of failed model calls: what is at fault in each, and whether asking again may help.

A class is a first guess from a response's status and text. The gate decides by evidence what it sets aside (see
`cogitate.workers.gate.endpoint_reports`). A call returns a `ModelAnswer`: a value or a failure, and its cost.
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
    status: str = ""  # its usual HTTP status, if any
    check: str = ""  # what an operator must check


CLASSES: Mapping[FailureKind, FailureClass] = typed_json.convert(
    tomllib.loads((resources.files(__package__) / "failure_classes.toml").read_text(encoding="utf-8")),
    dict[FailureKind, FailureClass],
)

#: The usual HTTP status of each class that has one.
STATUS: Mapping[str, str] = {kind: entry.status for kind, entry in CLASSES.items() if entry.status}

#: Failures that are not the prompt's fault: another model, or one at another endpoint, may answer.
NOT_OF_PROMPTS: frozenset[FailureKind] = frozenset(
    kind for kind, entry in CLASSES.items() if entry.scope not in ("prompt", "parameter", "deadline")
)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The reason why there is no usable answer."""

    kind: FailureKind
    status: int | None = None  # of the HTTP response, if any
    retry_after: float | None = None  # seconds the provider asked to wait
    context: int = 0  # tokens that prompt and answer may have together, if the error names the number
    detail: str = ""  # for logs: an error code or the path of a wrong value; never a provider's or model's text
    of_tier: bool = False  # it may concern only the requested service tier; the standard one may answer

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
    """Return the paths of at most three errors of validation, such as "activities.0.time: missing".

    Names come from the answer's keys and may be a model's words: anything but a plain name becomes "?".
    """
    places = []
    for error in errors[:3]:
        path = ".".join(str(p) if re.fullmatch(r"\w{1,32}", str(p), re.ASCII) else "?" for p in error["loc"])
        places.append(f"{path or 'answer'}: {error['type']}")
    return "; ".join(places)


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """A model's answer to one question: a value or a failure, never both, and its cost."""

    usage: Cost  # calls: requests sent; tokens: prompt and output, including reasoning
    estimated: bool = False  # a part of the usage is a high estimate, since the endpoint did not report it
    value: BaseModel | None = None
    failure: Failure | None = None
    prompt_tokens: int = 0  # as reported by the endpoint; 0: not reported
    reasoning: int = 0  # reasoning tokens in the output, as reported by the endpoint
    text: str = field(default="", repr=False)  # the model's text, usable or not
    packed: int = 0  # cases in the request; 0: this one alone
    service_tier: str = ""  # the tier that answered, as the endpoint reports it
    discount: int = 0  # micro-dollars more that the standard service tier would have cost
    saved: bool = False  # a copy of another call's answer, which costs nothing

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.failure is not None and self.failure.retryable
