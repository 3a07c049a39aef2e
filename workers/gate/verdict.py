"""What the end of a call says about its endpoint, as against the question that was asked."""

from __future__ import annotations

from typing import Literal

from workers.llm.failures import Failure, FailureKind

Verdict = Literal[
    "fine",  # the endpoint answered, be it with an answer that is of no use
    "silent",  # nothing is known about it
    "failing",  # it may be down: enough of these in a row open the breaker
    "hopeless",  # every call will end so until a setting is changed: opens the breaker at once
]

_FAILING: frozenset[FailureKind] = frozenset({"connection", "timeout", "server", "overloaded", "rate_limited"})

#: What an operator must look at, by what opened the breaker for good.
WHAT_TO_CHECK: dict[str, str] = {
    "auth": "the endpoint refuses the key: check api_key, or the variable that api_key_variable names",
    "quota_exhausted": "the account has nothing left: check its quota and billing, or configure another endpoint",
    "model_missing": "the endpoint does not know the model: check model, and base_url",
}


def verdict_of(failure: Failure | None, *, sent: int) -> Verdict:
    """What a call's failure says about its endpoint; `sent` is how many requests it made.

    A 429 that says when to come again is no sign of an outage: everybody waits until then.
    """
    if failure is None:
        return "fine"
    if failure.kind in ("auth", "quota_exhausted"):
        return "hopeless"
    if failure.kind == "timeout" and not sent:
        return "silent"  # its deadline was over before it began
    if failure.kind == "rate_limited" and failure.retry_after is not None:
        return "silent"
    return "failing" if failure.kind in _FAILING else "fine"
