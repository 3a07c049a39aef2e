"""BullMQ's Python client with its defaults: `addBulk` for a tick, completed jobs read in one call.

It has no worker command, so this module is the worker. It keeps every job with its result, as BullMQ does by default.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import bullmq

from bench.peers import queue
from bench.peers.queue import AT_ONCE, Queue, asked_queue


class BullmqQueue:
    """A queue, and the event loop of a host that uses it."""

    worker = ("-m", "bench.peers.bullmq_queue")

    def __init__(self, url: str) -> None:
        self._loop = asyncio.Runner()
        self._queue: Any = self._loop.run(_opened(url))
        self._published: set[str] = set()

    def publish(self, ids: Sequence[str]) -> None:
        """Add all jobs in one call."""
        added = self._loop.run(self._queue.addBulk([_job("nothing", job_id) for job_id in ids]))
        self._published = {job.id for job in added}

    def mark(self, key: str) -> None:
        """Add a job that sets a key."""
        self._loop.run(self._queue.addBulk([_job("mark", key)]))

    def results(self) -> int:
        """Read as many completed jobs as were added, and the mark."""
        completed = self._loop.run(self._queue.getCompleted(0, len(self._published)))
        return len(self._published & {job.id for job in completed})

    def close(self) -> None:
        """Close the connection."""
        self._loop.run(self._queue.close())
        self._loop.close()


async def _opened(url: str) -> Any:
    return bullmq.Queue("plan", {"connection": url})


def _job(name: str, argument: str) -> dict[str, Any]:
    return {"name": name, "data": {"id": argument}, "opts": {}}


def open_queue(url: str, *, results: bool) -> Queue:
    """Return the queue on the Redis at this URL; it always stores results."""
    return BullmqQueue(url)


async def do(job: Any, token: str) -> None:
    """Do nothing, or set a key."""
    if job.name == "mark":
        queue.set_mark(job.data["id"])


async def work() -> None:
    """Do jobs until the process is killed."""
    url, _ = asked_queue()
    bullmq.Worker("plan", do, {"connection": url, "concurrency": AT_ONCE})
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work())
