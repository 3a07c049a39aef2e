"""Measure the cost of a tick to its host, by number of agents.

The host is a few lines without a world, on a local server, and no worker takes its jobs. A tick's time is the CPU time
of the host's thread from the end of one tick's body to the start of the next, without waiting for the server. At night
nothing is due: one run is idle; in the other a hundred random owners observe something new at every tick. In the
morning every agent plans, and heuristics make all plans: in one run as fast as possible with all plans due in one tick,
in another paced, so that the host computes them ahead, and in a third paced with mornings spread as by default. The
work that a paced host does in its idle time is not part of a tick's time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.tick.pace import Pace

CROWDS = (100, 1_000, 10_000)
SEEN = 100  # observations in a tick
NIGHT, WARM = 130, 30  # ticks of a night, and those at its start that do not count
BEGIN = 20  # ticks over which each owner observes something once
MORNING = 360  # minutes after 00:00
BEFORE = 30  # ticks of a paced run until the morning, in which it catches up after its start
RATE, SLOW_RATE = (
    10.0,
    1.0,
)  # ticks a second of a paced run; the slow one has the time for more than 1,000 plans at once
_DEEDS = ("mends a net", "sells apples", "asks for the way", "reads a letter", "looks for a lost dog", "sings")


def lived(
    agents: int,
    seen: int,
    first: int,
    ticks: int,
    *,
    rate: float | None = None,
    spread: int | None = 0,
    garbage: Literal["idle", "python"] = "idle",
    watch: Callable[[TickLoop], object] = lambda loop: None,
) -> list[float]:
    """Return the milliseconds of each tick, without work done ahead in idle time.

    Args:
        seen: observations in a tick.
        first: the minute at which the run starts.
        garbage: when Python's full collections run.
        watch: called with the loop before its first tick.
    """
    chance = random.Random(agents)
    owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(agents)}
    names = list(owners)
    taken: list[float] = []
    with TemporaryDirectory() as folder:
        settings = PinnedSettings.tuned(
            data_dir=Path(folder),
            workers=0,
            wait=0,
            limits={},
            morning=MORNING,
            tick_rate=rate,
            spread=spread,
            collect_garbage=garbage,
        )
        with TickLoop(run="crowd", owners=owners, settings=settings, ticks=ticks, start_minute=first) as loop:
            watch(loop)
            idle = IdleTime(loop)
            start = time.thread_time()
            for tick in loop:
                taken.append((time.thread_time() - start - idle.take()) * 1000)
                if seen and tick.number <= BEGIN:  # give all owners a memory
                    watching = names[tick.number - 1 :: BEGIN]
                else:
                    watching = [chance.choice(names) for _ in range(seen)]
                for number, owner in enumerate(watching):
                    text = f"Ann{chance.randrange(10_000)} {_DEEDS[number % 6]} at house {number % 37}."
                    entry = Entry(type="observation", text=text, minute=tick.minute, importance=1 + number % 5)
                    loop.observe(owner, entry)
                start = time.thread_time()
    return taken


class IdleTime:
    """The CPU that a paced host uses before a tick is due, for work that a host without idle time skips."""

    def __init__(self, loop: TickLoop) -> None:
        self._keep, self._spent = loop._loop._keep, 0.0
        loop._loop._keep = self._timed  # type: ignore[method-assign]

    def _timed(self, pace: Pace) -> None:
        start = time.thread_time()
        self._keep(pace)
        self._spent += time.thread_time() - start

    def take(self) -> float:
        """Return the seconds since the last call."""
        spent, self._spent = self._spent, 0.0
        return spent


def table(crowds: Sequence[int] = CROWDS) -> Table:
    """Return the milliseconds of a tick by number of agents, and their ratio to those of the smallest number."""
    rows: list[Row] = []
    least: tuple[float, float] | None = None
    for agents in crowds:
        idle = median(lived(agents, 0, 0, NIGHT)[WARM:])
        busy = sorted(lived(agents, SEEN, 0, NIGHT)[WARM:])
        middle = median(busy)
        at_once = max(lived(agents, 0, MORNING - 5, 20)[2:])
        begin, rate = MORNING - BEFORE, RATE if agents <= 1_000 else SLOW_RATE
        ahead = max(lived(agents, 0, begin, BEFORE + 15, rate=rate)[5:])
        spread = max(lived(agents, 0, begin, BEFORE + 135, rate=RATE, spread=None)[BEFORE - 5 :])
        least = least or (idle, middle)
        rows.append(
            Row(
                f"{agents:,} agents",
                (
                    idle,
                    idle / least[0],
                    middle,
                    middle / least[1],
                    busy[-2],
                    1000 * (middle - idle) / SEEN,
                    at_once,
                    ahead,
                    at_once / ahead,
                    spread,
                    at_once / spread,
                ),
            )
        )
    columns = (
        "idle, ms",
        "of the first",
        f"{SEEN} observations, ms",
        "of the first",
        "slowest but one",
        "an observation, µs",
        "morning at once, slowest",
        "paced",
        "times less",
        "paced and spread",
        "times less",
    )
    return Table(
        "A tick of the host", columns, tuple(rows), "CPU of the host's thread; medians of 100 ticks.", decimals=1
    )
