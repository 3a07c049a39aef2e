"""Verdicts on endpoints: whether the end of a call is the endpoint's fault or the question's."""

from __future__ import annotations

from typing import Literal

from cogitate.workers.llm.replies.failures import Failure, FailureKind

Verdict = Literal[
    "fine",  # the endpoint answered, if only with an unusable answer
    "silent",  # the call says nothing about the endpoint
    "failing",  # the endpoint may be down: enough of these in a row open the breaker
    "hopeless",  # every call will fail until somebody changes a setting: the breaker opens at once
]

_FAILING: frozenset[FailureKind] = frozenset(
    {"connection", "timeout", "server", "overloaded", "rate_limited", "no_completion"}
)

#: What an operator must check, by the failure that opened the breaker.
WHAT_TO_CHECK: dict[str, str] = {
    "auth": "the endpoint refuses the key: check api_key, or the variable that api_key_variable names",
    "quota_exhausted": "the account has nothing left: check its quota and billing, or configure another endpoint",
    "no_completion": "what answers at base_url is no model's API: check base_url, which often ends in /v1",
    "model_missing": "the endpoint does not know the model: check model, and base_url",
}


def verdict_of(failure: Failure | None, *, sent: int) -> Verdict:
    """Return the verdict on a call's endpoint; `sent` is the number of requests that the call made.

    A 429 with a `Retry-After` is no sign of an outage: everybody waits until then.
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
