"""One attempt at a job: what is left to the next claim, what ends with the heuristic, and what counts as spent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from cogitate.tasks.job import Cost
from cogitate.tasks.registry import register
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs import attempt as module
from cogitate.workers.jobs.attempt import AttemptOutcome
from cogitate.workers.jobs.stored_texts import AnswerRecord
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.unit.tasks.own_kind_case import Own, Said
from tests.unit.workers.attempts_case import (
    RESERVED,
    USED,
    attempt,
    failed,
)


@pytest.fixture(autouse=True)
def own_kind() -> None:
    register(Own(output_cap=50))


def test_a_process_that_stops_leaves_the_job_to_the_next_claim_for_nothing() -> None:
    for number in (1, 3):
        assert attempt(Refused("stopping"), number=number) == AttemptOutcome(None, Cost())


def test_the_last_claim_ends_with_the_heuristic_even_as_its_process_stops() -> None:
    outcome = attempt(Refused("stopping"), number=4)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.failure, outcome.used) == ("heuristic", "stopping", Cost())
    assert outcome.result.effects


@pytest.mark.parametrize("why", ["breaker_open", "real_day_spent", "rate_limited_here", "unknown_endpoint"])
def test_a_forbidden_call_ends_with_the_heuristic_at_once(why: str) -> None:
    outcome = attempt(Refused(why, "auth"), number=1)
    assert outcome.result is not None
    told = outcome.result.source, outcome.result.reason, outcome.result.failure, outcome.result.because
    assert told == ("heuristic", "failed", why, "auth")
    assert (outcome.result.usage, outcome.used, outcome.result.model) == (Cost(), Cost(), "default")


def test_a_call_that_raised_counts_as_fully_spent() -> None:
    outcome = attempt(RuntimeError("somewhere"), number=1)
    assert outcome.result is not None
    assert (outcome.result.usage, outcome.used, outcome.result.unreported) == (RESERVED, RESERVED, True)
    assert (outcome.result.failure, outcome.failure) == ("asking_failed", "asking_failed")
    assert (outcome.result.source, outcome.result.reason, outcome.result.model) == ("heuristic", "failed", "default")


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("layer", ["record", "judge", "failed", "result"])
def test_a_workers_fault_after_a_paid_call_ends_with_the_heuristic_and_the_cost(
    monkeypatch: pytest.MonkeyPatch, layer: str, saved: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("somewhere")

    broken = {
        "record": (AnswerRecord, "keep"),
        "judge": (module, "judge"),
        "failed": (module, "adjusted"),
        "result": (module, "result_of"),
    }[layer]
    monkeypatch.setattr(*broken, fail)
    answer = ModelAnswer(usage=USED, value=Said(text="La."), prompt_tokens=9)
    given = replace(answer, saved=saved) if layer != "failed" else replace(failed("server"), saved=saved)
    outcome = attempt(given, number=1, record=layer == "record")
    spent = Cost() if saved else USED
    assert outcome.result is not None
    assert (outcome.used, outcome.result.usage, outcome.result.unreported) == (spent, spent, False)
    assert (outcome.result.source, outcome.result.failure, outcome.failure) == (
        "heuristic",
        "asking_failed",
        "asking_failed",
    )
    assert outcome.result.effects


@pytest.mark.parametrize("record", [True, False])
def test_an_answer_is_recorded_only_on_request(monkeypatch: pytest.MonkeyPatch, record: bool) -> None:
    kept: list[object] = []
    monkeypatch.setattr(AnswerRecord, "keep", lambda *told: kept.append(told))
    attempt(ModelAnswer(usage=USED, value=Said(text="La."), prompt_tokens=9), number=1, record=record)
    assert len(kept) == record


@pytest.mark.parametrize(("over", "saved", "events"), [(0, False, []), (1, False, ["job.overran"]), (1, True, [])])
def test_an_overrun_is_logged_unless_the_answer_was_saved(over: int, saved: bool, events: list[str]) -> None:
    usage = Cost(calls=1, tokens=RESERVED.tokens + over)
    with capture_logs() as logs:
        attempt(ModelAnswer(usage=usage, value=Said(text="La."), saved=saved), number=1)
    assert [entry["event"] for entry in logs] == events


def test_a_failure_that_may_pass_is_tried_again_after_a_pause_that_doubles() -> None:
    for number, pause in ((1, 0.2), (2, 0.4), (3, 0.8)):
        outcome = attempt(failed("server"), number=number)
        assert (outcome.result, outcome.used, outcome.failure, outcome.pause) == (None, USED, "server", pause)


def test_the_provider_sets_the_pause_and_no_attempt_exceeds_the_deadline() -> None:
    assert attempt(failed("rate_limited", retry_after=7.0), number=2).pause == 7.0
    late = attempt(failed("rate_limited", retry_after=100.0), number=2)
    assert late.result is not None
    assert (late.result.source, late.result.failure, late.result.usage, late.used) == (
        "heuristic",
        "rate_limited",
        USED,
        USED,
    )


@pytest.mark.parametrize(("saved", "source", "used"), [(False, "llm", USED), (True, "cached", Cost())])
def test_a_saved_call_is_marked_and_costs_no_second_time(saved: bool, source: str, used: Cost) -> None:
    outcome = attempt(ModelAnswer(usage=USED, value=Said(text="La."), saved=saved), number=1)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.saved, outcome.result.usage) == (source, saved, USED)
    assert (outcome.used, outcome.result.model) == (used, "default")


def test_the_last_claim_of_a_call_that_failed_ends_with_the_heuristic() -> None:
    outcome = attempt(failed("server"), number=4)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.model, outcome.pause) == ("heuristic", "default", 0.0)
