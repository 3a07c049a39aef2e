"""Other queues' ways to publish a tick's jobs, for `python -m bench enqueue`: those that the extra `bench` installs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from redis.asyncio import Redis

from tasks.job import Job

Way = tuple[Callable[[Sequence[Job]], object], int]  # publishes the jobs; how many it gets in one round
TICK = 100


@contextmanager
def peer_ways(url: str) -> Iterator[dict[str, Way]]:
    """Yield the ways of the peers that are installed, by name, on the Redis at this URL."""
    peers = {"dramatiq": _dramatiq, "taskiq_redis": _taskiq, "bullmq": _bullmq}
    with ExitStack() as stack:
        found: dict[str, Way] = {}
        for package, ways in peers.items():
            if find_spec(package) is not None:
                found |= ways(url, stack)
        yield found


def _dramatiq(url: str, stack: ExitStack) -> dict[str, Way]:
    broker = _module("dramatiq.brokers.redis").RedisBroker(url=url)
    stack.callback(broker.close)

    def plan(job_id: str) -> None:
        """Do nothing: nobody runs it."""

    actor = _module("dramatiq").actor(plan, broker=broker)

    def publish(tick: Sequence[Job]) -> None:
        for job in tick:
            actor.send(job.id)

    return {f"Dramatiq's send, {TICK} a tick": (publish, TICK)}


def _taskiq(url: str, stack: ExitStack) -> dict[str, Way]:
    broker = _module("taskiq_redis").ListQueueBroker(url)
    run = _loop(stack, broker.shutdown)

    async def plan(job_id: str) -> None:
        """Do nothing: nobody runs it."""

    task = broker.task(task_name="plan")(plan)

    async def publish(tick: Sequence[Job]) -> None:
        await asyncio.gather(*(task.kiq(job.id) for job in tick))

    return {f"taskiq's kiq, {TICK} gathered": (lambda tick: run(publish(tick)), TICK)}


def _bullmq(url: str, stack: ExitStack) -> dict[str, Way]:
    client = Redis.from_url(url, decode_responses=True)
    queue = _module("bullmq").Queue("plan", {"connection": client})
    run = _loop(stack, client.aclose)

    async def publish(tick: Sequence[Job]) -> None:
        await queue.addBulk([{"name": "plan", "data": {"id": job.id}, "opts": {}} for job in tick])

    return {f"BullMQ's addBulk, {TICK} a tick": (lambda tick: run(publish(tick)), TICK)}


def _module(name: str) -> Any:
    """Return a module that need not be installed where this one is checked."""
    return import_module(name)


def _loop(stack: ExitStack, close: Callable[[], Coroutine[Any, Any, Any]]) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Return what runs a coroutine on an event loop that lives as long as the stack."""
    runner = stack.enter_context(asyncio.Runner())
    stack.callback(lambda: runner.run(close()))
    return runner.run
