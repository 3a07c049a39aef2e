"""Run small fleets for real: hosts, workers, a ledger, a broker and a model's stand-in, each a process of this machine.

Figures are the CPU of each process, which other work on the machine hardly changes, instead of the clock's time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
import psutil
from redis import Redis

from bench.scale.host import HostFigures, HostTask, settings_of
from bench.worker.concurrency import cpu_seconds, endpoint, running_worker
from cogitate.memory import typed_json
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment

STARTED_WITHIN = 180.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Point:
    """A fleet to run. Observations and jobs are those of one host in one tick."""

    name: str
    hosts: int = 1
    observations: int = 0
    jobs: int = 0
    workers: int = 0
    slots: int = 50
    ticks: int = 40
    tick_rate: float = 5.0


class Figures(NamedTuple):
    """The figures of one point; CPU in seconds, summed over all processes of a sort."""

    ticks: int  # of all hosts
    jobs: int
    answered: int
    seconds: float
    host: float
    ledger: float
    broker: float
    worker: float


class Rig:
    """The servers and the stand-in, which all points share."""

    def __init__(self, folder: Path, latency: float) -> None:
        self._folder, self.latency = folder, latency
        self._resources = ExitStack()
        self._runs = count(1)

    def __enter__(self) -> Self:
        enter = self._resources.enter_context
        self._ledger = enter(EmbeddedServer(self._folder / "ledger"))
        self._broker = enter(EmbeddedServer(self._folder / "broker"))
        self._state, self._messages = enter(self._ledger.client()), enter(self._broker.client())
        for client in (self._state, self._messages):
            client.config_set("appendfsync", "everysec")  # as in docker-compose.yml
        self._endpoint = enter(endpoint("--latency", self.latency))
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def measure(self, point: Point) -> Figures:
        """Run a fleet once it has started, until its last job has its end."""
        with ExitStack() as stack:
            tasks = [self._task(point) for _ in range(point.hosts)]
            workers = self._workers(stack, point, tasks[0])
            hosts = [stack.enter_context(_host(task)) for task in tasks]
            for host in hosts:
                assert host.stdout is not None
                if host.stdout.readline().strip() != "ready":
                    raise RuntimeError("a host of the fleet did not start")
            before, worked = self._servers(), sum(map(cpu_seconds, workers))
            begun = time.monotonic()
            for host in hosts:
                assert host.stdin is not None
                host.stdin.write("go\n")
                host.stdin.flush()
            lived = [_figures(host) for host in hosts]
            seconds = time.monotonic() - begun
            ledger, broker = (after - earlier for after, earlier in zip(self._servers(), before, strict=True))
            return Figures(
                ticks=sum(one.ticks for one in lived),
                jobs=sum(one.jobs for one in lived),
                answered=sum(one.answered for one in lived),
                seconds=seconds,
                host=sum(one.cpu for one in lived),
                ledger=ledger,
                broker=broker,
                worker=sum(map(cpu_seconds, workers)) - worked,
            )

    def idle(self, workers: int, seconds: float) -> Figures:
        """Measure workers without jobs."""
        with ExitStack() as stack:
            point = Point(name="idle", workers=workers)
            processes = self._workers(stack, point, self._task(point))
            before, worked, begun = self._servers(), sum(map(cpu_seconds, processes)), time.monotonic()
            time.sleep(seconds)  # what is measured
            ledger, broker = (after - earlier for after, earlier in zip(self._servers(), before, strict=True))
            worked = sum(map(cpu_seconds, processes)) - worked
            return Figures(0, 0, 0, time.monotonic() - begun, 0.0, ledger, broker, worked)

    def _task(self, point: Point) -> HostTask:
        run = f"fleet-{next(self._runs)}"
        return HostTask(
            run=run,
            folder=str(self._folder / run),
            ledger=self._ledger.url,
            broker=self._broker.url,
            endpoint=self._endpoint,
            ticks=point.ticks,
            tick_rate=point.tick_rate,
            observations=point.observations,
            jobs=point.jobs,
            slots=point.slots,
        )

    def _workers(self, stack: ExitStack, point: Point, task: HostTask) -> list[psutil.Process]:
        """Start the workers of a point, which end with the stack, and wait until they are ready."""
        environment, workers = worker_environment(settings_of(task)), []
        for number in range(point.workers):
            name = f"{point.name.replace(' ', '-')}-{number}"
            log = self._folder / f"{name}.log"
            workers.append(stack.enter_context(running_worker(worker_command(f"{name}@%h"), environment, log)))
        self._await_workers(point.workers)
        _await_quiet(workers)
        return workers

    def _await_workers(self, number: int) -> None:
        deadline = time.monotonic() + STARTED_WITHIN
        while len(workers_seen(self._state).alive) != number:  # those of the last point leave the list meanwhile
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(workers_seen(self._state).alive)} workers are alive, not {number}")
            time.sleep(0.1)  # between two looks: workers announce nothing

    def _servers(self) -> tuple[float, float]:
        return _server_cpu(self._state), _server_cpu(self._messages)


def _await_quiet(workers: Sequence[psutil.Process]) -> None:
    """Wait until workers have loaded what they load after their first heartbeat."""
    worked = -1.0
    while (now := sum(map(cpu_seconds, workers))) - worked > 0.02 * len(workers):
        worked = now
        time.sleep(1.0)  # the time in which they work or do not


def _server_cpu(client: Redis) -> float:
    found = client.info("cpu")
    return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])


def _figures(host: subprocess.Popen[str]) -> HostFigures:
    assert host.stdout is not None
    return typed_json.decode(host.stdout.readline().encode(), HostFigures)


@contextmanager
def _host(task: HostTask) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "bench.scale.host"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(task).decode() + "\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()
