"""Running jobs in the host's own process, at once: for a host's tests and for small experiments.

The same ledger, the same jobs, the same digest as with worker processes; only the messages are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis import Redis

from scheduler.config.settings import Settings
from scheduler.ledger.claims import Claims
from tasks.job import Job
from workers.jobs.heartbeat import Heartbeat
from workers.jobs.runner import Runner


class InlinePublisher:
    """Takes the place of the broker: a published job is run before `publish` returns."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        claims = Claims(client, worker="inline")
        self._runner = Runner(client, claims, Heartbeat(claims.beat, settings.lease / 5), settings)

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run the jobs, in order; returns how many."""
        for job in jobs:
            self._runner.run(job.id)
        return len(jobs)

    def close(self) -> None:
        """Close what jobs have opened."""
        self._runner.close()
