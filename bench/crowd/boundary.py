"""Measure what stalls a paced host on the morning of a crowd whose plans are spread: collections, the ledger's reply.

The host is that of `bench.crowd.host`, at ten ticks a second. Its full garbage collections fall where Python makes
them, or into its idle time; the two take turns, so that a busy machine slows both. A tick's milliseconds are CPU of
the host's own thread. What it stands still for the reply to its commit is time on the clock, beside that of the whole
commit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any, Literal

from bench.crowd import host
from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop

ROUNDS = 2
TICKS = 135  # after the night
FIRST = host.BEFORE - 5  # tick from which the morning is counted
Garbage = Literal["python", "idle"]


class _Waits:
    """The time on the clock of each commit, and for how long of it the host stands still."""

    def __init__(self) -> None:
        self.commits: list[tuple[float, float]] = []  # seconds of standing still, and in all
        self._took = 0.0

    def watch(self, loop: TickLoop) -> None:
        """Measure the commits of a loop from now on."""
        run: Any = loop._loop
        carry_out, read = run._carry_out, run._read_reply

        def carried_out(*given: Any) -> object:
            began = time.perf_counter()
            try:
                return carry_out(*given)
            finally:
                self._took = time.perf_counter() - began

        def reading() -> None:
            unread, began = run._sent is not None, time.perf_counter()
            read()
            if unread:
                self.commits.append((time.perf_counter() - began, self._took))

        run._carry_out, run._read_reply = carried_out, reading


def table(crowds: Sequence[int] = (1_000, 10_000), rounds: int = ROUNDS) -> Table:
    """Return the ticks of the morning by the size of the crowd and by who makes full collections."""
    rows = []
    for agents in crowds:
        ticks: dict[Garbage, list[list[float]]] = {"python": [], "idle": []}
        waits: dict[Garbage, list[tuple[float, float]]] = {"python": [], "idle": []}
        for _ in range(rounds):
            for garbage in ticks:
                watching = _Waits()
                taken = host.lived(
                    agents,
                    0,
                    host.MORNING - host.BEFORE,
                    host.BEFORE + TICKS,
                    rate=host.RATE,
                    spread=None,
                    garbage=garbage,
                    watch=watching.watch,
                )
                ticks[garbage].append(sorted(taken[FIRST:]))
                waits[garbage] += watching.commits[FIRST:]
        for garbage, runs in ticks.items():
            rows.append(
                Row(
                    f"{agents:,} agents, {'as Python does' if garbage == 'python' else 'in idle time'}",
                    (
                        median(median(run) for run in runs),
                        median(run[int(0.99 * len(run))] for run in runs),
                        median(run[-1] for run in runs),
                        1000 * median(took for _, took in waits[garbage]),
                        1000 * median(still for still, _ in waits[garbage]),
                    ),
                )
            )
    columns = (
        "median tick, ms",
        "99th percentile",
        "slowest",
        "median commit",
        "host stands still",
    )
    note = f"Medians of {rounds} rounds; the last two are on the clock, of every commit."
    return Table("A spread morning", columns, tuple(rows), note, decimals=2)
