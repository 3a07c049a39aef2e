"""The classes of failure used as a metric's label: a closed set, since each value creates a time series."""

from __future__ import annotations

from typing import get_args

from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, PROMPT_FAILED
from cogitate.scheduler.ledger.claims import UNUSABLE, split_failure
from cogitate.scheduler.ledger.real_day import Refused as DayRefused
from cogitate.workers.gate.gate import Why
from cogitate.workers.jobs.call_layers import ASKING_FAILED
from cogitate.workers.llm.replies.failures import FAILURE_KINDS

UNMET = "unmet"  # the precondition of a result did not hold at its boundary
OTHER = "other"  # any unknown text
FAILURE_CLASSES: frozenset[str] = frozenset(
    {
        "",
        *FAILURE_KINDS,
        *get_args(Why),
        *get_args(DayRefused),
        "unknown_endpoint",
        "prompt_too_long",
        PROMPT_FAILED,
        ASKING_FAILED,
        UNUSABLE,
        EFFECTS_REFUSED,
        UNMET,
        OTHER,
    }
)


def failure_class(failure: str) -> str:
    """Return the class of a failure as a label, without the check of an unusable answer."""
    kind, _ = split_failure(failure)
    return kind if kind in FAILURE_CLASSES and bool(kind) == bool(failure) else OTHER
