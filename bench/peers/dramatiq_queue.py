"""Dramatiq with its defaults: `send` for each message, results polled one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import ResultMissing, Results
from dramatiq.results.backends.redis import RedisBackend

from bench.peers.queue import AT_ONCE, Queue, asked_queue, set_mark


class DramatiqQueue:
    """A broker with two actors."""

    worker = (
        *("-m", "dramatiq", "bench.peers.dramatiq_queue:set_worker_broker"),
        *("--processes", "1", "--threads", str(AT_ONCE)),
    )

    def __init__(self, url: str, *, results: bool) -> None:
        self.broker: Any = RedisBroker(url=url)
        self._backend: Any = RedisBackend(url=url)
        if results:
            self.broker.add_middleware(Results(backend=self._backend, store_results=True))
        self._nothing: Any = dramatiq.actor(actor_name="nothing", broker=self.broker)(nothing)
        self._mark: Any = dramatiq.actor(actor_name="mark", broker=self.broker)(set_mark)
        self._published: list[Any] = []

    def publish(self, ids: Sequence[str]) -> None:
        """Send a message for each id."""
        self._published = [self._nothing.send(job_id) for job_id in ids]

    def mark(self, key: str) -> None:
        """Send a message that sets a key."""
        self._mark.send(key)

    def results(self) -> int:
        """Poll the result of each message."""
        return sum(map(self._is_done, self._published))

    def _is_done(self, message: Any) -> bool:
        try:
            message.get_result(backend=self._backend)
        except ResultMissing:
            return False
        return True

    def close(self) -> None:
        """Close the connections."""
        self.broker.close()
        self._backend.client.close()


def nothing(job_id: str) -> None:
    """Do nothing."""


def open_queue(url: str, *, results: bool) -> Queue:
    """Return the queue on the Redis at this URL."""
    return DramatiqQueue(url, results=results)


def set_worker_broker() -> None:
    """Give a worker its broker."""
    url, results = asked_queue()
    dramatiq.set_broker(DramatiqQueue(url, results=results).broker)
