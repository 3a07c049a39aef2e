"""The sender of hints to Redis: those of a tick in one round trip.

A hint that still waits there is not queued a second time: behind a long queue, most turns of the run would go to jobs
that are done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from cogitate.tasks.job import Job
from cogitate.workers.transport.hints import ASKING, QUICK, Line, Render, queue_hints
from cogitate.workers.transport.outage_log import OutageLog
from cogitate.workers.transport.queued_hints import QueuedHints

CHUNK = 500  # messages in one LPUSH; some 0.5 MB, far below the server's limits


class RedisSender:
    """A sender to a Redis server.

    Args:
        prefix: of the keys of all queues.
        share: of the run, as `worker_share`.
        timeout: in seconds, of each command.
    """

    def __init__(self, url: str, *, prefix: str, share: int, timeout: float) -> None:
        self._prefix = prefix
        self._share = share
        self._client: Redis = Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),  # the next tick is the retry
        )
        self._queued = QueuedHints(self._client)
        self._outage = OutageLog()

    def send(self, jobs: Sequence[Job], render: Render) -> int:
        """Queue a hint for every job, all of one run, unless one waits; return for how many there is one.

        Returns 0 if the server is away.
        """
        try:
            self._queue(jobs, render)
        except (RedisError, OSError) as error:
            self._outage.failed(len(jobs), type(error).__name__)
            return 0
        self._outage.taken(len(jobs))
        return len(jobs)

    def _queue(self, jobs: Sequence[Job], render: Render) -> None:
        waiting = self._queued.waiting(job.id for job in jobs)
        messages: defaultdict[Line, list[str]] = defaultdict(list)
        for job in jobs:
            if job.id not in waiting:
                line = Line(self._prefix + job.key.kind, ASKING if job.model else QUICK, job.run, self._share)
                messages[line].append(render(job, self._queued.tag(line, job.id)))
        with self._client.pipeline(transaction=False) as pipe:
            for line, texts in messages.items():
                for start in range(0, len(texts), CHUNK):
                    queue_hints(pipe, *line, texts[start : start + CHUNK])
            pipe.execute()

    def await_confirms(self, timeout: float) -> bool:
        """Return that no hint is on its way: Redis has answered `send`, or was away."""
        return not self._outage.away

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
