"""Inline mode: jobs run at once in the host's process, on a Redis in memory.

The ledger, the jobs and the digest are the same as with worker processes, but there are no messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.claims import Claims
from cogitate.scheduler.tick.result_collector import Publish
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
        """Close the connections that jobs opened."""
        self._runner.close()


def open_inline(client: Redis | None, settings: Settings, resources: ExitStack) -> tuple[Redis, Publish]:
    """Return a client, by default of a new Redis in memory, and a publisher that `resources` closes.

    Raises:
        ConfigurationError: when a limit per real day is set, but no other run could see this run's spending.
    """
    if client is None and settings.llm == "openai":
        check_real_day(settings)
    client = client or redis_in_memory()
    publisher = InlinePublisher(client, settings)
    resources.callback(publisher.close)
    return client, publisher.publish


def check_real_day(settings: Settings) -> None:
    """Check that a run on a Redis in memory has no limit per real day, since no other run would share it."""
    limits = {"real_day_usd": settings.real_day_usd, "real_day_tokens": settings.real_day_tokens}
    if named := [name for name, limit in limits.items() if limit is not None]:
        raise ConfigurationError(
            f"inline=True keeps its state in memory, where no other run sees its spending, so "
            f"{' and '.join(named)} would limit each run alone: share a server (client=redis.Redis.from_url(...)), "
            "leave inline out, or set a limit of the run instead"
        )
