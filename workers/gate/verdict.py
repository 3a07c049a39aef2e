"""Verdicts on endpoints: whether a failed call is the endpoint's fault or the question's."""

from __future__ import annotations

from typing import Literal

from cogitate.workers.llm.replies.failures import Failure, FailureKind

Verdict = Literal[
    "fine",  # the endpoint answered, usably or not
    "silent",  # the call says nothing about the endpoint
    "failing",  # the endpoint may be down: enough of these in a row open the breaker
    "hopeless",  # every call fails until a setting changes: the breaker opens immediately
]

_FAILING: frozenset[FailureKind] = frozenset(
    {"connection", "timeout", "server", "overloaded", "rate_limited", "no_completion"}
)

#: What an operator must check, by the failure that opened the breaker.
WHAT_TO_CHECK: dict[str, str] = {
    "auth": "the endpoint refuses the key: check api_key, or the variable that api_key_variable names",
    "quota_exhausted": "the account is exhausted: check its quota and billing, or configure another endpoint",
    "no_completion": "base_url does not lead to a model's API: check it; it often ends in /v1",
    "model_missing": "the endpoint does not know the model: check model, and base_url",
}


def verdict_of(failure: Failure | None, *, sent: int) -> Verdict:
    """Return the verdict on a call's endpoint; `sent` is the number of requests that the call made.

    A 429 with a `Retry-After` does not indicate an outage: all calls wait until then.
    """
    if failure is None:
        return "fine"
    if failure.kind in ("auth", "quota_exhausted"):
        return "hopeless"
    if failure.kind == "timeout" and not sent:
        return "silent"  # its deadline passed before it began
    if failure.kind == "rate_limited" and failure.retry_after is not None:
        return "silent"
    return "failing" if failure.kind in _FAILING else "fine"
