"""Wait for results in real time, expire leases of attempts, and repeat hints.

The host repeats the hint of an open, unclaimed job without limit, but at growing intervals; the publisher skips hints
that still wait in the broker.

Only the host expires a lease: after it has seen the same token and the same heartbeat of its worker for `lease` seconds
of its monotonic clock. A resumed host starts every lease anew. No TTL, wall clock or clock of Redis decides anything.
While the ledger is away, workers cannot send heartbeats, so leases do not expire.

There may be no workers. After a boundary has waited its full time without any activity (a claim, a heartbeat, a
result), later boundaries do not wait until they see some.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from cogitate.scheduler.config.controls import wanted_mode
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.ledger.ledger import Apply, HostLedger
from cogitate.scheduler.ledger.step_replies import BoundaryInput, Collected, DueJob
from cogitate.scheduler.tick.pace import ModelTimes, Pace
from cogitate.tasks.job import Job, JobKey

log = structlog.get_logger()

Publish = Callable[[Sequence[Job]], int]

ASKED_AGAIN = 1.0  # seconds after which a paused host checks whether it still holds its run, or must stop
MOST_INTERVALS = 16  # most hint intervals between two hints of one job
LOOKS_A_LEASE = 4  # fewest readings without a new heartbeat before a lease expires


class Leases:
    """The leases of running attempts, measured by the heartbeats that the host reads.

    Between two readings, at most a part of a lease counts: during a longer gap the host saw nothing, and workers may
    have been unable to send heartbeats, for instance while the server stalled.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._time = 0.0  # seconds that count so far
        self._looked: float | None = None
        self._seen: dict[str, tuple[int, float]] = {}  # token -> (heartbeat, since)

    def watch(self, collected: Collected, now: float) -> list[str]:
        """Note tokens and heartbeats, and return the tokens whose lease has expired at `now`."""
        if self._looked is not None:
            self._time += min(now - self._looked, self._lease / LOOKS_A_LEASE)
        self._looked, now = now, self._time
        seen: dict[str, tuple[int, float]] = {}
        expired = []
        for token, attempt in sorted(collected.attempts.items()):
            if attempt.batched:
                continue
            beat = collected.beats.get(attempt.worker, 0)
            before = self._seen.get(token)
            since = before[1] if before is not None and before[0] == beat else now
            seen[token] = (beat, since)
            if now - since > self._lease:
                expired.append(token)
        self._seen = seen
        return expired


class Hints:
    """The schedule of repeated hints for unclaimed jobs: after 1, 2, 4, … up to `MOST_INTERVALS` intervals."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._next: dict[JobKey, tuple[float, int]] = {}  # time of the next hint, and the intervals after it

    def published(self, keys: Iterable[JobKey], now: float) -> None:
        """Note the first hints of these jobs."""
        for key in keys:
            self._next[key] = (now + self._interval, 2)

    def repeat(self, unclaimed: Sequence[JobKey], now: float) -> list[JobKey]:
        """Return the unclaimed jobs whose hints are due again, and forget all other jobs."""
        again, kept = [], {}
        for key in unclaimed:
            at, intervals = self._next.get(key, (now, 1))
            if at <= now:
                again.append(key)
                at, intervals = now + self._interval * intervals, min(2 * intervals, MOST_INTERVALS)
            kept[key] = (at, intervals)
        self._next = kept
        return again


class WorkerActivity:
    """Watches claims, heartbeats and results, which show that there are workers to wait for."""

    def __init__(self) -> None:
        self._seen: frozenset[object] = frozenset()
        self.silence = 0.0  # seconds that boundaries have waited since the last sign

    def look(self, collected: Collected) -> None:
        staged = (row.key for row in collected.boundary.rows if row.state == "staged")
        signs = frozenset([*collected.attempts, *collected.beats.items(), *staged])
        if not signs <= self._seen:
            self.silence = 0.0
        self._seen = signs


class ResultCollector:
    """Collects results for boundaries, and waits for them as long as allowed.

    Args:
        workers_left: returns whether a worker of this host lives or will be restarted; if not, the host waits for other
            workers no longer than a lease. None: unknown.
        pace: of the host; None: its ticks have no real duration.
        awaited: returns the jobs that ended late and count as slow until their answers arrive.
        needs_worker: returns whether an open job still needs a worker.
        repeats: returns whether this is a fork that repeats its source, whose new jobs need no hints.
    """

    def __init__(
        self,
        ledger: HostLedger,
        publish: Publish,
        *,
        apply: Apply,
        wait: float,
        lease: float,
        hint_interval: float,
        workers_left: Callable[[], bool] | None = None,
        pace: Pace | None = None,
        awaited: Callable[[], Iterable[JobKey]] = tuple,
        needs_worker: Callable[[JobKey], bool] = lambda key: True,
        repeats: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._publish = publish
        self._apply: Apply = apply
        self._wait = wait
        self._lease = lease
        self._interval = min(hint_interval, lease / LOOKS_A_LEASE)  # most seconds between two readings
        self._workers_left = workers_left
        self._needs_worker = needs_worker
        self._repeats = repeats
        self._holds_back = pace is not None and wait == 0
        self._held_back: list[Job] = []  # jobs without a hint so far
        self._clock = clock
        self._leases = Leases(lease)
        self._life = WorkerActivity()
        self._times = ModelTimes(lease=lease, interval=hint_interval, pace=pace, awaited=awaited)
        self._hints = Hints(hint_interval)
        self._looked = -math.inf if repeats() else clock()  # when a fork parts, its open jobs have no hint yet
        self.interrupted = False  # set by another thread: stop waiting, because the tick is no longer needed

    def to_hint(self, opened: Sequence[Job], tick: int) -> list[Job]:
        """Return the jobs to hint with a tick that has opened some.

        Hints of jobs that ask no model wait for the next tick: by then, a paced host with idle time has computed their
        heuristics, and workers have more time for models.
        """
        if self._repeats():
            return []
        hinted = [job for job in self._held_back if self._needs_worker(job.key)]
        self._held_back = [job for job in opened if self._holds_back and not job.model and job.due > tick + 1]
        held_back = {job.key for job in self._held_back}
        return hinted + [job for job in opened if job.key not in held_back]

    def hint(self, jobs: Sequence[Job]) -> None:
        """Publish hints for jobs that have just been admitted."""
        self._publish(jobs)
        self._hints.published((job.key for job in jobs), self._clock())

    def gather(self, tick: int, known: BoundaryInput | None, jobs: Mapping[JobKey, OpenJob]) -> BoundaryInput:
        """Return the input of the boundary of `tick`: all due results, or those that arrived within the wait.

        Args:
            known: the input from the last commit's reply, if any.
            jobs: the open jobs.
        """
        began, lost = self._clock(), self._ledger.lost
        stale = self._apply == "ready" or began - self._looked >= self._interval
        last = self._wait == 0 or self._deserted()  # the boundary will not wait, so this reading is its last
        look = known is None or stale or (last and _has_open(known))
        shown = self._look(tick, jobs) if look else known
        while shown is not None and _has_open(shown) and not (self._deserted() or self.interrupted):
            now = self._clock()
            left = began + self._wait + (self._ledger.lost - lost) - now
            if left <= 0:
                break
            self._ledger.wait_ready(tick, min(left, self._interval))
            waited = self._clock() - now
            self._life.silence += waited
            known, shown = shown, self._look(tick, jobs)
        if shown is None:  # the ledger is away: use its last reply; all other jobs are late
            shown = known if known is not None else BoundaryInput(_unseen(tick, jobs))
        return self._times.corrected(tick, shown._replace(rows=[row for row in shown.rows if row.key in jobs]))

    def pause(self, tick: int, stopping: Callable[[], bool]) -> None:
        """Wait until an operator resumes the run at `tick`, drains or cancels it, or this host must stop."""
        while not stopping():
            collected = self._ledger.collect(tick, self._apply)
            if collected is not None and wanted_mode(collected.boundary.controls) not in (None, "paused"):
                self._ledger.go_on()
                return
            self._ledger.wait_asked(ASKED_AGAIN)

    def _deserted(self) -> bool:
        abandoned = self._workers_left is not None and not self._workers_left()
        return self._life.silence >= (min(self._wait, self._lease) if abandoned else self._wait) > 0

    def _look(self, tick: int, jobs: Mapping[JobKey, OpenJob]) -> BoundaryInput | None:
        """Read the ledger once, expire leases and repeat hints; return None while the ledger is away."""
        collected = self._ledger.collect(tick, self._apply)
        if collected is None:
            self._times.missed(tick)
            return None
        now = self._looked = self._clock()
        self._life.look(collected)
        expired = self._leases.watch(collected, now)
        if expired:
            for token in expired:
                attempt = collected.attempts[token]
                log.warning("lease.expired", run=self._ledger.run, job=attempt.job, worker=attempt.worker)
            collected = self._ledger.collect(tick, self._apply, expired)
            if collected is None:
                self._times.missed(tick)
                return None
        held_back = {job.key for job in self._held_back}
        hinted = [
            key
            for key in map(JobKey.parse, collected.unclaimed)
            if key in jobs and key not in held_back and self._needs_worker(key)
        ]
        self._times.look(tick, collected._replace(unclaimed=[key.text() for key in hinted]), expired, now)
        again = self._hints.repeat(hinted, now)
        if again:
            self._publish([jobs[key].job for key in again])
        return collected.boundary


def _unseen(tick: int, jobs: Mapping[JobKey, OpenJob]) -> list[DueJob]:
    """Return the due jobs from the host's own knowledge, while the ledger is away."""
    due = sorted(key for key, item in jobs.items() if item.job.due <= tick)
    return [DueJob(key, "open" if jobs[key].admitted else "held", None, 0) for key in due]


def _has_open(shown: BoundaryInput) -> bool:
    return any(row.state == "open" for row in shown.rows)
