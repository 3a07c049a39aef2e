"""Running a job: as often as its attempts are freed, and settled whatever the ledger does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as Away
from structlog.testing import capture_logs

from cogitate.memory.profile import Profile
from cogitate.ops.flower.patches import with_true_state
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import BACKOFF, Claim, Result, Tried, endpoint_hints, trial_hints
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.workers.jobs import runner as module
from cogitate.workers.jobs.attempt import AttemptOutcome
from cogitate.workers.jobs.candidates import NO_ADJUSTMENT, Adjustment
from cogitate.workers.jobs.runner import Outcome, Runner

JOB = Job(run="town", key=JobKey(3, "plan", "agent:a", 0, 0), minute=3, due=9, reads=(), model="default")
USED = Cost(calls=1, tokens=7)
ANSWER = Result(effects=(), source="llm", usage=USED)
FREED = AttemptOutcome(None, USED, 0.0, "server")


def claim(number: int) -> Claim:
    case = Case(job=JOB, profile=Profile(name="A"), world=WorldFacts(), memories={})
    return Claim(incarnation="now", token=f"t{number}", number=number, cap=4, case=case)


class Ledger:
    """Claims that a test gives out, and what was settled with them."""

    def __init__(self, gives: list[Any], settles: list[Any]) -> None:
        self.gives, self.settles = gives, settles
        self.settled: list[tuple[str, Result | None, Cost, str]] = []
        self.tries: list[tuple[Tried, ...]] = []  # apart, as they tell real seconds
        self.trials: dict[str, str] = {}

    def claim(self, job_id: str) -> Any:
        return self.gives.pop(0)

    def settle(self, claim: Claim, result: Result | None, used: Cost, failure: str) -> Any:
        if result is not None:
            self.tries.append(result.tries)
            result = msgspec.structs.replace(result, tries=())
        self.settled.append((claim.token, result, used, failure))
        answer = self.settles.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def mark_trial(self, run: str, key: JobKey, *, was: str, now: str) -> bool:
        if self.trials.get(key.owner, "asked") != was:
            return False
        self.trials[key.owner] = now
        return True


class Worker:
    """A runner whose attempts end as a test says."""

    def __init__(self, gives: list[Any], settles: list[Any], *outcomes: AttemptOutcome) -> None:
        self.ledger = Ledger(gives, settles)
        self.outcomes = list(outcomes)
        self.adjustments: list[Adjustment] = []
        self.kept: list[Result] = []
        self.beating: list[tuple[str, str]] = []
        self.probed: list[str] = []
        made: Any = self
        self.runner = Runner(FakeRedis(), made.ledger, made, Settings(), made)
        self.runner._attempts = self.runner._calls = made

    @contextmanager
    def of(self, run: str, incarnation: str) -> Iterator[None]:
        self.beating.append((run, incarnation))
        yield
        self.beating.pop()

    def make(self, claim: Claim, deadline: float, adjustment: Adjustment) -> AttemptOutcome:
        assert self.beating == [("town", "now")]
        assert 0 < deadline - time.monotonic() <= Settings().job_deadline
        self.adjustments.append(adjustment)
        return self.outcomes.pop(0)

    def keep(self, claim: Claim, result: Result, used: Cost) -> None:
        self.kept.append(msgspec.structs.replace(result, tries=()))

    def probe(self, endpoint: str) -> None:
        assert self.ledger.trials == {f"readiness:{endpoint}": "taken"}
        self.probed.append(endpoint)

    def run(self) -> Any:
        return self.runner.run(JOB.id).settled


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def test_a_job_that_is_settled_is_claimed_once() -> None:
    worker = Worker([claim(1)], ["staged"], AttemptOutcome(ANSWER, USED))
    assert worker.run() == "staged"
    assert worker.ledger.settled == [("t1", ANSWER, USED, "")]
    assert worker.adjustments == [NO_ADJUSTMENT]
    assert worker.kept == [ANSWER]


def test_a_freed_job_is_retried_with_the_learned_adjustment() -> None:
    adjustment = Adjustment(halved=True)
    worker = Worker(
        [claim(1), claim(2)], ["freed", "staged"], FREED._replace(adjustment=adjustment), AttemptOutcome(ANSWER, USED)
    )
    assert worker.run() == "staged"
    assert [(token, failure) for token, _, _, failure in worker.ledger.settled] == [("t1", "server"), ("t2", "")]
    assert worker.adjustments == [NO_ADJUSTMENT, adjustment]


def test_a_result_lists_duration_and_usage_of_each_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter([0.0, 10.0, 12.5, 12.5, 20.0, 20.25, 20.25])  # the deadline, then each attempt's begin and ends
    monkeypatch.setattr(Worker, "make", lambda self, *_: self.outcomes.pop(0))
    worker = Worker(
        [claim(1), claim(2)],
        ["freed", "staged"],
        FREED._replace(adjustment=Adjustment(model="other")),
        AttemptOutcome(msgspec.structs.replace(ANSWER, model="other"), USED),
    )
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: next(now))
        assert worker.run() == "staged"
    assert worker.ledger.tries == [(Tried(1, 2500, USED, "default", "server"), Tried(2, 250, USED, "other"))]


@pytest.mark.parametrize(
    ("result", "failure", "counted"),
    [
        (ANSWER, "", ("plan", "llm", "", 2.5, "default", 7)),
        (msgspec.structs.replace(ANSWER, model="other"), "", ("plan", "llm", "", 2.5, "other", 7)),
        (Result(effects=(), source="heuristic"), "no_slot", ("plan", "heuristic", "no_slot", 2.5, "default", 7)),
        (None, "server", ("plan", "none", "server", 2.5, "default", 7)),
    ],
)
def test_an_attempt_is_counted_by_its_kind_source_failure_and_model(
    monkeypatch: pytest.MonkeyPatch, result: Result | None, failure: str, counted: tuple[Any, ...]
) -> None:
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(module, "attempted", lambda *of: found.append(of))
    monkeypatch.setattr(Worker, "make", lambda self, *_: self.outcomes.pop(0))
    now = iter([0.0, 10.0, 12.5, 12.5])  # the deadline, then the attempt's begin and ends
    worker = Worker([claim(1)], ["staged"], AttemptOutcome(result, USED, 0.0, failure))
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: next(now))
        worker.run()
    assert found == [counted]


def test_a_runner_that_is_closed_closes_all_that_it_has_opened() -> None:
    closed: list[str] = []
    worker = Worker([], [])
    parts = ("models", "calls", "heartbeat")
    for part in parts:
        made: Any = SimpleNamespace(close=lambda part=part: closed.append(part))
        setattr(worker.runner, f"_{part}", made)
    worker.runner.close()
    assert closed == [*parts]


def test_a_process_that_is_about_to_end_leaves_the_next_attempt_to_others() -> None:
    worker = Worker([claim(1)], ["freed"], FREED._replace(pause=60.0))
    worker.runner.stop()
    assert worker.run() == "freed"


@pytest.mark.parametrize(
    ("settled", "result", "kept"),
    [
        ("staged", ANSWER, True),
        ("staged", Result(effects=(), source="cached", usage=USED, saved=True), True),
        ("staged", Result(effects=(), source="heuristic"), False),
        ("accounted", ANSWER, False),
        ("freed", None, False),
    ],
)
def test_results_of_models_are_kept_that_a_ledger_may_forget(settled: str, result: Result | None, kept: bool) -> None:
    worker = Worker([claim(1)], [settled], AttemptOutcome(result, USED))
    worker.runner.stop()
    assert worker.run() == settled
    assert worker.kept == ([result] if kept else [])


@pytest.mark.parametrize("why", ["gone", "paused", "closed", "claimed", "late", "dead", "alone"])
def test_a_refused_claim_is_not_run(why: str) -> None:
    worker = Worker([why], [])
    assert worker.run() == why
    assert worker.adjustments == []


def test_a_run_of_a_newer_version_is_logged_once() -> None:
    worker = Worker(["newer", "newer"], [])
    with capture_logs() as logs:
        assert [worker.run(), worker.run()] == ["newer", "newer"]
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["run.newer_schema"]


@pytest.mark.parametrize("times", range(len(BACKOFF) + 1))
def test_spending_is_settled_after_any_number_of_ledger_outages(times: int, slept: list[float]) -> None:
    worker = Worker([claim(1)], [*[Away("away")] * times, "staged"], AttemptOutcome(ANSWER, USED))
    assert worker.run() == "staged"
    assert worker.ledger.settled == [("t1", ANSWER, USED, "")] * (times + 1)
    assert slept == list(BACKOFF[:times])


def test_a_ledger_that_stays_away_is_an_error() -> None:
    worker = Worker([claim(1)], [Away("away")] * 9, AttemptOutcome(ANSWER, USED))
    with pytest.raises(Away):
        worker.run()
    assert worker.beating == [("town", "now")], "it was left by the error"
    assert worker.kept == []


def test_a_trial_hint_is_answered_and_is_not_a_job() -> None:
    worker = Worker([], [])
    (hint,) = trial_hints("town", ["plan"])
    assert worker.runner.run(hint.id) == Outcome("ready")
    assert worker.ledger.trials == {"readiness": "answered"}
    assert worker.probed == []


def test_the_taker_of_a_trial_hint_probes_the_endpoint() -> None:
    worker = Worker([], [])
    (hint,) = endpoint_hints("town", "plan", ["ours"])
    assert [worker.runner.run(hint.id).settled for _ in range(2)] == ["ready", "ready"]
    assert worker.probed == ["ours"]
    assert worker.ledger.trials == {"readiness:ours": "answered"}


@pytest.mark.parametrize(
    ("outcome", "words", "state"),
    [
        (Outcome("staged", "llm"), "llm", "SUCCESS"),
        (Outcome("staged", "heuristic"), "heuristic", "SUCCESS"),
        (Outcome("staged", "heuristic", "breaker_open"), "heuristic: breaker_open", "HEURISTIC"),
        (Outcome("offered", "cached"), "late: cached", "LATE"),
        (Outcome("freed", "none", "server"), "no result: server", "NO RESULT"),
        (Outcome("gone"), "not run: gone", "NOT RUN"),
        (Outcome("ready"), "ready", "SUCCESS"),
    ],
)
def test_flower_shows_the_outcome_of_a_job(outcome: Outcome, words: str, state: str) -> None:
    assert outcome.words() == words
    for result in (words, repr(words)):
        assert with_true_state(SimpleNamespace(state="SUCCESS", result=result)).state == state
    assert with_true_state(SimpleNamespace(state="FAILURE", result=words)).state == "FAILURE"


def test_a_task_without_a_result_keeps_its_state() -> None:
    assert with_true_state(SimpleNamespace(state="STARTED", result=None)).state == "STARTED"
    assert with_true_state(SimpleNamespace(state="SUCCESS", result="None")).state == "SUCCESS"
