"""Measure the stalls of a paced host on a morning with many spread plans: garbage collection and the ledger's reply.

The host is that of `bench.crowd.host`, at ten ticks a second. Its full garbage collections run whenever Python triggers
them, or in idle time; the two variants take turns, so that a busy machine slows both. A tick's milliseconds are CPU of
the host's thread. The wait for the reply to a commit, and the whole commit, are wall-clock time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any, Literal

from bench.crowd import host
from bench.table import Row, Table, percentile
from cogitate.hosting.tick_loop import TickLoop

ROUNDS = 2
TICKS = 135  # after the night
FIRST = host.BEFORE - 5  # tick from which the morning is counted
Garbage = Literal["python", "idle"]


class _Waits:
    """The wall-clock time of each commit, and how long the host waits for it."""

    def __init__(self) -> None:
        self.commits: list[tuple[float, float]] = []  # seconds of waiting, and in total
        self._took = 0.0

    def watch(self, loop: TickLoop) -> None:
        """Measure the commits of a loop from now on."""
        run: Any = loop._loop._committer
        carry_out, read = run._advance, run.read_reply

        def carried_out(*given: Any) -> object:
            began = time.perf_counter()
            try:
                return carry_out(*given)
            finally:
                self._took = time.perf_counter() - began

        def reading() -> object:
            began = time.perf_counter()
            if finished := read():
                self.commits.append((time.perf_counter() - began, self._took))
            return finished

        run._advance, run.read_reply = carried_out, reading


def table(crowds: Sequence[int] = (1_000, 10_000), rounds: int = ROUNDS) -> Table:
    """Return the ticks of the morning, by number of agents and by when full collections run."""
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
                ticks[garbage].append(taken[FIRST:])
                waits[garbage] += watching.commits[FIRST:]
        for garbage, runs in ticks.items():
            rows.append(
                Row(
                    f"{agents:,} agents, {'as Python does' if garbage == 'python' else 'in idle time'}",
                    (
                        median(map(median, runs)),
                        median(percentile(run, 0.99) for run in runs),
                        median(map(max, runs)),
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
    note = f"Medians of {rounds} rounds; the last two are wall-clock times over all commits."
    return Table("A spread morning", columns, tuple(rows), note, decimals=2)
