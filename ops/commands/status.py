"""`cogitate status`: show the figures of one run, also during it; without a name, list the runs."""

from __future__ import annotations

import json
import time
from typing import Annotated

import msgspec
import typer
from redis import Redis
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, EveryOwner, Verbose, read_settings
from cogitate.ops.commands.runs import show_runs
from cogitate.ops.formatting.amounts import format_cost, real_day_json, real_day_line
from cogitate.ops.formatting.endpoints import endpoints_table
from cogitate.ops.formatting.run import degraded, ended_jobs, jobs_table, print_summary, run_budget_table
from cogitate.ops.formatting.warnings import format_failing_worker
from cogitate.ops.open_state import open_state
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.redis_problems import redis_problems
from cogitate.scheduler.inspection.summary import RunReader, RunSummary, summarise_run
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.worker_signs import workers_seen

EXAMPLE = """
Example: cogitate status town-1

Example: cogitate status town-1 --watch
"""


def status(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The run's name; without it, all runs are listed.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the run until it ends; outside a terminal, a line per change.")
    ] = False,
    every_owner: EveryOwner = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show a run's jobs, budget, memories and warnings."""
    logs.configure(verbose)
    if watch and run is None:
        raise ConfigurationError("--watch needs a run: cogitate status RUN --watch")
    console = Terminal(stderr=as_json)
    settings = read_settings(data_dir=data_dir)
    with open_state(settings) as client:
        if run is None:
            show_runs(client, settings, as_json)
            return 0
        summary = watch_run(client, run, console) if watch else summarise_run(client, run)
        day = RealDay(client, settings).spending()
        endpoints = endpoint_vitals(client)
        workers = workers_seen(client)
        wrong = redis_problems(client)
    print_summary(console, summary, every_owner=every_owner)
    if endpoints:
        console.print(endpoints_table(endpoints))
    if day.limited:
        console.print(real_day_line(day), highlight=False, soft_wrap=True)
    for missing in workers.missing:
        said = f"Worker {missing.worker} has sent no heartbeat for {missing.seconds:.0f} s"
        console.print(said, highlight=False, soft_wrap=True, style="yellow")
    for failing in workers.failing:
        console.print(format_failing_worker(failing), highlight=False, soft_wrap=True, style="yellow")
    for what in wrong:
        console.print(f"Redis {what}", highlight=False, soft_wrap=True, style="yellow")
    if as_json:
        found = msgspec.to_builtins(summary) | ({"real_day": real_day_json(day)} if day.limited else {})
        if endpoints:
            found["endpoints"] = msgspec.to_builtins(endpoints)
        if workers.expected:
            found["workers"] = msgspec.to_builtins(workers)
        if wrong:
            found["redis"] = wrong
        print(json.dumps(found), flush=True)
    return 0


EVERY = 0.5  # seconds between two reads


def watch_run(client: Redis, run: str, console: Console) -> RunSummary:
    """Show a run until its host leaves it, and return its last summary.

    Without a host the display says so, and waits until a host resumes the run or the user presses Ctrl-C.

    Raises:
        RunMissing: when the run does not exist, or is deleted meanwhile.
    """
    reader = RunReader(client, run)
    summary = reader.read()
    if not console.is_terminal:
        printed = ""
        while True:
            line = one_line(summary)
            if line != printed:
                console.print(line, highlight=False, soft_wrap=True)
                printed = line
            if summary.status not in ("running", "paused"):
                return summary
            time.sleep(EVERY)  # pause between two reads
            summary = reader.read()
    with Live(_drawn(summary), console=console, auto_refresh=False, transient=True) as live:
        while summary.status in ("running", "paused"):
            time.sleep(EVERY)  # pause between two reads
            summary = reader.read()
            live.update(_drawn(summary), refresh=True)
    return summary


def one_line(summary: RunSummary) -> str:
    """Return the progress of a run on one line."""
    reasons, _ = degraded(summary)
    return (
        f"{summary.run}  {state_of(summary)}  tick {summary.tick:,}  {summary.clock.date_and_time(summary.minute)}  "
        f"jobs {ended_jobs(summary):,}, {reasons.total():,} degraded  spent {format_cost(summary.spent)}"
    )


def state_of(summary: RunSummary) -> str:
    """Return the mode that operators set for a running run, otherwise its status."""
    return summary.steering.mode if summary.status == "running" and summary.held else summary.state


def _drawn(summary: RunSummary) -> RenderableType:
    parts: list[RenderableType] = [Text(one_line(summary)), jobs_table(summary)]
    budget = run_budget_table(summary)
    return Group(*parts, budget) if budget.row_count else Group(*parts)
