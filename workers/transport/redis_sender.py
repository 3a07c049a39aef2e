"""The sender of hints to Redis: those of a tick in one round trip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from cogitate.tasks.job import Job
from cogitate.workers.transport.hints import ASKING, QUICK, queue_hints

CHUNK = 500  # messages in one LPUSH; some 0.5 MB, far below the server's limits


class RedisSender:
    """A sender to a Redis server.

    Args:
        prefix: of the keys of all queues.
        share: of the run, as `worker_share`.
        timeout: in seconds, of each command.
    """

    #: That `send` raises if the server is away.
    errors: tuple[type[Exception], ...] = (RedisError, OSError)

    def __init__(self, url: str, *, prefix: str, share: int, timeout: float) -> None:
        self._prefix = prefix
        self._share = share
        self._client: Redis = Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),  # the next tick is the retry
        )

    def send(self, hints: Sequence[tuple[Job, str]]) -> int:
        """Send hints of one run, each with its rendered message; return how many arrived."""
        messages: defaultdict[tuple[str, int, str], list[str]] = defaultdict(list)
        for job, message in hints:
            messages[job.key.kind, ASKING if job.model else QUICK, job.run].append(message)
        with self._client.pipeline(transaction=False) as pipe:
            for (kind, priority, run), texts in messages.items():
                for start in range(0, len(texts), CHUNK):
                    queue_hints(pipe, self._prefix + kind, priority, run, self._share, texts[start : start + CHUNK])
            pipe.execute()
        return len(hints)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
