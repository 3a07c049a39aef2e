"""The classes of failed model calls: what each says is at fault, and whether asking again may help.

A class is a first guess, from a response's status and words. The gate decides by evidence what is set aside: see
`cogitate.workers.gate.endpoint_reports`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from cogitate.tasks.job import Cost

FailureKind = Literal[
    "connection",
    "dns",
    "tls",
    "proxy",
    "blocked",
    "timeout",
    "auth",
    "forbidden",
    "quota_exhausted",
    "model_missing",
    "unsupported",
    "bad_request",
    "conflict",
    "rate_limited",
    "server",
    "overloaded",
    "context_overflow",
    "filtered",
    "refused",
    "truncated",
    "empty",
    "not_json",
    "wrong_schema",
    "no_completion",
    "too_large",
]
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

Scope = Literal["prompt", "parameter", "model", "key", "account", "endpoint", "network"]
Again = Literal["now", "later", "never"]


class FailureClass(NamedTuple):
    """A class of failure."""

    scope: Scope  # what is at fault, by a first guess
    again: Again  # when the same job may ask again; never: until the request or a setting changes
    meaning: str
    status: str = ""  # the HTTP status that it stands for, if one does
    check: str = ""  # what an operator must check


CLASSES: Mapping[FailureKind, FailureClass] = {
    "connection": FailureClass("network", "later", "no connection, or one that broke before the answer was complete"),
    "dns": FailureClass(
        "network",
        "later",
        "the name of the endpoint's host, or of its proxy, has no address",
        check="the host's name has no address: check base_url, and the DNS of this machine",
    ),
    "tls": FailureClass(
        "network",
        "later",
        "no TLS connection, or a certificate that this machine does not trust",
        check="no trusted TLS connection: check base_url, what intercepts TLS on the way, and SSL_CERT_FILE",
    ),
    "proxy": FailureClass(
        "network",
        "never",
        "the proxy refuses this worker",
        status="407",
        check="the proxy refuses this worker: check user and password in HTTPS_PROXY or HTTP_PROXY, or set NO_PROXY",
    ),
    "blocked": FailureClass(
        "network",
        "later",
        "a proxy, a firewall or a login page answers in the endpoint's place",
        status="511",
        check="something between this worker and the endpoint answers in its place: check proxy, firewall, the login "
        "page of the network, and base_url",
    ),
    "timeout": FailureClass(
        "endpoint", "later", "the answer was not complete by the deadline; or the server timed out"
    ),
    "auth": FailureClass(
        "key",
        "never",
        "the endpoint does not accept the key",
        status="401",
        check="the endpoint refuses the key: check api_key, or the variable that api_key_variable names",
    ),
    "forbidden": FailureClass(
        "key",
        "never",
        "the endpoint forbids the call; which calls fail shows whether a prompt, a model or the key is at fault",
        status="403",
        check="the endpoint forbids these calls: check which models the key may use, and from where",
    ),
    "quota_exhausted": FailureClass(
        "account",
        "never",
        "the account is empty or suspended",
        status="402 or 429",
        check="the account is exhausted: check its quota and billing, or configure another endpoint",
    ),
    "model_missing": FailureClass(
        "model",
        "never",
        "the endpoint does not offer the model",
        status="404",
        check="the endpoint does not know the model: check model, and base_url",
    ),
    "unsupported": FailureClass("parameter", "now", "a part of the request is refused; the next call omits it"),
    "bad_request": FailureClass(
        "prompt", "never", "the endpoint refuses the request and names no known cause", status="4xx"
    ),
    "conflict": FailureClass("prompt", "later", "the request conflicts with another one", status="409"),
    "rate_limited": FailureClass("model", "later", "a limit of requests or tokens is used up", status="429"),
    "server": FailureClass("endpoint", "later", "the server failed", status="5xx"),
    "overloaded": FailureClass("endpoint", "later", "the server is busy, or loads the model", status="503 or 529"),
    "context_overflow": FailureClass("prompt", "never", "the prompt is too long; a shorter one may be asked"),
    "filtered": FailureClass("prompt", "never", "a content filter stopped prompt or answer"),
    "refused": FailureClass("prompt", "now", "the model declined"),
    "truncated": FailureClass("prompt", "now", "the answer reached its cap of tokens"),
    "empty": FailureClass("prompt", "now", "no choices, or no text"),
    "not_json": FailureClass("prompt", "now", "no JSON object in the answer, or broken JSON in the response"),
    "wrong_schema": FailureClass("prompt", "now", "a JSON object that does not match the schema"),
    "no_completion": FailureClass(
        "endpoint",
        "later",
        "the response is not a model's: a web page, another service",
        check="base_url does not lead to a model's API: check it; it often ends in /v1",
    ),
    "too_large": FailureClass("prompt", "never", "the response exceeded the cap in bytes"),
}

#: The HTTP status that a class stands for.
STATUS: Mapping[str, str] = {kind: one.status for kind, one in CLASSES.items() if one.status}

#: What is not the prompt's fault: another model, or one at another endpoint, may answer.
NOT_OF_PROMPTS: frozenset[FailureKind] = frozenset(
    kind for kind, one in CLASSES.items() if one.scope not in ("prompt", "parameter")
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
    saved: bool = False  # it was the answer to another call, so it costs this one nothing

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.failure is not None and self.failure.retryable
