"""Measure a worker's overhead per job with jobs that do nothing, compared with other systems' workers.

Ours claims each job from a real Valkey and settles it there; the others only take their message, and store no result if
that is possible. Ours and Celery's send events, as for Flower. All run for the whole measurement and take turns in
short blocks, so that a busy machine slows all of them. Figures are CPU of a worker's processes per job, as medians of
the rounds and of the rounds' ratios.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil
from redis import Redis

from bench.crowd import idle_kind
from bench.peers.celery_queue import CeleryQueue
from bench.peers.queue import Queue, open_queues, queue_environment
from bench.table import Row, Table
from bench.worker.concurrency import BROKEN, cpu_seconds, running_worker, until
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings, Settings
from cogitate.tasks.job import Job
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from cogitate.workers.publish import Publisher

ROUNDS = 5
JOBS = 640  # in a block
MARK = "taken"  # the key that a worker sets after a block
PLAIN = {"plain task, threads": ("threads", 16), "plain task, prefork": ("prefork", 2)}


class _Events:
    """Counts the events of Celery's workers. They are buffered, so some arrive after the block that they report."""

    def __init__(self, client: Redis, stack: ExitStack) -> None:
        self._subscription = stack.enter_context(client.pubsub())  # type: ignore[no-untyped-call]
        self._subscription.psubscribe("*celeryev/task.*")
        self._succeeded = 0

    def wait(self, count: int) -> None:
        """Wait until this many tasks have been reported as succeeded.

        Raises:
            RuntimeError: if no event arrives for `BROKEN` seconds.
        """
        while self._succeeded < count:
            message = self._subscription.get_message(timeout=BROKEN)
            if message is None:
                raise RuntimeError(f"{self._succeeded} of {count} tasks were reported as succeeded")
            if message["type"] != "pmessage":
                continue
            body = json.loads(base64.b64decode(json.loads(message["data"])["body"]))
            events = body if isinstance(body, list) else [body]
            self._succeeded += sum(event["type"] == "task-succeeded" for event in events)


class _Blocks:
    """Runs blocks of work on each worker, and measures their cost."""

    def __init__(self, folder: Path, server: EmbeddedServer, jobs: int, stack: ExitStack) -> None:
        self._folder, self._server, self._jobs, self._stack = folder, server, jobs, stack
        self._state = stack.enter_context(server.client(0))
        self._messages = stack.enter_context(server.client(1))
        self._peer_messages = stack.enter_context(server.client(2))

    def ways(self) -> dict[str, Callable[[], float]]:
        """Start every worker; return a function per worker that runs a block and returns the CPU seconds per job."""
        found: dict[str, Callable[[], float]] = {}
        url = self._server.url.replace("db=0", "db=2")
        self._peer_messages.config_set("appendfsync", "everysec")  # else each message would wait for the disk
        for name, (pool, size) in PLAIN.items():
            found[name] = self._peer(
                name, url, self._stack.enter_context(closing(CeleryQueue(url, pool=pool, size=size)))
            )
        for peer, queue in self._stack.enter_context(open_queues(url)).items():
            found[peer.name] = self._peer(peer.name, url, queue)
        settings = PinnedSettings(
            data_dir=self._folder,
            redis_url=self._server.url,
            workers=0,
            wait=0.0,
            limits={},
            kinds=(idle_kind.__name__,),
            act_interval=0,
            repair_from=1440,
        )
        owners = {f"agent:a{number}": Profile(name=f"Ann{number}") for number in range(self._jobs)}
        loop = self._stack.enter_context(TickLoop(run="workers", owners=owners, settings=settings))
        loop._loop.collector._publish = len  # the blocks publish
        with loop.next_tick():  # all owners join
            pass
        log = self._folder / "ours.log"
        environment = worker_environment(settings) | {"PYTHONPATH": str(Path(__file__).parents[2])}
        worker = self._stack.enter_context(running_worker(worker_command("ours@%h"), environment, log))
        found["Cogitate"] = self._ours(loop, settings, worker, log)
        return found

    def _peer(self, name: str, url: str, queue: Queue) -> Callable[[], float]:
        log = self._folder / f"{name}.log"
        worker = self._stack.enter_context(running_worker([sys.executable, *queue.worker], queue_environment(url), log))
        ids = [str(number) for number in range(self._jobs)]

        def block() -> float:
            before = cpu_seconds(worker)
            queue.publish(ids)
            queue.mark(MARK)
            until(lambda: bool(self._peer_messages.delete(MARK)), log)
            return (cpu_seconds(worker) - before) / self._jobs

        return block

    def _ours(self, loop: TickLoop, settings: Settings, worker: psutil.Process, log: Path) -> Callable[[], float]:
        publisher = Publisher(settings)
        self._stack.callback(publisher.close)
        staged = loop.ledger.store.key("staged")

        def block() -> float:
            with loop.next_tick():
                for owner in loop.state.streams:
                    loop.request(idle_kind.NAME, owner)
            tick = int(loop.tick)
            jobs: Sequence[Job] = [item.job for item in loop.state.open.values() if item.job.key.tick == tick]
            if len(jobs) != self._jobs:
                raise RuntimeError(f"{len(jobs)} jobs were admitted, not {self._jobs}")
            self._messages.flushdb()
            before = cpu_seconds(worker)
            publisher.publish(jobs)
            until(lambda: self._state.scard(staged) == len(loop.state.open), log)
            return (cpu_seconds(worker) - before) / self._jobs

        return block


def table(jobs: int = JOBS, rounds: int = ROUNDS) -> Table:
    """Return each worker's CPU milliseconds per job, and their ratio to plain Celery's."""
    taken: defaultdict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(folder))
        ways = _Blocks(folder, server, jobs, stack).ways()
        events = _Events(stack.enter_context(server.client()), stack)
        each = len(PLAIN) * (jobs + 1) + jobs  # events per round: plain Celery's, including marks, and ours
        for number in range(rounds + 1):
            for name, block in ways.items():
                cost = block()
                if number:  # the first round loads what workers need
                    taken[name].append(cost)
            events.wait((number + 1) * each)  # so that sending them is not measured in the next round
    rows = []
    for name, costs in taken.items():
        ratios = [[cost / base for cost, base in zip(costs, taken[plain], strict=True)] for plain in PLAIN]
        rows.append(Row(name, (1000 * median(costs), *(median(of) for of in ratios), min(ratios[1]), max(ratios[1]))))
    columns = ("CPU ms a job", "to plain, threads", "to plain, prefork", "least", "most")
    note = (
        f"Medians of {rounds} rounds of {jobs} jobs that do nothing; Celery's workers and ours send events for Flower."
    )
    return Table("Workers", columns, tuple(rows), note, decimals=2)
