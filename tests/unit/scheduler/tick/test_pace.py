"""What of a job's time is its model's latency: not what it waited for workers that were missing, or for its host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.step_replies import Attempt, BoundaryInput, Collected, DueJob
from cogitate.scheduler.tick.pace import ModelTimes, Pace
from cogitate.tasks.job import JobKey

LEASE, HINT = 15.0, 1.0  # seconds


def key(tick: int, owner: str = "ann") -> JobKey:
    return JobKey(tick, "act", f"agent:{owner}", 0, 0)


class Watch:
    """A host that looks at its ledger on a clock that a test sets."""

    def __init__(self, rate: float | None = None) -> None:
        self.now = 0.0
        self.pace = Pace(rate, lambda: self.now) if rate is not None else None
        self.awaited: list[JobKey] = []
        self.times = ModelTimes(lease=LEASE, interval=HINT, pace=self.pace, awaited=lambda: self.awaited)
        self.beats = 0

    def look(
        self,
        tick: int,
        *,
        unclaimed: Sequence[JobKey] = (),
        running: Mapping[str, JobKey] | None = None,
        expired: Sequence[str] = (),
        beaten: bool = False,
    ) -> None:
        self.beats += beaten
        attempts = {token: Attempt(job.text(), "worker", job.tick) for token, job in (running or {}).items()}
        beats = {"worker": self.beats} if attempts else {}
        collected = Collected(BoundaryInput([]), attempts, beats, [one.text() for one in unclaimed])
        self.times.look(tick, collected, expired, self.now)

    def took(self, job: JobKey, ticks: int, claimed: int = 0, tick: int = 999) -> int:
        """The latency that an answer counts as."""
        shown = BoundaryInput([], timed=[Timed(job, "m", 0, ticks)], claimed={job: claimed} if claimed else {})
        (fact,) = self.times.corrected(tick, shown).timed
        assert fact is not None
        return fact.ticks

    def overdue(self, tick: int, *open_jobs: JobKey) -> list[Overdue]:
        return list(
            self.times.corrected(tick, BoundaryInput([DueJob(one, "open", None, 1) for one in open_jobs])).overdue
        )


# -- workers -----------------------------------------------------------------------------------------


def test_a_wait_behind_others_is_part_of_a_latency() -> None:
    watch, waits = Watch(), key(10)
    for at in range(40):  # a worker is at work all the time, and beats
        watch.now = at / 2
        watch.look(10 + at, unclaimed=[waits], running={"a": key(9, "bob")}, beaten=at % 6 == 0)
    assert watch.took(waits, 45, claimed=50) == 45


def test_a_late_claim_by_an_idle_worker_counts_as_slow() -> None:
    watch = Watch()
    watch.look(10)
    watch.now = 60.0
    watch.look(60, unclaimed=[key(59)])
    watch.now = 60.9  # not so late that its hint would be repeated
    watch.look(69, unclaimed=[key(59)])
    assert watch.took(key(59), 20, claimed=70) == 20


def test_waiting_without_workers_does_not_count() -> None:
    watch, waits = Watch(), key(10)
    for at in range(30):
        watch.now = float(at)
        watch.look(10 + 10 * at, unclaimed=[waits])
    assert watch.took(waits, 305, claimed=302) == 13
    assert watch.took(key(301), 25, claimed=303) == 25, "it was admitted when the fault was over"


@pytest.mark.parametrize(("silence", "counts"), [(LEASE / 2 - 1, 100), (LEASE / 2 + 2, 13)])
def test_a_worker_that_has_not_beaten_for_half_a_lease_is_not_at_work(silence: float, counts: int) -> None:
    watch, waits = Watch(), key(10)
    while watch.now <= silence:
        watch.look(97, unclaimed=[waits], running={"a": key(9, "bob")})
        watch.now += 0.5
    assert watch.took(waits, 100, claimed=97) == counts


def test_a_job_whose_worker_was_lost_counts_from_its_next_claim() -> None:
    watch, job = Watch(), key(10)
    watch.look(11, running={"a": job})
    watch.now = 16.0
    watch.look(160, expired=["a"], unclaimed=[job])
    assert watch.took(job, 165, claimed=162) == 13


def test_waiting_without_the_ledger_does_not_count() -> None:
    watch = Watch()
    watch.look(10)
    watch.times.missed(200)
    assert watch.took(key(50), 165, claimed=205) == 10
    assert watch.took(key(50), 165) == 165, "an older worker notes no claim"


# -- jobs that end late ------------------------------------------------------------------------------


def test_a_late_job_counts_only_while_a_worker_has_it() -> None:
    watch, running, waits = Watch(), key(10), key(10, "bob")
    watch.look(23, running={"a": running}, unclaimed=[waits])
    assert watch.overdue(23, running, waits) == [Overdue(running, 13)]


def test_a_guess_is_taken_back_once_no_worker_has_its_job() -> None:
    watch, job = Watch(), key(10)
    watch.awaited = [job]
    watch.look(30, running={"a": job})
    assert watch.overdue(30) == []
    watch.look(40)
    answered = BoundaryInput([], timed=[Timed(job, "m", 0, 29)])
    assert list(watch.times.corrected(40, answered).overdue) == [], "its answer has come"
    assert watch.overdue(41) == [Overdue(job, 0)]


# -- the host ----------------------------------------------------------------------------------------


def stopped(rate: float = 10.0) -> Watch:
    """A host at ten ticks a second that was stopped for a minute after tick 100 and has caught up by tick 700."""
    watch = Watch(rate)
    assert watch.pace is not None
    for tick in range(1, 101):
        watch.now = tick / rate
        watch.pace.note(tick)
    watch.now += 60.0
    for tick in range(101, 701):
        watch.now += 0.005
        watch.pace.note(tick)
    return watch


def test_a_host_that_catches_up_counts_no_more_ticks_than_its_pace_gives() -> None:
    watch = stopped()
    watch.now += 0.005
    assert watch.took(key(501), 200, tick=701) == 10  # a second went by
    assert watch.took(key(100), 5, tick=701) == 5, "what was answered meanwhile took few ticks"
    assert watch.took(key(100_000), 7, tick=701) == 7, "of a tick from before this host nothing is known"


def test_a_job_that_is_late_while_the_host_catches_up_is_as_old_as_its_time() -> None:
    watch, job = stopped(), key(680)
    watch.look(701, running={"a": job})
    assert watch.overdue(701, job) == [Overdue(job, 1)]  # a tenth of a second


def test_a_host_that_is_too_slow_for_its_pace_counts_its_ticks() -> None:
    watch = Watch(10.0)
    assert watch.pace is not None
    for tick in range(1, 11):
        watch.now += 1.0
        watch.pace.note(tick)
    assert watch.took(key(1), 9, tick=10) == 9
