"""Results in time on a real clock: towns at several tick rates with a stand-in as slow as real models.

Everything is real: the server, the worker processes, HTTP, the clock. The stand-in takes its latency times a log-normal
factor with a heavy tail. If two game days would take too long, a run begins an hour before the morning, so that it
includes plans, reflections and actions even if a tick takes a second.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from redis import Redis

from bench.table import Cell, Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import DAY
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.load.run import wait_for_workers
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.latency.due_ticks import UNTIMELY
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.town.town import Town
from cogitate.workers.processes.embedded import EmbeddedServer

TAIL = 0.5  # sigma: one answer in 20 takes 2.3 times the median, one in 100 takes 3.2 times
WARM = 10  # game minutes that do not count: the model's latency is still unknown
SHOWN = ("plan", "reflect", "act")
FIVE = 5 * 60  # minute of the day: plans are requested before six
FIRST_REFLECTIONS = 20 * 60  # minute of the first day by which all have reflected
USUAL_INTERVAL, SHORT_INTERVAL = 720, 120  # game minutes between two reflections
NEARLY_ALL = 0.9  # share of the budget, spent or in flight, from which refusals are not faults


@dataclass(frozen=True, kw_only=True)
class PacedCase:
    """One run of the table."""

    tick_rate: float  # ticks a second
    latency: float  # seconds, the median
    ticks: int
    start_minute: int = 0  # game time of tick 0
    adaptive: bool | None = None  # False: due ticks are fixed
    reflection_interval: int = 720  # game minutes
    agents: int = 25
    limit_tokens: int = 3_000_000
    tail: float = TAIL
    seconds_per_tick: int = 60  # of game time

    @property
    def label(self) -> str:
        fixed = ", fixed" if self.adaptive is False else ""
        return f"{self.tick_rate:g} Hz, {self.latency:g} s, {self.ticks} ticks{fixed}"


@dataclass(kw_only=True)
class PacedRun:
    """The figures of a run."""

    pace: PacedCase
    asked: int = 0  # jobs admitted to a model that have ended
    in_time: int = 0  # of these, applied with the model's answer
    stale: int = 0
    failed: int = 0
    spent: int = 0  # tokens
    used: int = 0  # tokens of answers applied when due
    repaired: int = 0  # tokens of late answers that replaced the heuristic's result
    too_slow: int = 0  # requests
    refused: int = 0  # by the budget of the run, while less than `NEARLY_ALL` of it was spent or in flight
    by_model: Counter[str] = field(default_factory=Counter)  # results by kind
    of: Counter[str] = field(default_factory=Counter)  # results, and requests without one
    replayed: str = ""
    seconds: float = 0.0  # of real time, from the first tick to the last
    calls: list[tuple[str, int]] = field(default_factory=list)  # owner and tick of each job admitted to a model

    def cells(self) -> tuple[Cell, ...]:
        """Return the row of the table."""
        unused = self.spent - self.used
        shares = [_share(self.by_model[kind], self.of[kind]) for kind in SHOWN]
        return (
            self.asked,
            _share(self.in_time, self.asked),
            _share(unused, self.spent),
            _share(unused - self.repaired, self.spent),
            self.too_slow,
            self.refused,
            *shares,
            self.replayed,
        )


COLUMNS = (
    "asked",
    "in time",
    "tokens unused",
    "less repairs",
    "too slow",
    "refused early",
    *SHOWN,
    "replay",
)


def paces(rates: Sequence[float], latencies: Sequence[float], seconds: float, before: bool) -> list[PacedCase]:
    """Return the cases to run: two game days if they fit in `seconds`, else as many ticks as fit from five o'clock.

    If a case ends before the first reflections of the usual interval, reflections come every two hours.
    """
    found = []
    for rate in rates:
        ticks = min(2 * DAY, int(seconds * rate))
        start = 0 if ticks == 2 * DAY else FIVE
        interval = USUAL_INTERVAL if start + ticks > FIRST_REFLECTIONS else SHORT_INTERVAL
        for latency in latencies:
            for adaptive in (False, None) if before else (None,):
                found.append(
                    PacedCase(
                        tick_rate=rate,
                        latency=latency,
                        ticks=ticks,
                        start_minute=start,
                        adaptive=adaptive,
                        reflection_interval=interval,
                    )
                )
    return found


def measure(
    rates: Annotated[Sequence[float], "ticks a second"] = (1.0, 5.0, 20.0),
    latencies: Annotated[Sequence[float], "seconds, medians"] = (0.2, 1.0, 5.0),
    seconds: Annotated[float, "most seconds of one run"] = 360.0,
    before: Annotated[bool, "repeat each run with fixed due ticks"] = False,
) -> Table:
    """Run the cases one after the other, report each as it ends, and return their figures."""
    lived = []
    for pace in paces(rates, latencies, seconds, before):
        lived.append(live(pace))
        print(table(lived[-1:]), flush=True)
    return table(lived)


def table(lived: Sequence[PacedRun]) -> Table:
    """Return the figures of runs."""
    note = (
        "In time: share of the jobs admitted to a model after the first ten minutes. Plan, reflect, act: the model's "
        "share of all results."
    )
    return Table("Thoughts in time", COLUMNS, tuple(Row(one.pace.label, one.cells()) for one in lived), note)


def live(pace: PacedCase) -> PacedRun:
    """Run one case."""
    lived = PacedRun(pace=pace)
    town = Town(pace.agents, 0, 1, pace.start_minute)
    loop: TickLoop
    with TemporaryDirectory() as folder, FakeEndpoint(latency=pace.latency, tail=pace.tail) as endpoint:
        settings = Settings.tuned(
            data_dir=Path(folder),
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            model=MODEL,
            limit_tokens=pace.limit_tokens,
            tick_rate=pace.tick_rate,
            adaptive_latency=pace.adaptive,
            reflection_interval=pace.reflection_interval,
        )
        with (
            EmbeddedServer(Path(folder)) as server,
            server.client() as client,
            loop_of(
                town,
                "paced",
                settings,
                ticks=pace.ticks,
                watchers=[lambda tick, outcome, _: _see_refusals(lived, client, loop, outcome)],
            ) as loop,
        ):
            wait_for_workers(loop.ledger.client, settings.workers)
            began = time.monotonic()
            drive(loop, town)
            lived.seconds = time.monotonic() - began
            measure_run(lived, client, loop)
            try:
                replay(client, "paced", server.client(database=2))
                lived.replayed = "same"
            except JournalError as error:
                lived.replayed = str(error)[:60]
    return lived


def _see_refusals(lived: PacedRun, client: Redis, loop: TickLoop, outcome: FinishedTick) -> None:
    refused = [one for one in outcome.core.decided if one.refused.startswith("run:")]
    if refused:
        held: Any = client.hmget(loop.ledger.store.window_key("run:0"), "run|tokens|reserved", "run|tokens|spent")
        if sum(int(one or 0) for one in held) < NEARLY_ALL * lived.pace.limit_tokens:
            lived.refused += len(refused)


def measure_run(lived: PacedRun, client: Redis, loop: TickLoop) -> None:
    """Add the figures of a finished run; its calls only if they are not known yet."""
    known = bool(lived.calls)
    store = loop.ledger.store
    asked: set[Any] = set()
    for line in read_journal(store, 1, loop.tick):
        for decided in line.core.decided:
            if decided.refused in UNTIMELY:
                lived.too_slow += 1
            if decided.decision == "admitted" and decided.model:
                asked.add(decided.key)
                if not known:
                    lived.calls.append((decided.key.owner, line.core.tick))
            elif decided.decision == "dropped":
                lived.of[decided.key.kind] += 1
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            answered = note.source in ("llm", "cached") and ended.end == "applied"
            lived.of[ended.key.kind] += 1
            lived.by_model[ended.key.kind] += answered
            lived.used += note.spent.tokens if answered else 0
            if ended.key in asked and ended.key.tick > WARM and ended.end != "cancelled":
                lived.asked += 1
                lived.in_time += answered
                lived.stale += ended.end == "stale"
                lived.failed += ended.reason == "failed"
        for ended, note in zip(line.core.late, line.notes.late, strict=True):
            lived.repaired += note.spent.tokens if ended.end == "applied" else 0
    spent: Any = client.hget(store.window_key("run:0"), "run|tokens|spent")
    lived.spent = int(spent or 0) - _staged(store)


def _staged(store: RunStore) -> int:
    """Return the tokens of answers that are staged and not due yet."""
    found = 0
    keys = store.members("staged")
    for key in keys:
        last: Any = store.client.hget(store.job_key(key.decode()), "last")
        found += int((last or b"[0,0,0]").strip(b"[]").split(b",")[1])
    return found


def _share(part: int, total: int) -> float | None:
    return part / total if total else None
