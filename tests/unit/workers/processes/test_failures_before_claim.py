"""Failures before a claim: counted in turn, and the end of a worker that has no other outcome."""

from __future__ import annotations

from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.workers.processes.worker_process import MOST_IN_TURN, FailuresBeforeClaim, reason_of


def test_a_worker_without_claims_ends_once_with_a_reason() -> None:
    ends: list[str] = []
    failures = FailuresBeforeClaim()
    failures.end_with(lambda: ends.append("end"))
    with capture_logs() as logs:
        for _ in range(MOST_IN_TURN - 1):
            failures.failed("no template")
        assert (ends, failures.useless) == ([], False)
        for _ in range(3):
            failures.failed("no template")
    assert (ends, failures.useless) == (["end"], True)
    assert [(log["event"], log["why"]) for log in logs] == [
        ("worker.cannot_claim", "no template"),
        ("worker.useless", "no template"),
    ]


def test_a_claim_ends_a_row_of_failures_but_not_the_end_of_a_worker() -> None:
    failures = FailuresBeforeClaim()
    for _ in range(MOST_IN_TURN - 1):
        failures.failed("away")
    failures.claimed()
    assert failures.in_turn == 0
    for _ in range(MOST_IN_TURN):
        failures.failed("away")
    failures.claimed()
    assert failures.useless, "a claim that was under way does not revoke it"


def test_a_reason_is_one_line_and_names_the_class_of_a_foreign_error() -> None:
    assert reason_of(ConfigurationError("no\n folder")) == "no folder"
    assert reason_of(ZeroDivisionError("by zero")) == "ZeroDivisionError: by zero"
