"""Measure a host's cost of publishing a tick's hints, compared with Celery's and kombu's methods, in one run.

Every method sends the same messages to the same real Valkey over its unix socket; the queue is emptied in between. The
rounds alternate between the methods, so that a busy machine slows all of them. Figures are the median round, and the
median, minimum and maximum of the rounds' ratios.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from redis import Redis

from bench.peers.queue import Queue, open_queues
from bench.table import Row, Table
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.celery_app import make_app
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.publish import Publisher, display_args, display_kwargs

ROUNDS = 15
TICK = 100  # jobs per round of the other methods
BASE = "apply_async, one by one"


def jobs(count: int) -> list[Job]:
    """Return a tick's jobs: one plan per agent."""
    return [
        Job(
            run="town",
            key=JobKey(420, "plan", f"agent:resident {number}", 0, 0),
            minute=420,
            due=425,
            reads=(),
            reserved=Cost(calls=1, tokens=1800),
        )
        for number in range(count)
    ]


def ways(settings: Settings) -> dict[str, tuple[Callable[[Sequence[Job]], object], int]]:
    """Return each method of publishing, and its number of jobs per round."""
    app = make_app(settings.messages_url())
    publisher = Publisher(settings)
    task = app.tasks["plan"]

    def apply_async(tick: Sequence[Job]) -> None:
        for job in tick:
            task.apply_async((job.id,), task_id=job.id)

    def batch(tick: Sequence[Job]) -> None:
        with app.amqp.producer_pool.acquire(block=True) as producer, producer.batch():
            for job in tick:
                task.apply_async(
                    (job.id,),
                    task_id=job.id,
                    producer=producer,
                    argsrepr=display_args(job),
                    kwargsrepr=display_kwargs(job),
                )

    return {
        BASE: (apply_async, TICK),
        "kombu's Producer.batch, 100 a tick": (batch, TICK),
        "hints, 1 a tick": (publisher.publish, 1),
        "hints, 25 a tick": (publisher.publish, 25),
        "hints, 100 a tick": (publisher.publish, 100),
        "hints, 1,000 a tick": (publisher.publish, 1000),
    }


def _of(queue: Queue) -> Callable[[Sequence[Job]], object]:
    return lambda tick: queue.publish([job.id for job in tick])


def measure(client: Redis, settings: Settings, rounds: int = ROUNDS) -> Table:
    """Return each method's median cost per message, in microseconds of the host's time."""
    taken: defaultdict[str, list[float]] = defaultdict(list)
    with open_queues(settings.messages_url()) as queues:
        offered = ways(settings)
        for peer, queue in queues.items():
            offered[f"{peer.name}'s {peer.way}, {TICK} a tick"] = (_of(queue), TICK)
        for number in range(rounds + 1):
            for name, (publish, count) in offered.items():
                tick = jobs(count)
                begun = time.perf_counter()
                publish(tick)
                if number:  # the first round opens connections
                    taken[name].append((time.perf_counter() - begun) / count * 1e6)
                client.flushdb()
    rows = []
    for name, costs in taken.items():
        ratios = [base / cost for base, cost in zip(taken[BASE], costs, strict=True)]
        rows.append(Row(name, (median(costs), median(ratios), min(ratios), max(ratios))))
    columns = ("µs a job", "times cheaper", "least", "most")
    return Table("Publishing one tick's hints", columns, tuple(rows), f"Medians of {rounds} rounds.", decimals=1)


def table() -> Table:
    """Measure on a new server and return the table."""
    with TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server, server.client(1) as client:
        # Otherwise every single message would wait for the disk, but batches would not.
        client.config_set("appendfsync", "everysec")
        return measure(client, Settings(data_dir=Path(folder), redis_url=server.url))
