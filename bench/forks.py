"""`python -m bench fork`: the time of an unchanged fork, and the calls that one changed observation costs.

A town with real workers and real HTTP, and the stand-in model. Each fork begins at noon of the first day.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

from bench.table import Row, Table
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.changes import AddObservation, Fork
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.run_totals import spending
from cogitate.simulation.town.town import Town

NOON, HOUR, DAY = 720, 60, 1_440  # ticks of a minute
ACT_INTERVAL = 20  # ticks, in the runs that count calls, so that each agent makes several in an hour
COLUMNS = ("seconds", "of the source's time", "CPU seconds of the host", "calls", "same digest")


class Lived(NamedTuple):
    """The figures of a run."""

    seconds: float
    cpu: float  # seconds of this process, which no other program's load changes much
    calls: int
    digest: str
    jobs_of_hour: int  # jobs for a model in the hour after noon
    calls_of_hour: int


def live(
    folder: Path,
    endpoint: FakeEndpoint,
    run: str,
    ticks: int,
    town: Town,
    given: dict[str, Any],
    fork: Fork | None = None,
) -> Lived:
    """Live a run, or its fork at noon, and count."""
    settings = Settings(
        data_dir=folder,
        llm="openai",
        base_url=endpoint.url,
        api_key="any",
        limits={},
        limit_tokens=1_000_000_000,
        **given,
    )
    with loop_of(town, run, settings, ticks=ticks, fork=fork) as loop:
        began, used = time.monotonic(), time.process_time()  # without the start of a server, which takes both as long
        drive(loop, town)
        seconds, cpu = time.monotonic() - began, time.process_time() - used
        lines = [*read_journal(loop.ledger.store, 1, loop.tick)]
        digest = loop.digest
    hour = [line for line in lines if NOON < line.core.tick <= NOON + HOUR]
    asked = [one for line in hour for one in line.core.decided if one.model]
    spent = [one for line in hour for one in spending(line.notes) if one.key.tick > NOON]
    calls = sum(one.cost.calls for line in lines for one in spending(line.notes))
    return Lived(seconds, cpu, calls, digest, len(asked), sum(one.cost.calls for one in spent))


def tables(
    agents: int = 25,
    days: Annotated[int, "game days of the unchanged fork; 0: only changed ones"] = 2,
    rate: Annotated[float, "ticks a second of the paced run"] = 40.0,
    latency: Annotated[float, "seconds of a call"] = 0.1,
) -> Iterator[Table]:
    """Yield the time of unchanged forks, paced and unpaced, and the calls of forks with one changed observation."""
    rows = []
    paces: dict[str, dict[str, Any]] = {"unpaced": {}, f"{rate:g} ticks a second": {"tick_rate": rate}}
    for label, given in paces.items() if days else ():
        with TemporaryDirectory(prefix="cogitate-") as folder, FakeEndpoint(latency=latency) as endpoint:
            source, fork = (
                live(Path(folder), endpoint, run, days * DAY, Town(agents), given, fork)
                for run, fork in (("source", None), ("fork", Fork(run="source", tick=NOON)))
            )
        rows.append(Row(f"{label}, source", (source.seconds, None, source.cpu, source.calls, None)))
        same = "yes" if fork.digest == source.digest else "no"
        rows.append(Row(f"{label}, fork", (fork.seconds, fork.seconds / source.seconds, fork.cpu, fork.calls, same)))
    if days:
        yield Table(f"Unchanged forks at noon of a town of {agents}, {days} days", COLUMNS, tuple(rows), decimals=2)
    yield changed(agents, latency)


def changed(agents: int, latency: float, owners: int = 5) -> Table:
    """Return the calls of forks in which one of several agents has a different observation."""
    rows, given = [], {"act_interval": ACT_INTERVAL}
    with TemporaryDirectory(prefix="cogitate-") as folder, FakeEndpoint(latency=latency) as endpoint:
        source = live(Path(folder), endpoint, "source", NOON + HOUR, Town(agents), given)
        rows.append(Row("source", (source.jobs_of_hour, source.calls_of_hour, 1.0)))
        for number, owner in enumerate(sorted(Town(agents).owners())[:owners], 1):
            seen = AddObservation(NOON + 1, owner, {"text": "A stranger asks about the harbour."})
            changed = Fork(run="source", tick=NOON, changes=(seen,))
            fork = live(Path(folder), endpoint, f"fork-{number}", NOON + HOUR, Town(agents), given, changed)
            share = fork.calls_of_hour / source.calls_of_hour
            rows.append(Row(f"fork, agent {number}", (fork.jobs_of_hour, fork.calls_of_hour, share)))
    return Table(
        f"One observation of one agent of {agents} changed at noon: the hour after",
        ("jobs for a model", "calls", "of the source's calls"),
        tuple(rows),
        decimals=2,
    )
