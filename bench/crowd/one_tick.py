"""Measure the tick in which a whole crowd is due, and observations beside its jobs, by the clock and as CPU.

The host keeps a slow pace. Where agents have memories, each has observed ten things before; where workers run, they
make the plans while the host takes a hundred observations a tick. The parts of the tick are timed in the host's thread:
cadence and admission, and then the commands of the commit with the journal's line. The cost of an observation is the
difference between a tick with a hundred of them and the next tick without one, divided by their number. Where the clock
shows much more than the CPU, the host waited for a core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.crowd import host
from bench.crowd.morning import IdleTime
from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.load.run import wait_for_workers
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.admitting import Admitting

MEMORIES = 10  # of each agent
WORKERS = 2  # processes
RATE = 2.0  # ticks a second
BEFORE, BETWEEN = 15, 25  # ticks until all are due, and until their plans are
ROUNDS = 2
_DEEDS = ("mends a net", "sells apples", "asks for the way", "reads a letter", "looks for a lost dog", "sings")


class Took(NamedTuple):
    """Seconds by the clock and of CPU."""

    clock: float
    cpu: float


class Parts:
    """The longest call of each watched function."""

    def __init__(self) -> None:
        self.longest: dict[str, Took] = {}

    def watch(self, owner: Any, function: str) -> None:
        """Time each further call of an object's function."""
        call: Callable[..., Any] = getattr(owner, function)

        def timed(*given: Any) -> Any:
            start, started = time.perf_counter(), time.thread_time()
            try:
                return call(*given)
            finally:
                took = Took(time.perf_counter() - start, time.thread_time() - started)
                self.longest[function] = max(took, self.longest.get(function, took), key=lambda one: one.cpu)

        setattr(owner, function, timed)


def lived(agents: int, memories: int, workers: int) -> tuple[Took, Took, Took]:
    """Return the time of cadence and admission, of the commit's commands, and of an observation."""
    owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(agents)}
    names, parts = list(owners), Parts()
    quiet, busy = list[Took](), list[Took]()  # ticks without and with observations
    with ExitStack() as stack:
        settings = PinnedSettings.tuned(
            data_dir=Path(stack.enter_context(TemporaryDirectory())),
            workers=workers,
            wait=0,
            limits={},
            morning=host.MORNING,
            spread=0,
            tick_rate=RATE,
            latency={"plan": BETWEEN},
        )
        begin = host.MORNING - BEFORE
        loop = stack.enter_context(
            TickLoop(run="one", owners=owners, settings=settings, ticks=BEFORE + BETWEEN - 1, start_minute=begin)
        )
        if workers:
            wait_for_workers(loop.ledger.client, workers)
        run: Any = loop._loop
        idle = IdleTime(run)
        start, started = time.perf_counter(), time.thread_time()
        for tick in loop:
            waited, worked = idle.take()
            took = Took(time.perf_counter() - start - waited, time.thread_time() - started - worked)
            if tick.number > BEFORE + 2:  # of the tick before
                (busy if tick.number % 2 else quiet).append(took)
            if tick.number == 3:  # all have joined
                parts.watch(run.engine.part(Admitting), "end")
                parts.watch(run._committer, "_commit")
            early = 1 < tick.number <= 1 + memories
            number = 0 if tick.number % 2 else host.SEEN
            watching = names if early else [names[(tick.number * host.SEEN + at) % agents] for at in range(number)]
            deeds = [f"Ann{(at * 7 + tick.number) % agents} {_DEEDS[at % 6]}" for at in range(len(watching))]
            start, started = time.perf_counter(), time.thread_time()
            for at, (owner, deed) in enumerate(zip(watching, deeds, strict=True)):
                text = f"{deed} at house {at % 37}."
                loop.observe(owner, Entry(type="observation", text=text, minute=tick.minute, importance=1 + at % 5))
    usual = (median(values) for values in zip(*quiet, strict=True))
    more = (median(values) for values in zip(*busy, strict=True))
    seen = Took(*((one - other) / host.SEEN for one, other in zip(more, usual, strict=True)))
    return parts.longest["end"], parts.longest["_commit"], seen


def table(crowds: Sequence[int] = (10_000,), rounds: int = ROUNDS) -> Table:
    """Return the cost of all plans in one tick, and of an observation, without memories and workers, and with both."""
    rows = []
    for agents in crowds:
        ways = {"": (0, 0), f", {MEMORIES} memories each": (MEMORIES, 0)}
        ways[f", {MEMORIES} memories each, {WORKERS} workers"] = (MEMORIES, WORKERS)
        found: dict[str, list[tuple[Took, ...]]] = {label: [] for label in ways}
        for _ in range(rounds):
            for label, (memories, workers) in ways.items():
                found[label].append(lived(agents, memories, workers))
        for label, lives in found.items():
            admitting, commands, seen = (
                Took(*(median(values) for values in zip(*parts, strict=True))) for parts in zip(*lives, strict=True)
            )
            cells = [1000 * value for value in (*admitting, *commands)] + [1_000_000 * value for value in seen]
            rows.append(Row(f"{agents:,} agents{label}", tuple(cells)))
    columns = (
        "cadence and admission, ms",
        "CPU",
        "commands, ms",
        "CPU",
        "an observation, µs",
        "CPU",
    )
    note = f"Medians of {rounds} rounds; of each part by the clock, and CPU of the host's thread."
    return Table("All due in one tick, with memories and beside workers", columns, tuple(rows), note, decimals=1)
