"""The thread that stages fallbacks while models are asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from redis.exceptions import ConnectionError as Away

from cogitate.memory.profile import Profile
from cogitate.scheduler.intake.fallbacks import Fallbacks
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.registry import kind_of, kinds
from cogitate.workers.jobs import fallbacks as module
from cogitate.workers.jobs.fallbacks import FallbackStaging

FAR = 30.0  # seconds


def claim(token: str, kind: str = "plan", model: str = "default") -> Claim:
    job = Job(run="town", key=JobKey(3, kind, "agent:a", 0, 0), minute=3, due=9, reads=(), model=model)
    case = Case(job=job, profile=Profile(name="Ann"), world=WorldFacts(), memories={})
    return Claim(incarnation="now", token=token, number=1, cap=4, case=case)


class Ledger:
    """Fallbacks as the ledger gets them; it keeps who stages them waiting until the test lets him go on."""

    def __init__(self) -> None:
        self.came: list[tuple[str, bytes]] = []
        self.changed = threading.Condition()
        self.lets_go = threading.Event()
        self.lets_go.set()
        self.fails = False

    def stage_fallback(self, claim: Claim, fallback: bytes) -> bool:
        with self.changed:
            self.came.append((claim.token, fallback))
            self.changed.notify_all()
        assert self.lets_go.wait(FAR)
        if self.fails:
            raise Away("away")
        return True

    def tokens(self, number: int) -> list[str]:
        """Return the first so many, once they have come."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.came) >= number, FAR)
            return [token for token, _ in self.came]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def staging(ledger: Any) -> Iterator[FallbackStaging]:
    made = FallbackStaging(ledger)
    yield made
    made.close()


def test_a_fallback_is_staged_while_the_model_is_asked(ledger: Ledger, staging: FallbackStaging) -> None:
    with staging.of(claim("t")):
        assert ledger.tokens(1) == ["t"]
    made = Fallbacks(kinds()).make(kind_of("plan"), claim("t").case)
    assert made
    assert ledger.came == [("t", made)]


def test_a_job_that_is_settled_before_its_turn_needs_none(ledger: Ledger, staging: FallbackStaging) -> None:
    ledger.lets_go.clear()
    with staging.of(claim("first")):
        ledger.tokens(1)
        with staging.of(claim("settled")):
            pass
        with staging.of(claim("last")):
            ledger.lets_go.set()
            assert ledger.tokens(2) == ["first", "last"]


@pytest.mark.parametrize("unneeded", [claim("t", model=""), claim("t", kind="unknown")])
def test_who_needs_none_gets_none(ledger: Ledger, staging: FallbackStaging, unneeded: Claim) -> None:
    with staging.of(unneeded), staging.of(claim("next")):
        assert ledger.tokens(1) == ["next"]


def test_a_repair_needs_none(ledger: Ledger, staging: FallbackStaging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "replaced_entry", lambda job: 7)
    with staging.of(claim("repair")):
        assert staging._thread is None


def test_while_the_ledger_is_away_the_host_is_left_to_itself(ledger: Ledger, staging: FallbackStaging) -> None:
    ledger.fails = True
    with staging.of(claim("lost")):
        assert ledger.tokens(1) == ["lost"]
        ledger.fails = False
        with staging.of(claim("next")):
            assert ledger.tokens(2) == ["lost", "next"]


def test_its_thread_ends_when_it_is_closed(ledger: Ledger, staging: FallbackStaging) -> None:
    with staging.of(claim("t")):
        ledger.tokens(1)
    thread = staging._thread
    assert thread is not None
    assert thread.is_alive()
    staging.close()
    thread.join(FAR)
    assert not thread.is_alive()


def test_what_waits_when_it_is_closed_is_not_staged(ledger: Ledger, staging: FallbackStaging) -> None:
    ledger.lets_go.clear()
    with staging.of(claim("first")):
        ledger.tokens(1)
        with staging.of(claim("waiting")):
            staging.close()
            ledger.lets_go.set()
            assert staging._thread is not None
            staging._thread.join(FAR)
    assert ledger.tokens(1) == ["first"]
