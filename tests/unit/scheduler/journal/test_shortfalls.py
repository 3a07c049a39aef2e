"""Which ends of jobs say that a model gave no answer of use, and what is told of them together."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED
from cogitate.scheduler.journal.ends import Shortfall, Shortfalls, note_shortfall
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.scheduler_case import ANN


def noted(
    found: Shortfalls,
    tick: int = 5,
    *,
    model: str = "small",
    kind: str = "plan",
    reason: Any = "failed",
    end: Any = "applied",
    failure: str = "timeout",
    because: str = "",
    attempts: int = 1,
) -> Shortfalls:
    key = JobKey(1, kind, ANN, 0, 0)
    note = EndNote(key=key, source="heuristic", failure=failure, because=because, attempts=attempts)
    note_shortfall(found, Ended(key=key, end=end, reason=reason), note, model, tick, 10 * tick)
    return found


@pytest.mark.parametrize("reason", ["failed", "late", "dead"])
def test_a_failure_that_left_a_job_without_its_models_answer_is_noted(reason: Any) -> None:
    assert [*noted({}, reason=reason).values()] == [
        Shortfall(
            model="small",
            failure="timeout",
            because="",
            first=5,
            first_minute=50,
            last=5,
            last_minute=50,
            kinds={"plan": 1},
        )
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"model": ""},
        {"failure": ""},
        {"failure": EFFECTS_REFUSED},
        {"reason": "none"},
        {"reason": "denied"},
        {"reason": "too_slow"},
        {"reason": "cancelled"},
        {"end": "stale"},
        {"model": "", "failure": ""},
        {"reason": "late", "failure": ""},
        {"reason": "dead", "failure": "", "attempts": 0},
        {"reason": "late", "failure": "", "attempts": 0, "model": ""},
    ],
)
def test_other_ends_are_not_shortfalls(other: dict[str, Any]) -> None:
    assert noted({}, **other) == {}


def test_a_late_job_that_no_worker_claimed_is_a_shortfall() -> None:
    (found,) = noted({}, reason="late", failure="", attempts=0).values()
    assert (found.failure, found.kinds) == ("unclaimed", {"plan": 1})


def test_one_model_and_cause_is_one_shortfall_with_counts_by_kind() -> None:
    found: Shortfalls = {}
    for tick, kind in ((5, "plan"), (7, "act"), (9, "plan")):
        noted(found, tick, kind=kind)
    noted(found, 8, model="large")
    noted(found, 8, failure="breaker_open", because="server")
    noted(found, 9, failure="breaker_open", because="timeout")
    assert [
        (one.model, one.failure, one.because, one.first, one.first_minute, one.last, one.last_minute, one.kinds)
        for one in found.values()
    ] == [
        ("small", "timeout", "", 5, 50, 9, 90, {"plan": 2, "act": 1}),
        ("large", "timeout", "", 8, 80, 8, 80, {"plan": 1}),
        ("small", "breaker_open", "server", 8, 80, 8, 80, {"plan": 1}),
        ("small", "breaker_open", "timeout", 9, 90, 9, 90, {"plan": 1}),
    ]
