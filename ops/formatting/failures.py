"""Formatting of classes of failure."""

from __future__ import annotations

from cogitate.scheduler.ledger.claims import split_failure
from cogitate.workers.llm.replies.failures import STATUS

_SHOWN = {"server": "server error"}


def format_class(failure: str) -> str:
    """Return a class of failure with the HTTP status that it stands for, such as "server error 5xx", or its check.

    Other texts, such as a host's error class or a precondition, stay unchanged.
    """
    failure, check = split_failure(failure)
    if check:
        return f"{failure} ({check.replace('_', ' ')})"
    return f"{_SHOWN.get(failure, failure)} {STATUS[failure]}" if failure in STATUS else failure
