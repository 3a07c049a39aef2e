"""`python -m bench barrier`: what it costs a simulation to wait for its models at every step.

A simulation that calls models in its tick waits for them before the next: one after the other, or all of a step
together, so that everybody waits for the slowest (the barrier). Ours is run for real: server, workers, HTTP, the clock,
an endpoint of fixed latency. The other three are computed from the calls that this run made, each of which takes the
latency and nothing else, so that no overhead speaks against them. The oracle knows which calls depend on each other
(AI Metropolis, arXiv 2411.03519): here only an agent's own calls do, which is the most that any oracle could gain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.pace.paced import FIVE, PacedCase, PacedRun, live
from bench.pace.recorded_calls import calls_of, recordings_in, steps_of
from bench.table import Row, Table

COLUMNS = ("calls", "not asked", "one by one", "barrier", "oracle", "ours", "ours to barrier", "in time")
NOTE = (
    "Game seconds for each second of the clock; calls made, and not asked for since they would come too late; how many "
    "times the barrier's speed ours is; the share of results in time."
)


def seconds_one_by_one(calls: Sequence[tuple[str, int]], latency: float) -> float:
    """Return the seconds in which calls, each of an owner at a tick, are made one after the other."""
    return len(calls) * latency


def seconds_of_barrier(calls: Sequence[tuple[str, int]], latency: float) -> float:
    """Return the seconds for which the world stands still when each tick waits for its calls, made together.

    The calls of one owner at one tick are made one after the other.
    """
    deepest: Counter[int] = Counter()
    for (_, tick), times in Counter(calls).items():
        deepest[tick] = max(deepest[tick], times)
    return sum(deepest.values()) * latency


def seconds_of_oracle(calls: Sequence[tuple[str, int]], latency: float) -> float:
    """Return the seconds of the longest chain of calls that must follow each other: those of one owner."""
    return max(Counter(owner for owner, _ in calls).values(), default=0) * latency


def measure(agents: Sequence[int], latency: float, rate: float, ticks: int) -> Iterator[Table]:
    """Run towns of these sizes, and yield a table of each as it ends."""
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
    """Live the recorded days of a folder with their own calls, so many times as fast as the barrier.

    Yields a table of each as it ends.
    """
    from bench.pace.recorded_run import live_recorded  # it registers kinds of job

    for recording in recordings_in(folder):
        calls = calls_of(recording)
        waits = seconds_of_barrier([(one.owner, one.step) for one in calls for _ in range(one.number)], latency)
        lived = live_recorded(recording, calls, latency, times * steps_of(recording) / waits)
        yield table(lived, f"The recorded day {recording.path.name}")


def table(lived: PacedRun, title: str = "") -> Table:
    """Return the four ways of one run's calls, beside each other."""
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
