"""`cogitate minds`: write what the agents of a run remember as one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, open_state, read_settings
from cogitate.ops.report.minds_page import write_minds
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.inspection.minds import read_minds
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.ledger.run_store import RunStore


def minds(
    run: RunName,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write (default minds-RUN.html).", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Write one HTML file of what every agent remembers: a timeline of each day, and each thought with its evidence,
    the job that wrote it, and its cost.

    The file contains the texts of memories, and no prompt. It loads nothing, and only you may read it. The journal is
    verified on the way; the exit code is 1 when it was changed.
    """
    settings = read_settings(verbose, data_dir=data_dir)
    load_kinds(settings)
    path = out or Path(f"minds-{run}.html")
    with open_state(settings) as client:
        store = RunStore.open(client, run)
        facts, tick = kept_facts(store), store.tick()
        with facts.clock.in_force():
            found = list(read_minds(client, run))
            write_minds(run, tick, facts.minute(tick), found, path)
    console = Terminal(stderr=as_json)
    console.print(f"wrote {path} ({path.stat().st_size / 1000:,.0f} kB)")
    if as_json:
        entries = sum(len(mind.stream.entries) for mind in found)
        print(json.dumps({"run": run, "tick": tick, "owners": len(found), "entries": entries, "out": str(path)}))
    return 0
