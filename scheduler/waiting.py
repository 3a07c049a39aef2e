"""Waiting for results in real time: leases of attempts, and hints that are repeated.

Only the host expires a lease: when for `lease` seconds of its own monotonic clock it has seen the same token
and the same heartbeat of that worker. A resumed host starts every lease anew. No TTL, no wall clock and no
clock of Redis decides anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import structlog

from scheduler.ledger import Apply, Collected, HostLedger, Row
from scheduler.open_jobs import OpenJob
from tasks.job import Job, JobKey

log = structlog.get_logger()

Publish = Callable[[Sequence[Job]], int]


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
        self._hinted: dict[JobKey, float] = {}
        self._looked = clock()

    def hint(self, jobs: Sequence[Job]) -> None:
        """Publish messages for jobs that were just admitted."""
        self._publish(jobs)
        now = self._clock()
        for job in jobs:
            self._hinted[job.key] = now

    def gather(self, tick: int, known: list[Row] | None, jobs: Mapping[JobKey, OpenJob]) -> list[Row]:
        """The rows due at `tick`: all staged, or as they are when the wait is over.

        Args:
            known: what the last step already said, or None.
        """
        rows = known
        if self._clock() - self._looked >= self._interval:
            rows = self._look(tick, jobs)
        if rows is None or (_out(rows) and self._wait == 0) or self._apply == "ready":
            rows = self._look(tick, jobs)
        deadline = self._clock() + self._wait
        while _out(rows) and (left := deadline - self._clock()) > 0:
            self._ledger.wait_ready(tick, min(left, self._interval))
            rows = self._look(tick, jobs)
        return [row for row in rows if row.key in jobs]

    def _look(self, tick: int, jobs: Mapping[JobKey, OpenJob]) -> list[Row]:
        collected = self._ledger.collect(tick, self._apply)
        now = self._looked = self._clock()
        expired = self._leases.watch(collected, now)
        if expired:
            for token in expired:
                attempt = collected.attempts[token]
                log.warning("lease.expired", run=self._ledger.run, job=attempt.job, worker=attempt.worker)
            collected = self._ledger.collect(tick, self._apply, expired)
        again = []
        for text in collected.unclaimed:
            key = JobKey.parse(text)
            if key in jobs and now - self._hinted.get(key, 0.0) >= self._interval:
                again.append(jobs[key].job)
                self._hinted[key] = now
        if again:
            self._publish(again)
        self._hinted = {key: at for key, at in self._hinted.items() if key in jobs}
        return collected.rows


def _out(rows: Sequence[Row]) -> bool:
    return any(row.state == "open" for row in rows)
