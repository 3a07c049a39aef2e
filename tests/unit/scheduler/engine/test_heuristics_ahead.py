"""Heuristics computed in the idle time of a paced run: which, in what order, and that no result depends on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

import cogitate.scheduler.engine.boundary
import cogitate.scheduler.engine.run_state
from cogitate import Observation, Profile, TickLoop
from cogitate.memory.entry import Entry
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.boundary import cancelled
from cogitate.scheduler.engine.heuristics_ahead import HeuristicsAhead
from cogitate.scheduler.engine.open_jobs import OpenJob, OpenJobs
from cogitate.scheduler.engine.run_data import WorldTurn
from cogitate.scheduler.intake.kind_effects import KindEffects, made_without_model
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.scheduler_case import ANN, BOB, open_job
from tests.unit.scheduler.tick.test_loop import clock_of_loops

Loops = Callable[..., TickLoop]

OWNERS = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(6)}


class Idle:
    """Idle time, in which heuristics take as long as their kind does."""

    def __init__(
        self, *items: OpenJob, horizon: int = 100, answered: tuple[JobKey, ...] = (), **seconds: float
    ) -> None:
        self.jobs = OpenJobs()
        for item in items:
            self.jobs[item.job.key] = item
        self.made: list[tuple[str, str, int]] = []
        self.seconds = seconds
        self.left = 0.0
        self.ahead = HeuristicsAhead(self.jobs, self.make, answered.__contains__, horizon, lambda owner, entry: None)

    def make(self, item: OpenJob) -> KindEffects:
        key = item.job.key
        self.made.append((key.kind, key.owner, item.job.due))
        self.left -= self.seconds.get(key.kind, 0.0)
        return KindEffects((), f"made for {key.owner}")

    def work(self, seconds: float, tick: int = 1) -> list[tuple[str, str, int]]:
        """Return what is made in so many seconds."""
        self.made, self.left = [], seconds
        self.ahead.work(tick, lambda: self.left)
        return self.made


def test_jobs_due_soonest_come_first() -> None:
    idle = Idle(open_job("plan", BOB, due=7), open_job("act", ANN, due=9), open_job("plan", ANN, due=4))
    idle.ahead.add([open_job("act", BOB, due=5)])  # it is open no more
    assert idle.work(1.0) == [("plan", ANN, 4), ("plan", BOB, 7), ("act", ANN, 9)]
    assert idle.work(1.0) == [], "each is made once"


def test_work_stops_in_time_and_continues_when_idle_again() -> None:
    idle = Idle(*(open_job("plan", ANN, due=due, ordinal=due) for due in (3, 4, 5)), plan=0.4)
    assert idle.work(0.5) == [("plan", ANN, 3)], "no heuristic begins that would end late"
    assert idle.work(0.0) == []
    assert idle.work(0.9) == [("plan", ANN, 4), ("plan", ANN, 5)]


def test_a_slow_kind_keeps_no_other_waiting_and_is_tried_again() -> None:
    slow = [open_job("prune", ANN, due=2, ordinal=ordinal) for ordinal in range(2)]
    idle = Idle(*slow, open_job("plan", BOB, due=9), prune=0.3)
    assert idle.work(0.1) == [("prune", ANN, 2)], "nothing is known of it yet"
    assert idle.work(0.1) == [("plan", BOB, 9)]
    for _ in range(20):
        if idle.work(0.1):
            break
    assert idle.made == [("prune", ANN, 2)]


def test_one_slow_answer_is_soon_forgotten() -> None:
    idle = Idle(*(open_job("plan", ANN, due=2, ordinal=ordinal) for ordinal in range(12)), plan=0.8)
    assert len(idle.work(1.0)) == 1
    idle.seconds["plan"] = 0.0
    assert len(idle.work(0.75)) == 11, "each quick one lowers what is expected of the next"


def test_jobs_due_much_later_wait() -> None:
    idle = Idle(open_job("plan", ANN, due=12), horizon=10)
    assert idle.work(1.0, tick=1) == []
    assert idle.work(1.0, tick=2) == [("plan", ANN, 12)]


def test_a_job_whose_answer_has_come_or_that_has_ended_needs_no_heuristic() -> None:
    answered, ended = open_job("plan", ANN, due=3), open_job("plan", BOB, due=3)
    idle = Idle(answered, ended, answered=(answered.job.key,))
    idle.jobs.close(ended.job.key)
    assert idle.work(1.0) == []


def test_a_precomputed_heuristic_is_kept_until_the_job_ends() -> None:
    item = open_job("plan", ANN)
    idle = Idle(item)
    assert idle.ahead.made(item.job.key) is None
    idle.work(1.0)
    assert idle.ahead.made(item.job.key) == KindEffects((), f"made for {ANN}")
    idle.ahead.ended(cast(Any, None), cancelled(item), item)
    assert idle.ahead.made(item.job.key) is None


def test_observations_are_read_in_the_time_that_heuristics_leave() -> None:
    idle = Idle(open_job("plan", ANN, due=7), plan=0.4)
    read: list[tuple[str, str]] = []

    def reading(owner: str, entry: Entry) -> None:
        read.append((owner, entry.text))
        idle.left -= 0.3

    idle.ahead = HeuristicsAhead(idle.jobs, idle.make, lambda key: False, 100, reading)
    observed = [(ANN, Entry(type="observation", text=text, minute=1)) for text in ("one", "two", "three")]
    idle.ahead.end(cast(Any, SimpleNamespace(opened=[], turn=WorldTurn(observed=observed))))
    assert idle.work(0.9) == [("plan", ANN, 7)]
    assert read == [(ANN, "one"), (ANN, "two")]
    idle.work(0.9)
    assert read == [(ANN, "one"), (ANN, "two"), (ANN, "three")], "each is read once"


# -- in a run ------------------------------------------------------------------------------------------


def lived(loops: Loops, run: str, rate: float | None, limits: dict[str, int]) -> str:
    """Return the digest of a morning in which everybody plans and goes on seeing things."""
    settings = PinnedSettings(tick_rate=rate, wait=0.0, limits=limits, reflection_trigger_max=10)
    with loops(run=run, owners=OWNERS, ticks=60, start_minute=355, settings=settings) as loop:
        for tick in loop:
            for owner in OWNERS:
                seen = Observation(text=f"The bell of house {tick.number} rang.", minute=tick.minute, importance=6)
                loop.observe(owner, seen)
        return loop._loop.digest


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the heuristics made ahead and those made at a boundary."""
    found: Counter[str] = Counter()

    def counted(where: str) -> Callable[..., KindEffects]:
        def make(*given: Any, **more: Any) -> KindEffects:
            found[where] += 1
            return made_without_model(*given, **more)

        return make

    monkeypatch.setattr(cogitate.scheduler.engine.run_state, "made_without_model", counted("ahead"))
    monkeypatch.setattr(cogitate.scheduler.engine.boundary, "made_without_model", counted("at the boundary"))
    return found


@pytest.mark.parametrize("limits", [{"run.run.jobs": 0}, {"tick.run.jobs": 2}], ids=["all denied", "some denied"])
def test_the_digest_is_the_same_with_and_without(
    cogitate_loop: Loops, made: Counter[str], monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    usual = lived(cogitate_loop, "unpaced", None, limits)
    assert not made["ahead"]
    assert made["at the boundary"]
    clock = clock_of_loops(monkeypatch)
    made.clear()
    assert lived(cogitate_loop, "idle", 10.0, limits) == usual
    assert made["ahead"]
    assert not made["at the boundary"], "there is time for all of them"

    class Slow(HeuristicsAhead):
        def __init__(self, jobs: Any, make: Callable[[OpenJob], KindEffects], *rest: Any) -> None:
            def slowly(item: OpenJob) -> KindEffects:
                clock.now += 0.09
                return make(item)

            super().__init__(jobs, slowly, *rest)

    monkeypatch.setattr("cogitate.scheduler.engine.engine.HeuristicsAhead", Slow)
    made.clear()
    assert lived(cogitate_loop, "busy", 10.0, limits) == usual
    assert made["ahead"], "there is time for some of them"
    assert made["at the boundary"], "and not for all"
