"""A publisher that runs jobs synchronously in the host's process, for a host's tests and small experiments.

The ledger, the jobs and the digest are the same as with worker processes; only the messages are missing.
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
    """A substitute for the broker that runs each published job before `publish` returns."""

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
