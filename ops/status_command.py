"""`cogitate status`: one run in figures, also while it runs; without a run's name, which runs there are."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from ops import logs
from ops.options import AsJson, DataDir, Verbose, read_settings
from ops.run_report import print_summary
from ops.runs_command import show_runs
from ops.state import open_state
from ops.watch import watch_run
from scheduler.settings import ConfigurationError
from scheduler.summary import summarise_run

EXAMPLE = """
Example: cogitate status town-1

Example: cogitate status town-1 --watch
"""


def status(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's name; without it, the same as `cogitate runs`.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until the run ends; a line per change where nothing can be redrawn.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show everything about a run: jobs, budget, memories, warnings."""
    logs.configure(verbose)
    if watch and run is None:
        raise ConfigurationError("--watch needs to know which run: cogitate status RUN --watch")
    console = Console(stderr=as_json)
    with open_state(read_settings(data_dir=data_dir)) as client:
        if run is None:
            show_runs(client, as_json)
            return 0
        summary = watch_run(client, run, console) if watch else summarise_run(client, run)
    print_summary(console, summary)
    if as_json:
        print(json.dumps(msgspec.to_builtins(summary)), flush=True)
    return 0
