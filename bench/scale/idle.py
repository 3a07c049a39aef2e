"""Measure an idle tick of runs with many agents beside that of a run with 100, all open in one process on one server.

The runs take turns, tick by tick, so that a busy machine slows all of them. It is night, so nothing is due, and agents
have no memories yet. A tick's time is the CPU of the host's thread. The memory of the hosts is that of this process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

import psutil

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings

FEW = 100  # agents of the run that the others are compared with
TICKS, WARM = 130, 30  # ticks; those at the start that do not count
GIB = 2**30


@contextmanager
def _opened(folder: Path, run: str, agents: int) -> Iterator[TickLoop]:
    settings = PinnedSettings.tuned(data_dir=folder, workers=0, wait=0, limits={})
    owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(agents)}
    with TickLoop(run=run, owners=owners, settings=settings, start_minute=0) as loop:
        with loop.next_tick():  # all owners join
            pass
        yield loop


def table(runs: int = 10, agents: Annotated[int, "of each run"] = 100_000) -> Table:
    """Return the milliseconds of an idle tick of each run, and their ratio to those of a run with 100 agents."""
    process = psutil.Process()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        loops = {"few": stack.enter_context(_opened(folder, "few", FEW))}
        held = process.memory_info().rss
        cpu = time.process_time()
        for number in range(runs):
            loops[f"many-{number}"] = stack.enter_context(_opened(folder, f"many-{number}", agents))
        opening = (time.process_time() - cpu) / runs
        gc.collect()
        held = process.memory_info().rss - held
        served = loops["few"].ledger.client.info("memory")["used_memory"]
        taken: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(TICKS):
            for name, loop in loops.items():
                begun = time.thread_time()
                with loop.next_tick():
                    pass
                taken[name].append(1000 * (time.thread_time() - begun))
    few, *many = (median(times[WARM:]) for times in taken.values())
    rows = (
        Row(f"{FEW} agents", (few, 1.0, None, None, None)),
        Row(f"{runs} runs of {agents:,} agents, median", (median(many), median(many) / few, opening, None, None)),
        Row("the slowest of them", (max(many), max(many) / few, None, None, None)),
        Row("all of them", (sum(many), None, None, held / GIB, served / GIB)),
    )
    columns = ("idle tick, ms of CPU", "times that of 100", "opening, s of CPU", "GiB of hosts", "GiB of the server")
    return Table(f"{runs * agents:,} idle agents", columns, rows, f"Medians of {TICKS - WARM} ticks.", decimals=2)
