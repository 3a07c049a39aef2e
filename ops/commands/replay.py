"""`cogitate replay`: rebuild a run from its journal alone, and compare it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from redis import Redis

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, read_settings
from cogitate.ops.formatting.warnings import print_left_out
from cogitate.ops.open_state import open_state
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.exported import exported_journal
from cogitate.scheduler.journal.history import unreadable_entries_of
from cogitate.workers.processes.embedded import EmbeddedServer

EXAMPLE = "Example: cogitate replay town-1 --verify"


def replay_run(
    run: RunName,
    verify: Annotated[bool, typer.Option("--verify", help="Compare each stream with the run's own.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Rebuild every memory stream of a run from its journal, without a model, in an empty scratch database.

    Trimmed ticks come from the files in the data folder. If these are missing, the replay begins with the journal's
    first checkpoint and says so.

    The exit code is 1 when the journal or a stream was changed; the message names the tick.
    """
    logs.configure(verbose)
    settings = read_settings(data_dir=data_dir)
    with open_state(settings) as client, scratch() as empty:
        rebuilt = replay(client, run, empty, exported_journal(client, settings.data_dir, run))
        left_out = unreadable_entries_of(client, run)
    print_left_out(left_out)
    before = f" from the checkpoint of tick {rebuilt.first - 1:,} on" if rebuilt.first > 1 else ""
    Terminal(stderr=as_json).print(
        f"Run {run}: {rebuilt.ticks - rebuilt.first + 1:,} ticks replayed{before}; {rebuilt.entries:,} "
        f"entries of {rebuilt.owners:,} streams were rebuilt and agree. Digest {rebuilt.digest}, chain {rebuilt.chain}",
        highlight=False,
        soft_wrap=True,
    )
    if as_json:
        facts = {"run": run, **rebuilt._asdict(), "left_out": [one._asdict() for one in left_out]}
        print(json.dumps(facts), flush=True)
    return 0


@contextmanager
def scratch() -> Iterator[Redis]:
    """Yield a client of an empty server that is removed after the block."""
    with (
        tempfile.TemporaryDirectory(prefix="cogitate-") as folder,
        EmbeddedServer(Path(folder)) as server,
        server.client() as client,
    ):
        yield client
