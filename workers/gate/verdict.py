"""Verdicts on calls: what one says about its prompt, its model and its endpoint.

The class of a failure is a guess from its status and words. What decides is which calls fail (`leave.lua`): a refusal
sets its model aside once different prompts have met it and none succeeded, and the endpoint once that holds of a second
model. So a prompt that an endpoint refuses costs its own job only, and a model that a key may not use only its jobs.
"""

from __future__ import annotations

from typing import Literal

from cogitate.workers.llm.replies.failures import CLASSES, Failure

Verdict = Literal[
    "fine",  # the model answered, usably or not
    "silent",  # the call says nothing about the endpoint
    "failing",  # the endpoint or the model may be down: enough of these in a row set it aside
    "limited",  # as failing, and fewer calls may be in flight
    "refused",  # the prompt, the model, the key or the account is refused
]

#: What an operator must check, by the failure for which an endpoint or a model is set aside.
WHAT_TO_CHECK: dict[str, str] = {kind: one.check for kind, one in CLASSES.items() if one.check}


def verdict_of(failure: Failure | None, *, sent: int) -> Verdict:
    """Return the verdict on a call; `sent` is the number of requests that it made.

    A 429 with a `Retry-After` does not indicate an outage: all calls of its model wait until then.
    """
    if failure is None:
        return "fine"
    if failure.kind == "unsupported" or (failure.kind == "timeout" and not sent):
        return "silent"  # a part of the request is at fault, or the deadline passed before it began
    if failure.kind == "rate_limited":
        return "limited" if failure.retry_after is None else "silent"
    if failure.kind == "overloaded" and failure.retry_after is None:
        return "limited"
    found = CLASSES[failure.kind]
    if found.scope == "network":
        return "failing"  # whatever is asked
    if found.again == "never" and failure.kind != "context_overflow" and failure.status is not None:
        return "refused"
    return "failing" if found.scope in ("endpoint", "network") else "fine"
