"""Waiting with a clock of the test's own: leases run out by what the host has seen, hints grow rare."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scheduler_case import ANN, BOB, open_job

from scheduler.ledger import Attempt, Collected, Row
from scheduler.open_jobs import OpenJob
from scheduler.waiting import MOST_INTERVALS, Hints, Leases, Waiting
from tasks.job import Job, JobKey

LEASE = 15.0


def look(beats: dict[str, int], **attempts: str) -> Collected:
    """What a host sees: attempts by token, each with its worker, and the workers' heartbeats."""
    running = {token: Attempt(job="1/think/agent:a/0/0", worker=worker, tick=1) for token, worker in attempts.items()}
    return Collected(rows=[], attempts=running, beats=beats, unclaimed=[])


def test_a_lease_runs_out_after_its_time_without_a_heartbeat() -> None:
    leases = Leases(LEASE)
    for now in (100.0, 107.0, 115.0):
        assert leases.watch(look({"w": 3}, t="w"), now) == []
    assert leases.watch(look({"w": 3}, t="w"), 115.1) == ["t"]


def test_a_heartbeat_begins_it_anew() -> None:
    leases = Leases(LEASE)
    assert leases.watch(look({"w": 3}, t="w"), 100.0) == []
    assert leases.watch(look({"w": 4}, t="w"), 114.0) == []
    assert leases.watch(look({"w": 4}, t="w"), 128.0) == []
    assert leases.watch(look({"w": 4}, t="w"), 130.0) == ["t"]


def test_another_token_is_another_lease() -> None:
    leases = Leases(LEASE)
    leases.watch(look({"w": 3}, t="w"), 100.0)
    assert leases.watch(look({"w": 3}, u="w"), 120.0) == []
    assert leases.watch(look({"w": 3}, t="w", u="w"), 130.0) == []
    assert leases.watch(look({"w": 3}, t="w", u="w"), 136.0) == ["u"]


def test_only_the_dead_workers_attempts_expire() -> None:
    leases = Leases(LEASE)
    for now in range(0, 20, 5):
        assert leases.watch(look({"dead": 1, "live": now}, a="dead", b="live", c="dead"), float(now)) == []
    assert leases.watch(look({"dead": 1, "live": 99}, a="dead", b="live", c="dead"), 20.0) == ["a", "c"]


def test_a_worker_that_never_beat_has_a_lease_too() -> None:
    leases = Leases(LEASE)
    assert leases.watch(look({}, t="w"), 0.0) == []
    assert leases.watch(look({}, t="w"), 16.0) == ["t"]


def test_a_resumed_host_begins_every_lease_anew() -> None:
    first = Leases(LEASE)
    first.watch(look({"w": 3}, t="w"), 0.0)
    second = Leases(LEASE)
    assert second.watch(look({"w": 3}, t="w"), 1000.0) == []
    assert second.watch(look({"w": 3}, t="w"), 1015.0) == []
    assert second.watch(look({"w": 3}, t="w"), 1015.1) == ["t"]


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=30))
def test_no_lease_runs_out_early(looks: list[tuple[float, bool]]) -> None:
    leases, now, beat, since = Leases(LEASE), 0.0, 0, 0.0
    for n, (later, beats) in enumerate(looks):
        now += later
        if beats or n == 0:
            beat, since = beat + 1, now
        assert bool(leases.watch(look({"w": beat}, t="w"), now)) == (now - since > LEASE)


# -- hints -------------------------------------------------------------------------------------------

KEYS = [open_job(owner=f"agent:{i}").job.key for i in range(50)]


def test_hints_are_repeated_ever_more_rarely_but_without_end() -> None:
    hints, at = Hints(1.0), []
    hints.published(KEYS[:1], 0.0)
    for tenth in range(2000):
        if hints.repeat(KEYS[:1], tenth / 10):
            at.append(tenth / 10)
    assert at[:5] == [1.0, 3.0, 7.0, 15.0, 31.0]
    gaps = [b - a for a, b in pairwise(at)]
    assert max(gaps) == MOST_INTERVALS
    assert at[-1] > 2000 / 10 - 2 * MOST_INTERVALS


def test_a_long_queue_is_not_flooded() -> None:
    hints = Hints(1.0)
    hints.published(KEYS, 0.0)
    sent = sum(len(hints.repeat(KEYS, float(second))) for second in range(600))
    assert sent <= len(KEYS) * (4 + 600 / MOST_INTERVALS + 1)


def test_what_is_new_or_free_again_is_hinted_at_once() -> None:
    hints = Hints(1.0)
    assert hints.repeat(KEYS[:2], 5.0) == KEYS[:2], "a resumed host knows nothing of what was published"
    assert hints.repeat(KEYS[:1], 5.5) == []
    assert hints.repeat([], 6.0) == [], "both are claimed"
    assert hints.repeat(KEYS[:1], 6.1) == KEYS[:1], "one is free again"


def test_a_job_just_published_waits_for_an_interval() -> None:
    hints = Hints(1.0)
    hints.published(KEYS[:1], 0.0)
    assert hints.repeat(KEYS[:1], 0.9) == []
    assert hints.repeat(KEYS[:1], 1.0) == KEYS[:1]


# -- gathering ---------------------------------------------------------------------------------------


class FakeLedger:
    """A ledger whose rows change as time goes by; blocking moves the clock."""

    run = "r"

    def __init__(self, staged_at: dict[JobKey, float]) -> None:
        self.now, self.staged_at = 0.0, staged_at
        self.attempts: dict[str, Attempt] = {}
        self.looks: list[tuple[float, tuple[str, ...]]] = []

    def collect(self, tick: int, apply: str, expired: Sequence[str] = ()) -> Collected:
        self.looks.append((self.now, tuple(expired)))
        rows = [Row(key, "staged" if at <= self.now else "open", None, 1) for key, at in self.staged_at.items()]
        return Collected(rows, self.attempts, {}, [row.key.text() for row in rows if row.state == "open"])

    def wait_ready(self, due: int, timeout: float) -> bool:
        last = max(self.staged_at.values())
        woken = last <= self.now + timeout
        self.now = max(self.now, last) if woken else self.now + timeout
        return woken


JOBS: dict[JobKey, OpenJob] = {item.job.key: item for item in (open_job(owner=ANN), open_job(owner=BOB))}
FIRST, SECOND = JOBS


def waiting(ledger: FakeLedger, wait: float, apply: Any = "due", lease: float = LEASE) -> tuple[Waiting, list[Job]]:
    published: list[Job] = []

    def publish(jobs: Sequence[Job]) -> int:
        published.extend(jobs)
        return len(jobs)

    built = Waiting(
        ledger,  # type: ignore[arg-type]  # as much of a ledger as is needed
        publish,
        apply=apply,
        wait=wait,
        lease=lease,
        hint_interval=1.0,
        clock=lambda: ledger.now,
    )
    return built, published


def states(rows: list[Row]) -> set[str]:
    return {row.state for row in rows}


def test_what_the_last_step_said_is_enough_when_nothing_is_out() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    rows = [Row(FIRST, "staged", None, 1)]
    assert waiting(ledger, 60.0)[0].gather(5, rows, JOBS) == rows
    assert ledger.looks == []


def test_a_boundary_waits_for_what_is_out() -> None:
    ledger = FakeLedger({FIRST: 2.5, SECOND: 7.25})
    rows = waiting(ledger, 60.0)[0].gather(5, None, JOBS)
    assert states(rows) == {"staged"}
    assert ledger.now == 7.25, "it was woken by the last one"


def test_a_boundary_waits_no_longer_than_it_may() -> None:
    ledger = FakeLedger({FIRST: 2.5, SECOND: 99.0})
    rows = waiting(ledger, 10.0)[0].gather(5, None, JOBS)
    assert states(rows) == {"staged", "open"}
    assert ledger.now == 10.0


def test_without_a_wait_it_looks_once_more() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    known = [Row(FIRST, "open", None, 1)]
    assert states(waiting(ledger, 0.0)[0].gather(5, known, JOBS)) == {"staged"}
    assert len(ledger.looks) == 1


def test_a_host_that_prefers_freshness_looks_at_every_boundary() -> None:
    ledger = FakeLedger({FIRST: 0.0})
    built, _ = waiting(ledger, 0.0, "ready")
    for _ in range(3):
        built.gather(5, [], JOBS)
    assert len(ledger.looks) == 3


def test_rows_that_are_no_open_jobs_are_left_out() -> None:
    ledger = FakeLedger({KEYS[0]: 0.0, FIRST: 0.0})
    assert [row.key for row in waiting(ledger, 60.0)[0].gather(5, None, JOBS)] == [FIRST]


def test_unclaimed_jobs_are_hinted_while_it_waits() -> None:
    ledger = FakeLedger({FIRST: 40.0})
    built, published = waiting(ledger, 60.0)
    built.hint([JOBS[FIRST].job])
    built.gather(5, None, JOBS)
    assert ledger.now == 40.0
    assert [job.key for job in published] == [FIRST] * len(published)
    assert 5 <= len(published) <= 8, "once at first, then after 1, 2, 4, 8 and 16 seconds"


def test_lost_leases_are_expired_while_it_waits() -> None:
    ledger = FakeLedger({FIRST: 99.0})
    ledger.attempts = {"t": Attempt(job=FIRST.text(), worker="dead", tick=1)}
    waiting(ledger, 20.0)[0].gather(5, None, JOBS)
    expired = [now for now, tokens in ledger.looks if tokens == ("t",)]
    assert expired
    assert expired[0] > LEASE
    assert expired[0] <= LEASE + 2
