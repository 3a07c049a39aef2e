"""Measure how evenly workers serve a hundred runs that all have more jobs than the workers can do.

One process hosts the runs, and each goes on ticking while its jobs wait, so that hints are repeated as usual. An answer
counts as served. Jain's index of the jobs served to each run, divided by its share, is 1 if all runs were served in
proportion to their shares and 1/n if one had everything (Jain, Chiu and Hawe, 1984).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from bench.fleet.asking_kinds import NAMES
from bench.fleet.runs import Fleet
from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop

RUNS, WORKERS = 100, 2
WARM, COUNTED = 5, 40  # answers of an average run before the count begins, and in it
BETWEEN = 2.0  # seconds between two ticks of a run
PATIENCE = 600.0  # seconds for one row


class Load(NamedTuple):
    """The share of a run and the kinds of its jobs."""

    share: int
    kinds: Sequence[str]


ONE = NAMES[:1]
LOADS = {
    "equal shares": [Load(1, ONE)] * RUNS,
    "shares of 1 to 5": [Load(1 + number % 5, ONE) for number in range(RUNS)],
    "equal shares, jobs of one kind or of four": [Load(1, NAMES if number % 2 else ONE) for number in range(RUNS)],
    "shares of 1 to 5, jobs of one kind or of four": [
        Load(1 + number % 5, NAMES if number % 2 else ONE) for number in range(RUNS)
    ],
}


def jain(shares: Sequence[float]) -> float:
    """Return Jain's index of shares that should be equal."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def table() -> Table:
    """Return Jain's index of each load, and the worst served run."""
    rows = [Row(name, _measured(loads)) for name, loads in LOADS.items()]
    columns = ("Jain's index", "least of its due", "most of its due", "answers", "answers a second")
    note = f"{RUNS} runs, {WORKERS} workers, all runs waiting throughout."
    return Table("Shares served", columns, tuple(rows), note)


def _measured(loads: Sequence[Load]) -> tuple[float, float, float, int, float]:
    with ExitStack() as stack:
        fleet = Fleet(stack)
        mean = sum(load.share for load in loads) / len(loads)
        fleet.start_workers(WORKERS)
        loops = []
        for number, load in enumerate(loads):
            wanted = round(3 * (WARM + COUNTED) * max(load.share, mean) / mean)
            loops.append(fleet.run(f"run-{number}", -(-wanted // len(load.kinds)), load.share))
        for loop, load in zip(loops, loads, strict=True):
            with loop.next_tick():
                for owner in loop.state.streams:
                    for kind in load.kinds:
                        loop.request(kind, owner)
        _tick_until(fleet, loops, WARM * len(loops))
        before, began = fleet.answered(loops), time.monotonic()
        _tick_until(fleet, loops, (WARM + COUNTED) * len(loops))
        after, seconds = fleet.answered(loops), time.monotonic() - began
        for loop in loops:
            if not fleet.state.scard(loop.ledger.store.key("unclaimed")):
                raise RuntimeError(f"the jobs of {loop.state.run} ran out: the figures would be too good")
    served = [later - earlier for earlier, later in zip(before, after, strict=True)]
    due = [sum(served) * load.share / sum(one.share for one in loads) for load in loads]
    of_due = [got / wanted for got, wanted in zip(served, due, strict=True)]
    return jain(of_due), min(of_due), max(of_due), sum(served), sum(served) / seconds


def _tick_until(fleet: Fleet, loops: Sequence[TickLoop], answers: int) -> None:
    """Let all runs tick until this many jobs have their answer."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        began = time.monotonic()
        for loop in loops:
            with loop.next_tick():
                pass
            if sum(fleet.answered(loops)) >= answers:
                return
        time.sleep(max(0.0, BETWEEN - (time.monotonic() - began)))  # the pace of the ticks
    raise RuntimeError("the workers make no progress")
