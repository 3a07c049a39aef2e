"""One attempt at a job whose model is not asked: what is left to the next claim, and what ends with the heuristic."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fakeredis import FakeRedis

from memory.profile import Profile
from scheduler.config.endpoints import Endpoint, Model
from scheduler.config.settings import Settings
from scheduler.ledger.claims import Claim
from tasks import registry
from tasks.job import Cost, Job, JobKey
from tasks.kind import Case, WorldFacts
from tasks.registry import register
from tests.unit.tasks.own_kind_case import Own, Said
from workers.jobs.attempt import NO_ADJUSTMENT, AttemptOutcome, Attempts
from workers.jobs.shared_calls import CallResult, NotAsked
from workers.llm.answer import ModelAnswer
from workers.llm.failures import Failure, FailureKind

RESERVED, USED = Cost(calls=1, tokens=500), Cost(calls=1, tokens=120)
JOB = Job(
    run="town", key=JobKey(3, "hum", "agent:ada", 0, 0), minute=3, due=9, reads=(), model="default", prompt_cap=1_000,
    output_cap=50, reserved=RESERVED,
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_kind() -> Iterator[None]:
    before = dict(registry._kinds)
    register(Own(output_cap=50))
    yield
    registry._kinds.clear()
    registry._kinds.update(before)


class Calls:
    """Calls that come to what a test says."""

    def __init__(self, gives: CallResult | NotAsked | Exception) -> None:
        self.gives = gives

    def ask(self, *args: Any) -> CallResult | NotAsked:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


def attempt(gives: CallResult | NotAsked | Exception, *, number: int, seconds: float = 60.0) -> AttemptOutcome:
    """What comes of a claim of four."""
    models: Any = None
    chosen = Settings(endpoints={"ours": Endpoint()})
    attempts = Attempts(FakeRedis(), chosen, models, threading.Event())
    attempts.close()
    calls: Any = Calls(gives)
    attempts._calls = calls
    case = Case(job=JOB, profile=Profile(name="Ada"), world=WorldFacts(), memories={"agent:ada": []})
    model = Model(name="default", model="m", endpoint="ours")
    claim = Claim(incarnation="now", token="t", number=number, cap=4, case=case, model=model)
    return attempts.make(claim, time.monotonic() + seconds, NO_ADJUSTMENT)


def failed(kind: FailureKind, *, retry_after: float | None = None) -> CallResult:
    return CallResult(ModelAnswer(usage=USED, failure=Failure(kind=kind, retry_after=retry_after)), saved=False)


def test_a_process_that_stops_leaves_the_job_to_the_next_claim_for_nothing() -> None:
    for number in (1, 3):
        assert attempt(NotAsked("stopping"), number=number) == AttemptOutcome(None, Cost())


def test_the_last_claim_ends_with_the_heuristic_even_as_its_process_stops() -> None:
    outcome = attempt(NotAsked("stopping"), number=4)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.failure, outcome.used) == ("heuristic", "stopping", Cost())
    assert outcome.result.effects


@pytest.mark.parametrize("why", ["breaker_open", "real_day_spent", "rate_limited_here", "unknown_endpoint"])
def test_what_may_not_be_asked_ends_with_the_heuristic_at_once(why: str) -> None:
    outcome = attempt(NotAsked(why, "auth"), number=1)
    assert outcome.result is not None
    told = outcome.result.source, outcome.result.reason, outcome.result.failure, outcome.result.because
    assert told == ("heuristic", "failed", why, "auth")
    assert (outcome.result.usage, outcome.used, outcome.result.model) == (Cost(), Cost(), "default")


def test_of_a_call_that_raised_the_whole_reservation_counts_as_spent() -> None:
    outcome = attempt(RuntimeError("somewhere"), number=1)
    assert outcome.result is not None
    assert (outcome.result.usage, outcome.used, outcome.result.unreported) == (RESERVED, RESERVED, True)
    assert (outcome.result.failure, outcome.failure) == ("asking_failed", "asking_failed")


def test_a_failure_that_may_pass_is_tried_again_after_a_pause_that_doubles() -> None:
    for number, pause in ((1, 0.2), (2, 0.4), (3, 0.8)):
        outcome = attempt(failed("server"), number=number)
        assert (outcome.result, outcome.used, outcome.failure, outcome.pause) == (None, USED, "server", pause)


def test_the_provider_says_how_long_the_pause_is_and_beyond_the_deadline_nothing_is_tried_again() -> None:
    assert attempt(failed("rate_limited", retry_after=7.0), number=2).pause == 7.0
    late = attempt(failed("rate_limited", retry_after=100.0), number=2)
    assert late.result is not None
    assert (late.result.source, late.result.failure, late.result.usage, late.used) == (
        "heuristic", "rate_limited", USED, USED,
    )  # fmt: skip


@pytest.mark.parametrize(("saved", "source", "used"), [(False, "llm", USED), (True, "cached", Cost())])
def test_an_answer_says_whether_a_call_was_saved_and_then_nothing_was_spent(
    saved: bool, source: str, used: Cost
) -> None:
    outcome = attempt(CallResult(ModelAnswer(usage=USED, value=Said(text="La.")), saved=saved), number=1)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.saved, outcome.result.usage) == (source, saved, USED)
    assert (outcome.used, outcome.result.model) == (used, "default")


def test_the_last_claim_of_a_call_that_failed_ends_with_the_heuristic() -> None:
    outcome = attempt(failed("server"), number=4)
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.model, outcome.pause) == ("heuristic", "default", 0.0)
