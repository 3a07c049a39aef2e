"""Measure how long a small run's jobs wait for their answers, alone and beside a run with ten thousand waiting jobs.

Both runs tick once a second, each in its own process. The large one requests new jobs at each tick for those that
were answered, so its queue never grows shorter. The time of a job begins before the tick that requests it is committed.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from multiprocessing.synchronize import Event

from bench.fleet.asking_kinds import NAMES
from bench.fleet.runs import Fleet, Place, begun
from bench.table import Row, Table, percentile
from cogitate.hosting import logs
from cogitate.hosting.tick_loop import TickLoop

WAITING, WORKERS = 10_000, 2
TICK = 1.0  # seconds
JOBS, TICKS, WARM = 6, 100, 10  # of the small run: jobs a tick, counted ticks, and those before them
LOOK = 0.005  # seconds between two checks for answers
PATIENCE = 120.0  # seconds until the large run's jobs wait


def table() -> Table:
    """Return the seconds from a request to its answer, alone and beside the large run."""
    with ExitStack() as stack:
        fleet = Fleet(stack)
        fleet.start_workers(WORKERS)
        small = fleet.run("small", JOBS)
        _waits(fleet, small, WARM)
        alone = _percentiles(_waits(fleet, small, TICKS))
        with _large_run(fleet):
            beside = _percentiles(_waits(fleet, small, TICKS))
    rows = [Row("alone", alone), Row(f"beside {WAITING:,} waiting jobs", beside)]
    rows.append(Row("later, in ticks", tuple((b - a) / TICK for a, b in zip(alone, beside, strict=True))))
    note = f"Seconds of {JOBS * TICKS} jobs; ticks of {TICK:g} s, {WORKERS} workers."
    return Table("A small run beside a large one", ("median", "99th percentile", "longest"), tuple(rows), note)


def _percentiles(waits: list[float]) -> tuple[float, ...]:
    return tuple(percentile(waits, share) for share in (0.5, 0.99, 1.0))


def _waits(fleet: Fleet, loop: TickLoop, ticks: int) -> list[float]:
    """Return the seconds that each job of the small run took, tick by tick."""
    staged = loop.ledger.store.key("staged")
    waits: list[float] = []
    answered = len(fleet.state.smembers(staged))
    for _ in range(ticks):
        began = time.monotonic()
        with loop.next_tick():
            for owner, kind in zip(loop.state.streams, cycle(NAMES), strict=False):
                loop.request(kind, owner)
        ended: list[float] = []
        while len(ended) < JOBS or time.monotonic() < began + TICK:
            new = int(fleet.state.scard(staged)) - answered - len(ended)
            ended += [time.monotonic() - began] * new
            time.sleep(LOOK)  # between two looks: the count is in another process
        waits += ended
        answered += JOBS
    return waits


@contextmanager
def _large_run(fleet: Fleet) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    waiting, over = context.Event(), context.Event()
    host = context.Process(target=_host, args=(fleet.place, waiting, over))
    host.start()
    try:
        if not waiting.wait(PATIENCE):
            raise RuntimeError("the large run has not begun")
        yield
    finally:
        over.set()
        host.join(PATIENCE)
        host.kill()


def _host(place: Place, waiting: Event, over: Event) -> None:
    """Host the large run until told that it is over."""
    logs.quiet()
    with begun(place, "large", WAITING // 4) as loop:
        store, owners = loop.ledger.store, cycle(loop.state.streams)
        while not over.is_set():
            began = time.monotonic()
            missing = WAITING - store.client.scard(store.key("unclaimed"))
            with loop.next_tick():
                for number, owner in enumerate(islice(owners, max(0, missing))):
                    loop.request(NAMES[number % len(NAMES)], owner)
            if store.client.scard(store.key("unclaimed")) >= WAITING * 0.95:
                waiting.set()
            over.wait(max(0.0, TICK - (time.monotonic() - began)))
