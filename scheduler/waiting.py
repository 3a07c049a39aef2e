"""Waiting for results in real time: leases of attempts, and hints that are repeated.

Hints are repeated while their job is open and unclaimed, without limit, but ever more rarely for one job: a queue
that is long because workers are slow must not be flooded with duplicates.

Only the host expires a lease: when for `lease` seconds of its own monotonic clock it has seen the same token
and the same heartbeat of that worker. A resumed host starts every lease anew. No TTL, no wall clock and no
clock of Redis decides anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from scheduler.controls import Asked, wanted_mode
from scheduler.ledger import Apply, Collected, HostLedger, Row
from scheduler.open_jobs import OpenJob
from tasks.job import Job, JobKey

log = structlog.get_logger()

Publish = Callable[[Sequence[Job]], int]

ASKED_AGAIN = 1.0  # seconds after which a paused host looks whether it still holds its run, or is to stop
MOST_INTERVALS = 16  # hint intervals between two hints of one job, at most


class Leases:
    """What the host has seen of running attempts."""

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._seen: dict[str, tuple[int, float]] = {}  # token -> (heartbeat, since)

    def watch(self, collected: Collected, now: float) -> list[str]:
        """Take note of tokens and heartbeats; returns the tokens whose lease has run out at `now`."""
        seen: dict[str, tuple[int, float]] = {}
        expired = []
        for token, attempt in sorted(collected.attempts.items()):
            beat = collected.beats.get(attempt.worker, 0)
            before = self._seen.get(token)
            since = before[1] if before is not None and before[0] == beat else now
            seen[token] = (beat, since)
            if now - since > self._lease:
                expired.append(token)
        self._seen = seen
        return expired


class Hints:
    """When each unclaimed job's hint is repeated: after one interval, then two, four, … up to `MOST_INTERVALS`."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._next: dict[JobKey, tuple[float, int]] = {}  # when to repeat, and how many intervals after that

    def published(self, keys: Iterable[JobKey], now: float) -> None:
        """Hints of these jobs were published for the first time."""
        for key in keys:
            self._next[key] = (now + self._interval, 2)

    def repeat(self, unclaimed: Sequence[JobKey], now: float) -> list[JobKey]:
        """Those of the unclaimed jobs whose hint is to be repeated now; all others are forgotten."""
        again, kept = [], {}
        for key in unclaimed:
            at, intervals = self._next.get(key, (now, 1))
            if at <= now:
                again.append(key)
                at, intervals = now + self._interval * intervals, min(2 * intervals, MOST_INTERVALS)
            kept[key] = (at, intervals)
        self._next = kept
        return again


class Waiting:
    """Collects what is due, waiting for it as long as allowed."""

    def __init__(
        self,
        ledger: HostLedger,
        publish: Publish,
        *,
        apply: Apply,
        wait: float,
        lease: float,
        hint_interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._publish = publish
        self._apply: Apply = apply
        self._wait = wait
        self._interval = hint_interval
        self._clock = clock
        self._leases = Leases(lease)
        self._hints = Hints(hint_interval)
        self._looked = clock()
        self.asked: Sequence[Asked | None] = ()  # of operators, as the ledger last showed it; not applied yet

    def hint(self, jobs: Sequence[Job]) -> None:
        """Publish messages for jobs that were just admitted."""
        self._publish(jobs)
        self._hints.published((job.key for job in jobs), self._clock())

    def gather(self, tick: int, known: list[Row] | None, jobs: Mapping[JobKey, OpenJob]) -> list[Row]:
        """The rows due at `tick`: all staged, or as they are when the wait is over.

        Args:
            known: what the last step already said, or None.
        """
        began = self._clock()
        stale = self._apply == "ready" or began - self._looked >= self._interval
        last = self._wait == 0  # nothing that arrives after this is seen
        rows = self._look(tick, jobs) if known is None or stale or (last and _out(known)) else known
        while _out(rows) and (left := began + self._wait - self._clock()) > 0:
            self._ledger.wait_ready(tick, min(left, self._interval))
            rows = self._look(tick, jobs)
        return [row for row in rows if row.key in jobs]

    def pause(self, tick: int, stopping: Callable[[], bool]) -> None:
        """Wait until an operator lets the run go on at `tick`, drains or cancels it, or this host is to stop."""
        while not stopping():
            self.asked = self._ledger.collect(tick, self._apply).asked
            if wanted_mode(self.asked) not in (None, "paused"):
                self._ledger.go_on()
                return
            self._ledger.wait_asked(ASKED_AGAIN)

    def _look(self, tick: int, jobs: Mapping[JobKey, OpenJob]) -> list[Row]:
        collected = self._ledger.collect(tick, self._apply)
        now = self._looked = self._clock()
        expired = self._leases.watch(collected, now)
        if expired:
            for token in expired:
                attempt = collected.attempts[token]
                log.warning("lease.expired", run=self._ledger.run, job=attempt.job, worker=attempt.worker)
            collected = self._ledger.collect(tick, self._apply, expired)
        self.asked = collected.asked
        unclaimed = [key for key in map(JobKey.parse, collected.unclaimed) if key in jobs]
        again = self._hints.repeat(unclaimed, now)
        if again:
            self._publish([jobs[key].job for key in again])
        return collected.rows


def _out(rows: Sequence[Row]) -> bool:
    return any(row.state == "open" for row in rows)
