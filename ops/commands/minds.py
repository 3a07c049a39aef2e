"""`cogitate minds`: show what the agents of a run remember on a page, served on this machine or written as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from redis import Redis

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, open_state, read_settings
from cogitate.ops.report.minds_page import write_minds
from cogitate.ops.report.minds_reading import MindsReading
from cogitate.ops.report.minds_server import MindsServer
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.minds import read_minds
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.ledger.run_store import RunStore


def minds(
    run: RunName,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the page as one file instead of serving it.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to serve at; 0: any free one.")] = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show what every agent remembers on a page: a timeline of each day, and each thought with its evidence, the job
    that wrote it, what its prompt showed and left out, and its cost.

    By default, the page is served on this machine until Ctrl-C, at an address with a secret. It answers what comes to
    an agent's mind for a question, and shows prompts that the run captured. With --out it is one HTML file that loads
    nothing, that only you may read, and that holds no prompt. The exit code is 1 if the journal was altered.
    """
    settings = read_settings(verbose, data_dir=data_dir)
    load_kinds(settings)
    with open_state(settings) as client:
        if out is None:
            RunStore.open(client, run)  # name a missing run at once
            return _serve(MindsReading(client, settings), run, port)
        told = {"run": run, **_write(client, run, out)}
    Terminal(stderr=as_json).print(f"wrote {out} ({out.stat().st_size / 1000:,.0f} kB)")
    if as_json:
        print(json.dumps(told))
    return 0


def _write(client: Redis, run: str, out: Path) -> dict[str, int | str]:
    """Write the page, and return what is on it."""
    store = RunStore.open(client, run)
    facts, tick = kept_facts(store), store.tick()
    with facts.clock.in_force():
        found = list(read_minds(client, run))
        write_minds(run, tick, facts.minute(tick), found, out, trimmed_tick(store))
    entries = sum(len(mind.stream.entries) for mind in found)
    return {"tick": tick, "owners": len(found), "entries": entries, "out": str(out)}


def _serve(reading: MindsReading, run: str, port: int) -> int:
    """Serve the page until a signal.

    Raises:
        ConfigurationError: when the port is in use.
    """
    err = Terminal(stderr=True)
    try:
        server = MindsServer(reading, run, port)
    except OSError as error:
        raise ConfigurationError(f"--port {port}: cannot listen there: {error.strerror or error}") from None
    with server, interruptible(lambda text: err.print(text)) as interruption:
        print(server.url, flush=True)
        err.print("Open this address in a browser on this machine; Ctrl-C ends it.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return interruption.exit_code
    return 0
