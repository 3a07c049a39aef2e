"""`python -m bench barrier`: the cost of waiting for models at every step of a simulation.

A simulation that calls models within its tick waits for them before the next one: call by call, or for all calls of a
step together, so that every agent waits for the slowest (the barrier). Ours runs for real: server, workers, HTTP, the
clock, an endpoint of fixed latency. The other three are computed from the calls of that run, each taking exactly the
latency, without any overhead. The oracle knows which calls depend on each other (AI Metropolis, arXiv 2411.03519): here
only an agent's own calls do, which gives the oracle the largest possible gain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from bench.pace.paced import FIVE, PacedCase, PacedRun, live
from bench.pace.recorded_calls import calls_of, recordings_in, steps_of
from bench.table import Row, Table

COLUMNS = ("calls", "not asked", "one by one", "barrier", "oracle", "ours", "ours to barrier", "in time")
NOTE = (
    "Game seconds per second of real time; calls made, and calls skipped as they would be late; our speed relative to "
    "the barrier's; the share of results in time."
)


def seconds_one_by_one(calls: Sequence[tuple[str, int]], latency: float) -> float:
    """Return the seconds that calls, each of an owner at a tick, take one after the other."""
    return len(calls) * latency


def seconds_of_barrier(calls: Sequence[tuple[str, int]], latency: float) -> float:
    """Return the seconds that the world stands still when each tick waits for its concurrent calls.

    The calls of one owner at one tick run one after the other.
    """
    deepest: Counter[int] = Counter()
    for (_, tick), times in Counter(calls).items():
        deepest[tick] = max(deepest[tick], times)
    return sum(deepest.values()) * latency


def seconds_of_oracle(calls: Sequence[tuple[str, int]], latency: float) -> float:
    """Return the seconds of the longest chain of dependent calls, which are those of one owner."""
    return max(Counter(owner for owner, _ in calls).values(), default=0) * latency


def tables(
    agents: Annotated[Sequence[int], "agents of the built-in town"] = (25, 100, 300),
    latency: Annotated[float, "seconds of a call"] = 1.0,
    rate: Annotated[float, "ticks a second of Cogitate's run"] = 20.0,
    ticks: Annotated[int, "game minutes, from 5 AM"] = 1_140,
    recorded: Annotated[bool, "recorded days with their own calls instead"] = False,
    times: Annotated[float, "speed relative to the barrier, with --recorded"] = 4.2,
    data: Path | None = None,
) -> Iterator[Table]:
    """Yield a table of each town, or of each recorded day.

    Raises:
        FileNotFoundError: when recorded days are requested but not found.
    """
    if not recorded:
        return measure(agents, latency, rate, ticks)
    if data is None:
        raise FileNotFoundError("--recorded needs --data or COGITATE_RECORDINGS")
    return measure_recorded(data, latency, times)


def measure(agents: Sequence[int], latency: float, rate: float, ticks: int) -> Iterator[Table]:
    """Run towns of these sizes, and yield a table after each."""
    for number in agents:
        pace = PacedCase(
            tick_rate=rate,
            latency=latency,
            ticks=ticks,
            start_minute=FIVE,
            agents=number,
            tail=0.0,
            limit_tokens=100_000_000,
        )
        yield table(live(pace))


def measure_recorded(folder: Path, latency: float, times: float) -> Iterator[Table]:
    """Run a folder's recorded days with their own calls, `times` as fast as the barrier; yield a table after each."""
    from bench.pace.recorded_run import live_recorded  # it registers kinds of job

    for recording in recordings_in(folder):
        calls = calls_of(recording)
        waits = seconds_of_barrier([(one.owner, one.step) for one in calls for _ in range(one.number)], latency)
        lived = live_recorded(recording, calls, latency, times * steps_of(recording) / waits)
        yield table(lived, f"The recorded day {recording.path.name}")


def table(lived: PacedRun, title: str = "") -> Table:
    """Return the four methods side by side for one run's calls."""
    pace, calls = lived.pace, lived.calls
    game = pace.ticks * pace.seconds_per_tick
    waits = [way(calls, pace.latency) for way in (seconds_one_by_one, seconds_of_barrier, seconds_of_oracle)]
    speeds = [game / wait if wait else None for wait in waits]
    ours = game / lived.seconds
    cells = (
        len(calls),
        lived.too_slow,
        *speeds,
        ours,
        ours * waits[1] / game if calls else None,
        lived.in_time / lived.asked if lived.asked else None,
    )
    label = f"{pace.agents} agents, {pace.tick_rate:g} Hz, {pace.latency:g} s"
    return Table(
        f"{title or f'A town of {pace.agents}'}, {pace.ticks} ticks", COLUMNS, (Row(label, cells),), NOTE, decimals=2
    )
