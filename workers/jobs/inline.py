"""A publisher that runs jobs at once in the host's own process, for a host's tests and small experiments.

Ledger, jobs and digest are the same as with worker processes; there are only no messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis import Redis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claims
from cogitate.tasks.job import Job
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.runner import Runner


class InlinePublisher:
    """A replacement of the broker, which runs a published job before `publish` returns."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        claims = Claims(client, worker="inline")
        self._runner = Runner(client, claims, Heartbeat(claims.beat, settings.tuning.lease / 5), settings)

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run the jobs in order and return their number."""
        for job in jobs:
            self._runner.run(job.id)
        return len(jobs)

    def close(self) -> None:
        """Close the connections that jobs have opened."""
        self._runner.close()
