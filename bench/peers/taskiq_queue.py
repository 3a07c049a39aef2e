"""taskiq with its defaults: `kiq` for all tasks of a tick together, results polled together.

Its queue is a list without acknowledgements. Results are JSON instead of the default pickle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from taskiq.serializers import JSONSerializer
from taskiq_redis import ListQueueBroker, RedisAsyncResultBackend

from bench.peers.queue import Queue, asked_queue, set_mark


class TaskiqQueue:
    """A broker, and the event loop of a host that uses it."""

    worker = ("-m", "taskiq", "worker", "bench.peers.taskiq_queue:worker_broker", "--workers", "1")

    def __init__(self, url: str, *, results: bool) -> None:
        self._broker, self._loop = make_broker(url, results=results), asyncio.Runner()
        self._published: list[Any] = []

    def publish(self, ids: Sequence[str]) -> None:
        """Kick a task for each id."""
        self._published = self._loop.run(self._kicked("nothing", ids))

    def mark(self, key: str) -> None:
        """Kick a task that sets a key."""
        self._loop.run(self._kicked("mark", [key]))

    async def _kicked(self, name: str, arguments: Sequence[str]) -> list[Any]:
        task: Any = self._broker.find_task(name)
        return await asyncio.gather(*(task.kiq(argument) for argument in arguments))

    def results(self) -> int:
        """Poll the result of each task."""
        return sum(self._loop.run(self._done()))

    async def _done(self) -> list[bool]:
        return await asyncio.gather(*map(_is_done, self._published))

    def close(self) -> None:
        """Close the connections."""
        self._loop.run(self._broker.shutdown())
        self._loop.close()


async def _is_done(task: Any) -> bool:
    if not await task.is_ready():
        return False
    await task.get_result()
    return True


def make_broker(url: str, *, results: bool) -> Any:
    """Return a broker with two tasks."""
    broker: Any = ListQueueBroker(url)
    if results:
        broker = broker.with_result_backend(RedisAsyncResultBackend(url, serializer=JSONSerializer()))
    broker.register_task(nothing, task_name="nothing")
    broker.register_task(mark, task_name="mark")
    return broker


async def nothing(job_id: str) -> None:
    """Do nothing."""


async def mark(key: str) -> None:
    """Set a key."""
    set_mark(key)


def open_queue(url: str, *, results: bool) -> Queue:
    """Return the queue on the Redis at this URL."""
    return TaskiqQueue(url, results=results)


def worker_broker() -> Any:
    """Return a worker's broker."""
    url, results = asked_queue()
    return make_broker(url, results=results)
