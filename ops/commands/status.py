"""`cogitate status`: show the figures of one run, also during it; without a name, list the runs."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, EveryOwner, Verbose, read_settings
from cogitate.ops.commands.runs import show_runs
from cogitate.ops.commands.watch import watch_run
from cogitate.ops.formatting.endpoints import endpoints_table
from cogitate.ops.formatting.real_day import real_day_json, real_day_line
from cogitate.ops.formatting.run import print_summary
from cogitate.ops.formatting.workers import format_failing_worker
from cogitate.ops.open_state import open_state
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.redis_problems import redis_problems
from cogitate.scheduler.inspection.summary import summarise_run
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
