"""Waiting with a simulated clock: leases expire by what the host has seen, and no wait is in vain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.scheduler.config.controls import ControlRequest, SetMode
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.ledger.step_replies import Attempt, BoundaryInput, Collected, DueJob
from cogitate.scheduler.tick.pace import Pace
from cogitate.scheduler.tick.result_collector import (
    ASKED_AGAIN,
    LOOKS_A_LEASE,
    Hints,
    Leases,
    ResultCollector,
    WorkerActivity,
)
from cogitate.tasks.job import Job, JobKey
from tests.unit.scheduler.scheduler_case import ANN, BOB, open_job

LEASE = 15.0


def look(beats: dict[str, int], **attempts: str) -> Collected:
    """What a host sees: attempts by token, each with its worker, and the workers' heartbeats."""
    running = {token: Attempt(job="1/think/agent:a/0/0", worker=worker, tick=1) for token, worker in attempts.items()}
    return Collected(BoundaryInput([]), attempts=running, beats=beats, unclaimed=[])


def watch(leases: Leases, collected: Collected, begin: float, end: float) -> list[float]:
    """Look every second, from `begin` on; the seconds at which a lease had run out."""
    steps = range(int(end - begin) + 1)
    return [begin + step for step in steps if leases.watch(collected, begin + step)]


def test_a_lease_runs_out_after_its_time_without_a_heartbeat() -> None:
    assert watch(Leases(LEASE), look({"w": 3}, t="w"), 100.0, 117.0) == [116.0, 117.0]


def test_a_heartbeat_restarts_the_lease() -> None:
    leases = Leases(LEASE)
    assert watch(leases, look({"w": 3}, t="w"), 100.0, 113.0) == []
    assert watch(leases, look({"w": 4}, t="w"), 114.0, 129.0) == []
    assert watch(leases, look({"w": 4}, t="w"), 130.0, 130.0) == [130.0]


def test_another_token_is_another_lease() -> None:
    leases = Leases(LEASE)
    assert watch(leases, look({"w": 3}, t="w"), 100.0, 110.0) == []
    assert watch(leases, look({"w": 3}, u="w"), 111.0, 120.0) == []
    assert watch(leases, look({"w": 3}, t="w", u="w"), 121.0, 127.0) == [127.0]


def test_no_lease_runs_on_while_the_host_is_blind() -> None:
    """As while the server stalls: no worker could beat, and the host saw nothing."""
    leases = Leases(LEASE)
    assert watch(leases, look({"w": 3}, t="w"), 100.0, 111.0) == []
    assert leases.watch(look({"w": 3}, t="w"), 1000.0) == []
    assert watch(leases, look({"w": 4}, t="w"), 1001.0, 1016.0) == []


def test_only_the_dead_workers_attempts_expire() -> None:
    leases = Leases(LEASE)
    for now in range(16):
        assert leases.watch(look({"dead": 1, "live": now}, a="dead", b="live", c="dead"), float(now)) == []
    assert leases.watch(look({"dead": 1, "live": 99}, a="dead", b="live", c="dead"), 16.0) == ["a", "c"]
    assert leases.watch(look({"dead": 1}, c="dead", a="dead"), 17.0) == ["a", "c"], "in whichever order they came"


def test_a_worker_that_never_beat_has_a_lease_too() -> None:
    assert watch(Leases(LEASE), look({}, t="w"), 0.0, 16.0) == [16.0]


def test_a_resumed_host_restarts_every_lease() -> None:
    assert watch(Leases(LEASE), look({"w": 3}, t="w"), 0.0, 15.0) == []
    assert watch(Leases(LEASE), look({"w": 3}, t="w"), 1000.0, 1016.0) == [1016.0]


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=30))
def test_no_lease_runs_out_early(looks: list[tuple[float, bool]]) -> None:
    leases, now, beat, since, unseen = Leases(LEASE), 0.0, 0, 0.0, 0
    for n, (later, beats) in enumerate(looks):
        now, unseen = now + later, unseen + 1
        if beats or n == 0:
            beat, since, unseen = beat + 1, now, 0
        if leases.watch(look({"w": beat}, t="w"), now):
            assert now - since > LEASE
            assert unseen >= LOOKS_A_LEASE


@given(st.floats(0, 30), st.lists(st.floats(0.01, LEASE / LOOKS_A_LEASE), min_size=1, max_size=40))
def test_a_dead_workers_lease_has_run_out_a_look_after_its_time(at: float, gaps: list[float]) -> None:
    leases, now, found = Leases(LEASE), at, None
    leases.watch(look({"w": 1}, t="w"), now)
    for gap in gaps:
        now += gap
        if leases.watch(look({"w": 1}, t="w"), now) and found is None:
            found = now - at
            assert found - gap <= LEASE * (1 + 1e-9)
    assert (found is not None) == (sum(gaps) > LEASE) or abs(sum(gaps) - LEASE) < 1e-6


# -- gathering ---------------------------------------------------------------------------------------


class FakeLedger:
    """A ledger whose rows change as time goes by; blocking moves the clock."""

    run = "r"

    def __init__(self, staged_at: dict[JobKey, float]) -> None:
        self.now, self.lost, self.staged_at = 0.0, 0.0, staged_at
        self.attempts: dict[str, Attempt] = {}
        self.beats: dict[str, int] = {}
        self.looks: list[tuple[float, tuple[str, ...]]] = []

    def collect(self, tick: int, apply: str, expired: Sequence[str] = ()) -> Collected:
        self.looks.append((self.now, tuple(expired)))
        rows = [DueJob(key, "staged" if at <= self.now else "open", None, 1) for key, at in self.staged_at.items()]
        unclaimed = [row.key.text() for row in rows if row.state == "open"]
        return Collected(BoundaryInput(rows), self.attempts, self.beats, unclaimed)

    def wait_ready(self, due: int, timeout: float) -> bool:
        last = max(self.staged_at.values())
        woken = last <= self.now + timeout
        self.now = max(self.now, last) if woken else self.now + timeout
        return woken


OTHER = open_job(owner="agent:other").job.key
JOBS: dict[JobKey, OpenJob] = {item.job.key: item for item in (open_job(owner=ANN), open_job(owner=BOB))}
FIRST, SECOND = JOBS


def waiting(
    ledger: FakeLedger,
    wait: float,
    apply: Any = "due",
    lease: float = LEASE,
    workers_left: Callable[[], bool] | None = None,
    **given: Any,
) -> tuple[ResultCollector, list[Job]]:
    published: list[Job] = []

    def publish(jobs: Sequence[Job]) -> int:
        published.extend(jobs)
        return len(jobs)

    built = ResultCollector(
        ledger,  # type: ignore[arg-type]  # as much of a ledger as is needed
        publish,
        apply=apply,
        wait=wait,
        lease=lease,
        hint_interval=1.0,
        workers_left=workers_left,
        clock=lambda: ledger.now,
        **given,
    )
    return built, published


def states(gathered: BoundaryInput) -> set[str]:
    return {row.state for row in gathered.rows}


def test_the_last_steps_reply_suffices_when_no_job_is_open() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    known = BoundaryInput([DueJob(FIRST, "staged", None, 1)], controls=(None,))
    assert waiting(ledger, 60.0)[0].gather(5, known, JOBS) == known
    assert ledger.looks == []


def test_a_boundary_waits_for_open_jobs() -> None:
    ledger = FakeLedger({FIRST: 2.5, SECOND: 7.25})
    rows = waiting(ledger, 60.0)[0].gather(5, None, JOBS)
    assert states(rows) == {"staged"}
    assert ledger.now == 7.25, "it was woken by the last one"


def test_a_boundary_waits_no_longer_than_its_limit() -> None:
    ledger = FakeLedger({FIRST: 2.5, SECOND: 99.0})
    rows = waiting(ledger, 10.0)[0].gather(5, None, JOBS)
    assert states(rows) == {"staged", "open"}
    assert ledger.now == 10.0


def test_without_a_wait_it_looks_once_more() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    known = BoundaryInput([DueJob(FIRST, "open", None, 1)])
    assert states(waiting(ledger, 0.0)[0].gather(5, known, JOBS)) == {"staged"}
    assert len(ledger.looks) == 1


def test_a_host_that_prefers_freshness_looks_at_every_boundary() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    built, _ = waiting(ledger, 0.0, "ready")
    for _ in range(3):
        built.gather(5, BoundaryInput([]), JOBS)
    assert len(ledger.looks) == 3


def test_the_last_steps_reply_expires_after_an_interval() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    built, _ = waiting(ledger, 60.0)
    ledger.now = built._interval - 0.001
    built.gather(5, BoundaryInput([]), JOBS)
    assert ledger.looks == []
    ledger.now = built._interval
    for _ in range(2):
        built.gather(5, BoundaryInput([]), JOBS)
    assert len(ledger.looks) == 1, "it has looked just now"


def test_rows_without_an_open_job_are_left_out() -> None:
    ledger = FakeLedger({OTHER: 0.0, FIRST: 0.0})
    assert [row.key for row in waiting(ledger, 60.0)[0].gather(5, None, JOBS).rows] == [FIRST]


def test_unclaimed_jobs_are_hinted_while_it_waits() -> None:
    ledger = FakeLedger({FIRST: 40.0})
    built, published = waiting(ledger, 60.0)
    built.hint([JOBS[FIRST].job])
    built.gather(5, None, JOBS)
    assert ledger.now == 40.0
    assert [job.key for job in published] == [FIRST] * len(published)
    assert 5 <= len(published) <= 8, "once at first, then after 1, 2, 4, 8 and 16 seconds"


def test_a_paced_host_leaves_to_workers_what_it_has_not_made_itself() -> None:
    made: set[JobKey] = set()
    ledger = FakeLedger({FIRST: 40.0, SECOND: 40.0})
    paced = {"pace": Pace(10.0, lambda: ledger.now), "needs_worker": lambda key: key not in made}
    built, published = waiting(ledger, 0.0, **paced)
    first, second = (item.job for item in JOBS.values())
    thought, soon = open_job(owner="agent:c", model="m").job, open_job(owner="agent:d", due=2).job
    assert built.to_hint([first, thought, soon, second], 1) == [thought, soon], "a model takes time, and so does a tick"
    built.gather(1, None, JOBS)
    assert published == [], "a hint that is held back is not repeated either"
    made.add(FIRST)
    assert built.to_hint([], 2) == [second]
    assert built.to_hint([], 3) == []
    built.gather(5, None, JOBS)
    assert [job.key for job in published] == [SECOND], "no hint is repeated for what the host has made"
    assert waiting(ledger, 60.0, **paced)[0].to_hint([first, second], 1) == [first, second], "it waits for workers"
    assert waiting(ledger, 0.0)[0].to_hint([first, second], 1) == [first, second], "it has no idle time"


def test_lost_leases_are_expired_while_it_waits() -> None:
    ledger = FakeLedger({FIRST: 99.0})
    ledger.attempts = {"t": Attempt(job=FIRST.text(), worker="dead", tick=1)}
    waiting(ledger, 20.0)[0].gather(5, None, JOBS)
    expired = [now for now, tokens in ledger.looks if tokens == ("t",)]
    assert expired
    assert expired[0] > LEASE
    assert expired[0] <= LEASE + 2


# -- no workers --------------------------------------------------------------------------------------


def test_after_a_timeout_a_boundary_waits_only_after_a_heartbeat() -> None:
    ledger = FakeLedger({FIRST: 1e9})
    built, _ = waiting(ledger, 60.0)
    built.gather(5, None, JOBS)
    assert ledger.now == 60.0
    for tick in range(6, 100):
        assert states(built.gather(tick, None, JOBS)) == {"open"}
    assert ledger.now == 60.0, "there was no worker"
    ledger.beats["w"] = 1
    built.gather(100, None, JOBS)
    assert ledger.now == 120.0


def test_a_worker_at_work_is_waited_for_at_every_boundary() -> None:
    ledger = FakeLedger({FIRST: 1e9})
    ledger.attempts = {"t": Attempt(job=FIRST.text(), worker="w", tick=1)}
    built, _ = waiting(ledger, 60.0)
    for tick in range(5, 10):
        ledger.beats = {"w": tick}
        built.gather(tick, None, JOBS)
    assert ledger.now == 300.0


def test_silence_alone_is_not_death() -> None:
    ledger = FakeLedger({FIRST: 10.0})
    built, _ = waiting(ledger, 60.0)
    built.gather(5, None, JOBS)
    ledger.now += 1000.0  # a night without a thought
    ledger.staged_at = {SECOND: ledger.now + 59.0}
    assert states(built.gather(6, None, JOBS)) == {"staged"}


def test_when_all_workers_are_given_up_a_lease_is_enough() -> None:
    ledger = FakeLedger({FIRST: 1e9})
    built, _ = waiting(ledger, 60.0, workers_left=lambda: False)
    for tick in range(5, 10):
        assert states(built.gather(tick, None, JOBS)) == {"open"}
    assert ledger.now <= LEASE + 1.0


def test_the_time_that_the_ledger_was_away_does_not_count() -> None:
    ledger = FakeLedger({FIRST: 100.0})
    built, _ = waiting(ledger, 60.0)
    look = ledger.collect

    def stalls_once(*args: Any, **how: Any) -> Collected:
        ledger.collect = look  # type: ignore[method-assign]
        ledger.now += 50.0
        ledger.lost += 50.0
        return look(*args, **how)

    ledger.collect = stalls_once  # type: ignore[method-assign, assignment]
    assert states(built.gather(5, None, JOBS)) == {"staged"}


def test_an_outage_of_before_lengthens_no_wait() -> None:
    ledger = FakeLedger({FIRST: 99.0})
    ledger.lost = 500.0
    assert states(waiting(ledger, 10.0)[0].gather(5, None, JOBS)) == {"open"}
    assert ledger.now == 10.0


def test_ended_jobs_are_not_hinted_again() -> None:
    ledger = FakeLedger({OTHER: 99.0, FIRST: 3.0})
    built, published = waiting(ledger, 5.0)
    built.gather(5, None, JOBS)
    assert {job.key for job in published} <= {FIRST}


def test_a_host_without_its_ledger_treats_due_jobs_as_late() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    ledger.collect = lambda *_, **how: None  # type: ignore[method-assign, assignment]
    due = max(item.job.due for item in JOBS.values())
    rows = waiting(ledger, 60.0)[0].gather(due, None, JOBS).rows
    assert {(row.key, row.state) for row in rows} == {(FIRST, "open"), (SECOND, "open")}
    assert ledger.now == 0.0


class Paused(FakeLedger):
    """A ledger of a run that waits: operators ask for something after so many looks."""

    def __init__(self, *modes: Any) -> None:
        super().__init__({FIRST: 0.0})
        self.modes, self.went_on, self.waited = list(modes), 0, list[float]()

    def collect(self, tick: int, apply: str, expired: Sequence[str] = ()) -> Any:
        mode = self.modes.pop(0)
        if mode == "away":
            return None
        asked = () if mode is None else (ControlRequest("id", SetMode(mode)),)
        return super().collect(tick, apply)._replace(boundary=BoundaryInput([], controls=asked))

    def wait_asked(self, seconds: float) -> None:
        self.waited.append(seconds)

    def go_on(self) -> None:
        self.went_on += 1


@pytest.mark.parametrize("mode", ["running", "draining", "cancelled"])
def test_a_paused_host_continues_when_an_operator_decides(mode: str) -> None:
    ledger = Paused(None, "away", "paused", mode)
    waiting(ledger, 60.0)[0].pause(6, lambda: False)
    assert (ledger.went_on, ledger.waited, ledger.modes) == (1, [ASKED_AGAIN] * 3, [])
    assert {(at, tokens) for at, tokens in ledger.looks} == {(0.0, ())}


def test_a_stopping_paused_host_does_not_continue() -> None:
    ledger = Paused(None, None, "running")
    waiting(ledger, 60.0)[0].pause(6, lambda: len(ledger.waited) == 2)
    assert (ledger.went_on, ledger.modes) == (0, ["running"])


# -- hints and activity ------------------------------------------------------------------------------


def test_a_hint_is_repeated_after_one_interval_then_two_four_eight_and_sixteen() -> None:
    hints = Hints(10.0)
    hints.published([FIRST], 0.0)
    assert [now for now in range(0, 700, 5) if hints.repeat([FIRST], float(now))] == [10, 30, 70, 150, 310, 470, 630]


def test_a_hint_that_this_host_did_not_publish_is_repeated_at_once() -> None:
    hints = Hints(10.0)
    assert [now for now in range(5, 80, 5) if hints.repeat([SECOND], float(now))] == [5, 15, 35, 75]


def test_a_job_claimed_meanwhile_restarts_its_lease() -> None:
    hints = Hints(10.0)
    hints.published([FIRST, SECOND], 0.0)
    assert hints.repeat([FIRST, SECOND], 10.0) == [FIRST, SECOND]
    assert hints.repeat([SECOND], 20.0) == []
    assert hints.repeat([FIRST, SECOND], 25.0) == [FIRST], "its attempt was lost"


def test_a_claim_a_heartbeat_and_a_result_each_show_a_live_worker_once() -> None:
    life = WorkerActivity()

    def silence(collected: Collected) -> float:
        life.silence = 5.0
        life.look(collected)
        return life.silence

    staged = Collected(BoundaryInput([DueJob(FIRST, "staged", None, 1)]), attempts={}, beats={}, unclaimed=[])
    seen = (
        look({"w": 3}),
        look({"w": 3}),
        look({"w": 4}),
        look({"w": 4}, t="w"),
        look({"w": 4}, t="w"),
        look({"w": 4}),
    )
    assert [silence(one) for one in seen] == [0.0, 5.0, 0.0, 0.0, 5.0, 5.0]
    assert [silence(one) for one in (staged, staged)] == [0.0, 5.0]
    assert silence(look({"w": 4}, t="w")) == 0.0, "a claim after a while is one again"
    open_row = Collected(BoundaryInput([DueJob(SECOND, "open", None, 1)]), attempts={}, beats={}, unclaimed=[])
    assert silence(open_row) == 5.0


def test_without_its_ledger_a_host_knows_its_due_jobs() -> None:
    held = open_job("think", BOB, due=4, ordinal=2, admitted=False)
    later = open_job("think", ANN, due=6, ordinal=3)
    jobs = {**JOBS, held.job.key: held, later.job.key: later}
    ledger = FakeLedger({})
    ledger.collect = lambda *args, **how: None  # type: ignore[method-assign, assignment, misc]
    rows = waiting(ledger, 0.0)[0].gather(5, None, jobs).rows
    assert {row.key: row.state for row in rows} == {FIRST: "open", SECOND: "open", held.job.key: "held"}
    assert rows == sorted(rows, key=lambda row: row.key)
