"""Measure what fallbacks that workers stage save a host, and what they cost workers.

The host has so many jobs due in one tick, all claimed and none answered. Their heuristics are computed at the boundary,
or taken as fallbacks; the milliseconds are CPU of the host's own thread, from its look at the ledger to the end of the
boundary. Each time is another run, as owners' memories grow and Python remembers what it knows of their texts; the two
ways take turns, so that a busy machine slows both. The worker is that of `bench.worker.concurrency`: a real one before
a stand-in for a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from redis import Redis

from bench.table import Row, Table
from bench.worker.concurrency import MEMORIES, Bench, Measured, endpoint, fill_memories, together
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.intake.fallbacks import Fallbacks
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.tasks.registry import kind_of, kinds
from cogitate.workers.processes.embedded import EmbeddedServer

JOBS = 1_000
KINDS = ("plan", "reflect")
ROUNDS = 3
IN_FLIGHT = 50
ASKED = 2  # the tick that asks for them; in the first one plans are due unasked
START = 720  # minutes after 00:00


class _Late(NamedTuple):
    """A boundary with jobs that are late."""

    ms: float
    bytes: float  # of a fallback; 0.0 without


def tables() -> Iterator[Table]:
    """Yield both tables."""
    yield boundaries()
    yield workers()


def boundaries(jobs: int = JOBS, rounds: int = ROUNDS) -> Table:
    """Return what the boundary takes by kind, and how large a fallback is."""
    rows = []
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(Path(stack.enter_context(TemporaryDirectory()))))
        client = stack.enter_context(server.client(0))
        for kind in KINDS:
            computed, taken = zip(
                *[[_late(server.url, client, kind, jobs, stages) for stages in (False, True)] for _ in range(rounds)],
                strict=True,
            )
            ratio = median(one.ms / other.ms for one, other in zip(computed, taken, strict=True))
            cells = (median(one.ms for one in computed), median(one.ms for one in taken), ratio, taken[0].bytes)
            rows.append(Row(f"{jobs:,} late, {kind}", cells))
    columns = ("computed, ms", "taken, ms", "times less", "bytes of a fallback")
    note = f"Medians of {rounds} rounds; each owner has {MEMORIES} memories."
    return Table("Boundaries with late jobs", columns, tuple(rows), note, decimals=1)


def workers(in_flight: int = IN_FLIGHT, rounds: int = ROUNDS) -> Table:
    """Return what a call costs a worker without and with fallbacks."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(folder))
        bench = Bench(folder, server.url, stack.enter_context(endpoint()), stack.enter_context(server.client(1)))
        turns = [(bench.ours(in_flight), bench.ours(in_flight, stages=True)) for _ in range(rounds)]
    rows = [
        Row(label, (measured.rate, measured.cost, measured.cost / together(turn[0] for turn in turns).cost))
        for label, measured in _named(turns)
    ]
    columns = ("calls a second", "CPU ms a call", "times")
    return Table(f"Workers, {in_flight} calls in flight", columns, tuple(rows), decimals=2)


def _named(turns: list[tuple[Measured, Measured]]) -> Iterator[tuple[str, Measured]]:
    for place, label in enumerate(("no fallbacks", "fallbacks")):
        yield label, together(turn[place] for turn in turns)


def _late(url: str, client: Redis, kind: str, jobs: int, stages: bool) -> _Late:
    """Let so many jobs be late at one boundary."""
    owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(jobs)}
    claims, fallbacks, sizes = Claims(client, worker="late"), Fallbacks(kinds()), list[int]()
    client.flushdb()
    with TemporaryDirectory() as folder:
        settings = PinnedSettings.tuned(
            data_dir=Path(folder),
            redis_url=url,
            workers=0,
            wait=0.0,
            llm="openai",
            api_key="any",
            latency={kind: 2},
            limit_tokens=10**12,
            limits={},
            guarantees={},
            act_interval=0,
            repair_from=1440,
            rate_share=0.0,
        )
        with TickLoop(run="late", owners=owners, settings=settings, ticks=6, start_minute=START) as loop:
            loop._loop.collector._publish = len  # nobody takes them unasked
            watch = _Watch(loop, kind)
            for tick in loop:
                if tick.number == 1:
                    fill_memories(loop, owners, tick.minute)
                elif tick.number == ASKED:
                    for owner in owners:
                        loop.request(kind, owner)
                elif tick.number == ASKED + 1:
                    for item in [*loop.state.open.values()]:
                        claim = claims.claim(item.job.id)
                        if isinstance(claim, Claim) and stages:
                            fallback = fallbacks.make(kind_of(kind), claim.case)
                            claims.stage_fallback(claim, fallback)
                            sizes.append(len(fallback))
            if watch.jobs != jobs:
                raise RuntimeError(f"{watch.jobs} jobs were late in one tick, not {jobs}")
    return _Late(watch.ms, sum(sizes) / len(sizes) if sizes else 0.0)


class _Watch:
    """The CPU of the boundary at which the jobs are late, its look at the ledger included."""

    def __init__(self, loop: TickLoop, kind: str) -> None:
        run: Any = loop._loop
        self.jobs, self.ms, self._looked = 0, 0.0, 0.0
        gather, begin = run.collector.gather, run.engine.begin

        def timed(function: Callable[..., Any], *given: Any) -> tuple[Any, float]:
            began = time.thread_time()
            return function(*given), 1000 * (time.thread_time() - began)

        def gathering(*given: Any) -> Any:
            found, self._looked = timed(gather, *given)
            return found

        def beginning(tick: int, boundary: Any) -> Any:
            found, took = timed(begin, tick, boundary)
            jobs = sum((row.key.tick, row.key.kind, row.state) == (ASKED, kind, "open") for row in boundary.rows)
            if jobs:
                self.jobs, self.ms = jobs, self._looked + took
            return found

        run.collector.gather, run.engine.begin = gathering, beginning
