"""Paid results that no tick has confirmed: settled again if the ledger has lost them, kept no longer than that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as Away

from cogitate.memory.profile import Profile
from cogitate.scheduler.ledger.claims import Claim, Result
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.workers.jobs import kept_results
from cogitate.workers.jobs.kept_results import KeptResults
from tests.patience import LONGEST

FIRST, SECOND = Cost(calls=1, tokens=7), Cost(calls=1, tokens=8)


def claim(owner: str, token: str = "old") -> Claim:
    job = Job(run="town", key=JobKey(3, "plan", owner, 0, 0), minute=3, due=9, reads=(), model="default")
    case = Case(job=job, profile=Profile(name=owner), world=WorldFacts(), memories={})
    return Claim(incarnation="now", token=token, number=1, cap=4, case=case)


def result(tokens: int) -> Result:
    return Result(effects=(), source="llm", usage=Cost(calls=1, tokens=tokens))


class Ledger:
    """A ledger whose jobs stand as a test says, and which may have forgotten claims."""

    def __init__(self) -> None:
        self.stands: dict[str, str] = {}  # by owner; "": ended
        self.forgotten: set[str] = set()  # tokens
        self.refuses = ""
        self.settled: list[tuple[str, str, Result, Cost]] = []
        self.looked_at: list[list[str]] = []
        self.meanwhile: Any = lambda: None

    def states(self, claims: Sequence[Claim]) -> list[str]:
        self.looked_at.append([claim.job.key.owner for claim in claims])
        self.meanwhile()
        return [self.stands[claim.job.key.owner] for claim in claims]

    def claim(self, job_id: str) -> Any:
        return self.refuses or claim(job_id.split("/")[3], "new")

    def settle(self, claim: Claim, result: Result, used: Cost) -> str:
        self.settled.append((claim.job.key.owner, claim.token, result, used))
        return "unknown" if claim.token in self.forgotten else "staged"


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def kept(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> KeptResults:
    """A store that looks when a test says so, and never by itself."""
    monkeypatch.setattr(KeptResults, "_run", lambda self: None)
    claims: Any = ledger
    return KeptResults(claims, 3.0)


def test_each_kept_result_is_settled_with_its_cost(ledger: Ledger, kept: KeptResults) -> None:
    kept.keep(claim("a"), result(1), FIRST)
    kept.keep(claim("b"), result(2), SECOND)
    ledger.stands = {"a": "open", "b": "open"}
    kept.look()
    assert ledger.settled == [("a", "old", result(1), FIRST), ("b", "old", result(2), SECOND)]


@pytest.mark.parametrize("stands", ["staged", "", "dead"])
def test_results_in_the_ledger_are_not_settled_again(ledger: Ledger, kept: KeptResults, stands: str) -> None:
    kept.keep(claim("a"), result(1), FIRST)
    ledger.stands = {"a": stands}
    kept.look()
    assert ledger.settled == []


def test_ended_jobs_are_dropped_and_others_are_retried(ledger: Ledger, kept: KeptResults) -> None:
    for owner in ("a", "b", "c", "d"):
        kept.keep(claim(owner), result(1), FIRST)
    ledger.stands = {"a": "", "b": "staged", "c": "dead", "d": "open"}
    kept.look()
    kept.look()
    assert ledger.looked_at == [["a", "b", "c", "d"], ["b", "d"]]


def test_a_result_that_was_kept_during_the_look_stays(ledger: Ledger, kept: KeptResults) -> None:
    kept.keep(claim("a"), result(1), FIRST)
    ledger.stands = {"a": ""}
    ledger.meanwhile = lambda: kept.keep(claim("a", "newer"), result(2), SECOND)
    kept.look()
    ledger.stands, ledger.meanwhile = {"a": "open"}, lambda: None
    kept.look()
    assert ledger.settled == [("a", "newer", result(2), SECOND)]


def test_a_job_that_lost_its_claim_is_claimed_again(ledger: Ledger, kept: KeptResults) -> None:
    kept.keep(claim("a"), result(1), FIRST)
    ledger.stands, ledger.forgotten = {"a": "open"}, {"old"}
    kept.look()
    assert ledger.settled == [("a", "old", result(1), FIRST), ("a", "new", result(1), FIRST)]


def test_a_job_that_another_worker_has_is_left_to_it(ledger: Ledger, kept: KeptResults) -> None:
    kept.keep(claim("a"), result(1), FIRST)
    ledger.stands, ledger.forgotten, ledger.refuses = {"a": "open"}, {"old"}, "claimed"
    kept.look()
    assert [token for _, token, _, _ in ledger.settled] == ["old"]


def test_the_oldest_go_first_and_a_rewritten_one_is_new(ledger: Ledger, kept: KeptResults) -> None:
    others = [f"b{number}" for number in range(255)]
    for owner in ("a", *others, "a", "c"):
        kept.keep(claim(owner), result(1), FIRST)
    ledger.stands = dict.fromkeys((*others, "a", "c"), "staged")
    kept.look()
    assert ledger.looked_at == [[*others[1:], "a", "c"]], "256 are kept"


def test_the_thread_retries_at_each_interval_despite_an_outage(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    asleep, go, looked = threading.Semaphore(0), threading.Semaphore(0), threading.Semaphore(0)
    away = [Away("away")]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        asleep.release()
        go.acquire()

    def meanwhile() -> None:
        looked.release()
        if away:
            raise away.pop()

    monkeypatch.setattr(kept_results, "time", SimpleNamespace(sleep=sleep))
    ledger.stands, ledger.meanwhile = {"a": "open"}, meanwhile
    claims: Any = ledger
    results = KeptResults(claims, 3.0)
    results.keep(claim("a"), result(1), FIRST)
    thread = results._thread._thread
    assert thread is not None
    assert (thread.name, thread.daemon) == ("kept-results", True)
    for stands in ("open", "open", ""):  # the end leaves nothing to keep: its thread sleeps no more
        assert asleep.acquire(timeout=LONGEST)
        ledger.stands["a"] = stands
        go.release()
        assert looked.acquire(timeout=LONGEST)
    assert ledger.looked_at == [["a"]] * 3
    waits: Any = results._changed
    eventually(lambda: bool(waits._waiters) or len(slept) > 3, "it waits for a result, or sleeps")
    assert slept == [3.0] * 3
