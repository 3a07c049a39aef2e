"""Measure the morning of a crowd with memories by the clock, with real workers beside its host.

Each agent observes from midnight on, a hundred observations a tick at ten ticks a second, and plans in the morning;
mornings are spread as by default. A tick's milliseconds are all that the loop takes from the body of one tick to that
of the next, observations included, without the time in which it waits for the next tick to be due. Beside the clock
stands the CPU of the host's thread: where it is much less, the host waited for a core. The last row shows the same on a
busy machine as if the host had a core: its idle time is a tick's less the CPU that it used. The ticks that count are
those of the mornings, until their last plan is due.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.crowd import host
from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.load.run import wait_for_workers
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.tick.pace import SECONDS_AHEAD, Pace

AFTER = 40  # ticks from the first morning on
HOUSES = 40
LATENCY, TAIL = 1.0, 0.5  # seconds of the stand-in's answers, and the sigma of a log-normal factor
_THINGS = ("a net", "the north gate", "a barrel of apples", "the mill wheel", "an old boat", "a letter")
_DEEDS = ("mends", "asks about", "carries", "looks for", "paints", "talks about")
_SAID = (
    "Good morning, how are you today?",
    "I heard that {thing} was stolen from house {house}.",
    "Will you come to the dinner at House {house} at 7 pm?",
    "Let us meet at House {house} tomorrow at 10 am.",
    "I promise to bring you {thing} before noon.",
    "The harvest was poor, and prices will rise again.",
)


class Morning(NamedTuple):
    """The ticks of one morning, and the plans made in it."""

    clock: list[float]  # milliseconds of a tick
    cpu: list[float]
    plans: int
    late: int


def observations(names: Sequence[str], minutes: range) -> Iterator[list[tuple[str, Entry]]]:
    """Yield the observations of each of these game minutes, always the same: every third is a line of dialogue."""
    chance = random.Random(len(names))
    for minute in minutes:
        seen = []
        for _ in range(host.SEEN):
            owner, other = chance.sample(range(len(names)), 2)
            thing, house = chance.choice(_THINGS), chance.randrange(HOUSES)
            if talk := chance.random() < 1 / 3:
                text = f"Ann{other} Smith: {chance.choice(_SAID).format(thing=thing, house=house)}"
            else:
                text = f"Ann{other} Smith {chance.choice(_DEEDS)} {thing} near House {house}."
            entry = Entry(
                type="message" if talk else "observation",
                text=text,
                minute=minute,
                importance=chance.randint(1, 8),
                subjects=(names[owner], names[other]),
                source="dialogue" if talk else "perception",
            )
            seen.append((names[owner], entry))
        yield seen


def houses() -> tuple[Location, ...]:
    """Return the places of the crowd."""
    return tuple(Location(id=f"house-{number}", name=f"House {number}", type="house") for number in range(HOUSES))


def lived(agents: int, model: bool, before: int = host.MORNING, *, by_cpu: bool = False) -> Morning:
    """Live through one morning, with a stand-in for a model or with heuristics alone.

    Args:
        before: ticks until the first morning, at most those from midnight on.
        by_cpu: whether to count the host's idle time as CPU, as if it had a core.
    """
    places = houses()
    owners = {
        f"agent:a{number}": Profile(
            name=f"Ann{number} Smith",
            occupation="baker" if number % 2 else "",
            home=places[number % HOUSES].id,
            work=places[number * 7 % HOUSES].id if number % 2 else "",
        )
        for number in range(agents)
    }
    clock: list[float] = []
    cpu: list[float] = []
    reasons: Counter[str] = Counter()
    ticks = before + AFTER
    begin = host.MORNING - before
    seen = [*observations([*owners], range(begin + 1, begin + ticks + 1))]
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        given: dict[str, Any] = {}
        if model:
            endpoint = stack.enter_context(FakeEndpoint(latency=LATENCY, tail=TAIL))
            given = {"llm": "openai", "base_url": endpoint.url, "api_key": "any", "model": MODEL, "limit_tokens": 10**9}
        settings = Settings.tuned(
            data_dir=Path(folder), tick_rate=host.RATE, morning=host.MORNING, redis_url=None, broker_url=None, **given
        )
        loop = stack.enter_context(
            TickLoop(
                run="morning",
                owners=owners,
                settings=settings,
                locations=places,
                ticks=ticks,
                start_minute=begin,
            )
        )
        wait_for_workers(loop.ledger.client, settings.workers)
        idle = (_OwnCore if by_cpu else IdleTime)(loop._loop)
        start, started = time.perf_counter(), time.thread_time()
        for tick in loop:
            waited, worked = idle.take()
            clock.append((time.perf_counter() - start - waited) * 1000)
            cpu.append((time.thread_time() - started - worked) * 1000)
            start, started = time.perf_counter(), time.thread_time()
            reasons.update(change.reason for change in tick.applied if change.kind == "plan" and change.entry)
            for owner, entry in seen[tick.number - 1]:
                loop.observe(owner, entry)
    return Morning(clock[before:], cpu[before:], reasons.total(), reasons["late"])


class IdleTime:
    """The time that a paced host has before a tick is due; work beyond it counts towards the tick."""

    def __init__(self, run: Any) -> None:
        self._run, self._keep = run, run._keep
        run._keep = self._timed
        self._spent = (0.0, 0.0)

    def _timed(self, pace: Pace) -> None:
        left = pace.due_after(self._run.tick) - time.monotonic()
        start, started = time.perf_counter(), time.thread_time()
        self._keep(pace)
        took, worked = time.perf_counter() - start, time.thread_time() - started
        within = max(0.0, min(took, left))
        self._spent = (within, worked * within / took if took else 0.0)

    def take(self) -> tuple[float, float]:
        """Return the seconds of the clock and of CPU before the newest tick."""
        spent, self._spent = self._spent, (0.0, 0.0)
        return spent


class _OwnCore(IdleTime):
    """The idle time of a host with a core: a tick's, less the CPU that it used."""

    def __init__(self, run: Any) -> None:
        super().__init__(run)
        self._ended = time.thread_time()

    def _timed(self, pace: Pace) -> None:
        pace.due_after(self._run.tick)
        start, started = time.perf_counter(), time.thread_time()
        end = self._ended + 1 / pace.rate
        horizon = round(SECONDS_AHEAD * pace.rate)
        self._run.engine.work_ahead(self._run.tick, lambda: end - time.thread_time(), horizon)
        self._ended = time.thread_time()
        self._spent = (time.perf_counter() - start, self._ended - started)


def table(crowds: Sequence[int] = (1_000,)) -> Table:
    """Return the ticks of a morning with heuristics alone, with a stand-in for a model, and by CPU."""
    rows = []
    ways = (
        ("without a model", False, False),
        (f"a stand-in that takes {LATENCY:g} s", True, False),
        ("without a model, with a core", False, True),
    )
    for agents, (label, model, by_cpu) in product(crowds, ways):
        morning = lived(agents, model, by_cpu=by_cpu)
        clock, cpu = sorted(morning.clock), sorted(morning.cpu)
        worst = int(0.99 * (len(clock) - 1))
        cells = (median(clock), clock[worst], clock[-1], cpu[worst], cpu[-1])
        rows.append(Row(f"{agents:,} agents, {label}", (*cells, morning.plans, 100 * morning.late / morning.plans)))
    columns = ("median tick, ms", "99th percentile", "slowest", "99th, CPU", "slowest, CPU", "plans", "late, %")
    note = f"The {AFTER} ticks from the first morning on, {host.SEEN} observations in each."
    return Table("A morning with memories, beside workers", columns, tuple(rows), note, decimals=1)
