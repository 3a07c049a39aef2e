"""Measure how many concurrent calls one worker process sustains, and the cost of each, compared with plain workers.

The product's figures include everything: a real worker, claims and settling on a real Valkey, prompts made from
memories, answers validated and turned into effects. The plain workers take a message and make one call. All ask the
same stand-in endpoint, a separate process that takes LATENCY seconds to answer. Calls are those that it answered while
the queue was full; CPU is that of the worker's processes in the same time. With the most jobs in flight, the product
and the thread pool take turns, so that a busy machine slows both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import psutil
from redis import Redis

from bench.peers import plain_worker
from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Location, Profile
from cogitate.ops.fake_llm.server import MODEL
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.intake.observations import Observation
from cogitate.tasks.registry import kind_of
from cogitate.workers.llm.requests.dialect import Dialect
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from cogitate.workers.publish import Publisher
from cogitate.workers.transport.broker_url import kombu_url

LATENCY = 0.2  # seconds
SECONDS = 6.0  # of measurement, after a warm-up
ROUNDS = 3  # for the workers that take turns
KIND = "reflect"
LIBRARIES = {"own": "its own HTTP library", "aiohttp": "aiohttp"}  # of the bare client
MEMORIES = 20  # entries of an owner's stream
PLACES = (Location(id="mill", name="the mill"), Location(id="inn", name="the inn"))
BROKEN = 60.0  # seconds without progress after which a worker counts as failed


class Measured(NamedTuple):
    """The work of one worker in the measured time."""

    calls: int
    seconds: float
    cpu: float  # seconds

    @property
    def rate(self) -> float:
        """Return the calls per second."""
        return self.calls / self.seconds

    @property
    def cost(self) -> float:
        """Return the milliseconds of CPU per call."""
        return self.cpu / self.calls * 1000


def measure(bare: Annotated[int, "rounds against the bare client alone; 0: against all"] = 0) -> Table:
    """Return the calls of the product and of all others, or of the bare client alone."""
    return against_bare(bare) if bare else table()


def table(in_flight: Sequence[int] = (1, 10, 50, 200)) -> Table:
    """Measure the product with each number of jobs in flight, and plain workers with the last number and with two."""
    *fewer, most = in_flight
    with opened_bench() as bench:
        ours = {number: bench.ours(number) for number in fewer}
        prefork = bench.plain("prefork", 2)
        turns = [
            (
                bench.ours(most),
                bench.plain("threads", most),
                *(bench.bare(most, library) for library in LIBRARIES),
            )
            for _ in range(ROUNDS)
        ]
    ours[most], threads, *bare = map(together, zip(*turns, strict=True))
    rows = [
        _row(f"worker, {number} in flight", number, measured, threads, prefork) for number, measured in ours.items()
    ]
    rows.append(_row(f"plain task, threads pool of {most}", most, threads, threads, prefork))
    rows.append(_row("plain task, prefork pool of 2", 2, prefork, threads, prefork))
    rows += [
        _row(f"bare AsyncOpenAI over {library}", most, measured, threads, prefork)
        for library, measured in zip(LIBRARIES.values(), bare, strict=True)
    ]
    columns = ("calls a second", "of ideal", "CPU ms a call", "calls a CPU second", "to threads, per CPU", "to prefork")
    return Table(f"Calls in flight, one worker process, answers after {LATENCY} s", columns, tuple(rows), decimals=2)


def against_bare(rounds: int, in_flight: int = 200) -> Table:
    """Measure the product and the bare client over its own library in turns; return the median and the spread."""
    with opened_bench() as bench:
        turns = [(bench.ours(in_flight), bench.bare(in_flight, "own")) for _ in range(rounds)]
    found = {
        "worker, calls a second": [ours.rate for ours, _ in turns],
        "bare client, calls a second": [bare.rate for _, bare in turns],
        "calls a second, worker to bare client": [ours.rate / bare.rate for ours, bare in turns],
        "worker, CPU ms a call": [ours.cost for ours, _ in turns],
        "bare client, CPU ms a call": [bare.cost for _, bare in turns],
        "CPU a call, worker to bare client": [ours.cost / bare.cost for ours, bare in turns],
    }
    rows = tuple(Row(name, (median(values), min(values), max(values))) for name, values in found.items())
    title = f"{in_flight} in flight, {rounds} rounds of {SECONDS:.0f} s in turns, answers after {LATENCY} s"
    return Table(title, ("median", "lowest", "highest"), rows, decimals=2)


def together(rounds: Iterable[Measured]) -> Measured:
    return Measured(*map(sum, zip(*rounds, strict=True)))


def _row(label: str, number: int, measured: Measured, threads: Measured, prefork: Measured) -> Row:
    cells = (
        measured.rate,
        measured.rate / (number / LATENCY),
        measured.cost,
        1000 / measured.cost,
        threads.cost / measured.cost,
        measured.rate / prefork.rate,
    )
    return Row(label, cells)


def fill_memories(loop: TickLoop, owners: Mapping[str, Profile], minute: int) -> None:
    """Give each owner its memories."""
    for owner, profile in owners.items():
        for n in range(MEMORIES):
            text = f"{profile.name} talked with the miller about sack number {n * 7} and its price."
            loop.observe(owner, Observation(text=text, minute=minute, importance=1 + n % 9))


class Bench:
    """Workers on one server and one endpoint, one after the other."""

    def __init__(self, folder: Path, redis_url: str, endpoint: str, messages: Redis) -> None:
        self._folder = folder
        self._redis_url = redis_url
        self._endpoint = endpoint
        self._messages = messages
        self._log = folder / "worker.log"
        self._request = folder / "request.json"
        self._runs = count(1)

    def ours(self, number: int) -> Measured:
        """Measure a worker of the product with this many jobs in flight."""
        settings = Settings(
            data_dir=self._folder,
            redis_url=self._redis_url,
            llm="openai",
            model=MODEL,
            base_url=self._endpoint,
            api_key="any",
            concurrency=number,
            workers=0,
            wait=0.0,
            limit_tokens=10**12,
            latency={KIND: 10_000},
            limits={"tick.run.calls": 10**9, "day.run.calls": 10**9, f"day.kind:{KIND}.calls": 10**9},
        )
        owners = {f"agent:resident {n:04}": Profile(name=f"Resident {n:04}") for n in range(3 * number)}
        name = f"run-{next(self._runs)}"
        with TickLoop(run=name, owners=owners, settings=settings, locations=PLACES, ticks=10) as loop:
            for tick in loop:
                if tick.number == 1:
                    fill_memories(loop, owners, tick.minute)
                elif tick.number == 2:
                    for _ in range(_enough(number) // len(owners)):
                        for owner in owners:
                            loop.request(KIND, owner)
                else:
                    break
            opened = [item for item in loop.state.open.values() if item.job.key.kind == KIND]
            self._keep_request(loop, opened[0])
            self._messages.flushdb()
            # Round by round over the owners, so that no two equal requests are in flight.
            Publisher(settings).publish(
                sorted((item.job for item in opened), key=lambda job: (job.key.ordinal, job.key.owner))
            )
            with running_worker(worker_command(f"{name}@%h"), worker_environment(settings), self._log) as process:
                return self._measured(process, number)

    def plain(self, pool: str, number: int) -> Measured:
        """Measure a plain worker with a pool of this many threads or processes."""
        self._messages.flushdb()
        broker = self._redis_url.replace("db=0", "db=1")
        plain_worker.app.conf.broker_url = kombu_url(broker)
        with plain_worker.app.producer_or_acquire() as producer, producer.batch():
            for n in range(_enough(number)):
                plain_worker.call.apply_async((n,), producer=producer)
        environment = os.environ | {
            "PLAIN_BROKER": kombu_url(broker),
            "PLAIN_ENDPOINT": self._endpoint,
            "PLAIN_REQUEST": str(self._request),
        }
        command = [sys.executable, "-m", "celery", "-A", "bench.peers.plain_worker", "worker", "--loglevel", "warning"]
        command += ["--pool", pool, "--concurrency", str(number)]
        with running_worker(command, environment, self._log) as process:
            return self._measured(process, number)

    def bare(self, number: int, library: str) -> Measured:
        """Measure the bare client with this many calls in flight, over one of `LIBRARIES`."""
        command = [sys.executable, "-m", "bench.peers.bare_client", self._endpoint, str(self._request), str(number)]
        command.append(library)
        with running_worker(command, dict(os.environ), self._log) as process:
            return self._measured(process, number, queued=False)

    def _keep_request(self, loop: TickLoop, item: OpenJob) -> None:
        """Store a request of one of the product's jobs, for the plain workers to send."""
        case = loop.state.case_of(item)
        prompt = kind_of(KIND).prompt(case)
        body = Dialect().body(prompt, item.job.output_cap)
        self._request.write_text(json.dumps({"model": MODEL, **body}))

    def _measured(self, process: psutil.Process, number: int, *, queued: bool = True) -> Measured:
        before = self._answers()
        until(lambda: self._answers() >= before + 3 * number, self._log)
        begun, cpu, answers = time.monotonic(), cpu_seconds(process), self._answers()
        time.sleep(SECONDS)  # the measured time: counters are read before and after it
        ended, cpu_after, answers_after = time.monotonic(), cpu_seconds(process), self._answers()
        if queued and _enough(number) - (answers_after - before) < number:
            raise RuntimeError(f"with {number} in flight the jobs ran out: the figures would be too low")
        log = self._log.read_text()
        if "job.degraded" in log:
            raise RuntimeError(f"calls failed:\n{log[-2000:]}")
        return Measured(answers_after - answers, ended - begun, cpu_after - cpu)

    def _answers(self) -> int:
        return int(stats_of(self._endpoint)["answers"])


@contextmanager
def opened_bench() -> Iterator[Bench]:
    """Yield a bench on a new server and a new endpoint."""
    with (
        TemporaryDirectory() as folder,
        EmbeddedServer(Path(folder)) as server,
        endpoint("--latency", LATENCY) as url,
        server.client(1) as messages,
    ):
        yield Bench(Path(folder), server.url, url, messages)


def _enough(number: int) -> int:
    """Return the jobs needed for a measurement if the worker is ideal or makes 700 calls a second."""
    return 3 * number * max(4, round(min(number / LATENCY, 700) * (SECONDS + 4) / (3 * number)))


@contextmanager
def running_worker(command: Sequence[str], environment: dict[str, str], log: Path) -> Iterator[psutil.Process]:
    """Run a worker in the folder of the project, and kill it with its children at the end."""
    with log.open("wb") as out:
        started = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2], stdout=out, stderr=out)
    try:
        yield psutil.Process(started.pid)
    finally:
        for child in psutil.Process(started.pid).children(recursive=True):
            child.kill()
        started.kill()  # its calls in flight no longer matter
        started.wait()


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children so far."""
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


def until(condition: Callable[[], bool], log: Path) -> None:
    """Wait until a worker has made a condition true.

    Raises:
        RuntimeError: with the end of the worker's log, after `BROKEN` seconds.
    """
    deadline = time.monotonic() + BROKEN
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the worker makes no progress:\n{log.read_text()[-2000:]}")
        time.sleep(0.1)  # between two checks: the count is in another process


@contextmanager
def endpoint(*options: object) -> Iterator[str]:
    """Run the stand-in in a separate process, since a busy one answers late, and yield its base URL.

    Args:
        options: of `cogitate fake-llm`.
    """
    command = [sys.executable, "-m", "cogitate.ops", "fake-llm", "--port", "0", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def stats_of(url: str) -> dict[str, Any]:
    """Return the counts of a stand-in with this base URL."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as response:
        found: dict[str, Any] = json.load(response)
    return found
