"""`cogitate delete`: remove a run and everything it stores."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, Yes, is_confirmed, read_settings
from cogitate.ops.open_state import open_state
from cogitate.scheduler.journal.exported import remove_exported
from cogitate.scheduler.ledger.deletion import delete_run

EXAMPLE = "Example: cogitate delete town-1 --yes"


def delete(
    run: RunName,
    yes: Yes = False,
    force: Annotated[
        bool, typer.Option("--force", help="Remove the run even while a host holds it; that host stops.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Remove a run: its memories, its jobs, its journal and its name. This cannot be undone.

    The exit code is 1 when you answer no, 2 when a host holds the run.
    """
    logs.configure(verbose)
    console = Terminal(stderr=True)
    if not yes and not is_confirmed("delete", run, f"Remove run {run}, its memories and its journal?"):
        console.print("nothing was removed")
        return 1
    settings = read_settings(data_dir=data_dir)
    with open_state(settings) as client:
        keys = delete_run(client, run, force=force)
        files = remove_exported(settings.data_dir, run)
    console.print(f"Run {run} is gone ({keys:,} keys, {files:,} files of its journal)", highlight=False)
    if as_json:
        print(json.dumps({"run": run, "keys": keys, "files": files}), flush=True)
    return 0
