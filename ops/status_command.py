"""`cogitate status`: the runs of a data folder, or one of them in figures, also while it runs."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from memory.clock import clock_time, day_of
from ops import logs
from ops.options import AsJson, DataDir, Verbose, read_settings
from ops.run_report import print_summary
from ops.state import open_state
from scheduler.summary import RunSummary, run_names, summarise_run

EXAMPLE = "Example: cogitate status town-1"


def status(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run's name; without it, all runs.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show the runs of a data folder, or everything about one."""
    logs.configure(verbose)
    console = Console(stderr=as_json)
    with open_state(read_settings(data_dir=data_dir)) as client:
        found = [summarise_run(client, name) for name in ([run] if run is not None else run_names(client))]
    if run is not None:
        print_summary(console, found[0])
    elif found:
        console.print(_runs_table(found))
    else:
        console.print("no runs yet; make one with: cogitate run", highlight=False)
    if as_json:
        print(json.dumps(_json(found[0]) if run is not None else {"runs": [_brief(one) for one in found]}), flush=True)
    return 0


def _json(summary: RunSummary) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(summary)
    return facts


def _brief(summary: RunSummary) -> dict[str, Any]:
    facts = _json(summary)
    return {name: facts[name] for name in ("run", "status", "tick", "minute", "agents", "digest")}


def _runs_table(found: list[RunSummary]) -> Table:
    table = Table("run", "status", "tick", "game time", "agents", "jobs", "digest")
    for one in found:
        jobs = sum(sum(facts["end"].values()) for facts in one.jobs.values())
        moment = f"day {day_of(one.minute) + 1}, {clock_time(one.minute)}"
        table.add_row(one.run, one.status, f"{one.tick:,}", moment, str(one.agents), str(jobs), one.digest)
    return table
