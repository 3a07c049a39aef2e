"""`cogitate minds`: show the memories of a run's agents on a page, served on this machine or written as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.capsule.reading import ReadRun, open_runs
from cogitate.ops.command_options import RunOrFile, SharedOptions
from cogitate.ops.report.minds_page import ShownRun, shown_minds, write_minds
from cogitate.ops.report.minds_reading import MindsReading
from cogitate.ops.report.minds_server import MindsServer
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.minds import read_minds, read_past
from cogitate.scheduler.inspection.stored_run import kept_facts, tick_at
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.ledger.run_store import RunStore


def minds(
    run: RunOrFile,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the page as one file instead of serving it.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Show the memories at the end of a tick: 720, or 'day 2 12:00'."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option("--beside", metavar="RUN", help="Show each agent beside the same agent of this run or capsule."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to serve at; 0: any free one.")] = 0,
    *,
    options: SharedOptions,
) -> int:
    """Show what every agent remembers on a page: a timeline of each day, and each thought with its evidence, the job
    that wrote it, what its prompt showed and left out, and its cost.

    By default, the page is served on this machine until Ctrl-C, at an address with a secret. It shows what an agent
    recalls for a question, and the prompts that the run recorded. With --out it is one HTML file that loads nothing,
    holds no prompt, and is readable by you alone. Memories at an earlier time are rebuilt from the journal, exactly as
    they were. The exit code is 1 if the journal was altered.
    """
    settings = options.settings()
    load_kinds(settings)
    with open_runs(settings, *filter(None, (run, beside))) as runs:
        if out is None:
            names = [one.run for one in runs]
            reading = MindsReading(runs[0].client, settings, {one.run: one.client for one in runs})
            reading.page(names[0], at=at or "", beside=(*names, "")[1])  # report a missing run or tick before serving
            return _serve(reading, names, at, port)
        shown, figures = zip(*(read_shown(one, at) for one in runs), strict=True)
    write_minds(shown, out)
    Terminal(stderr=options.as_json).print(f"wrote {out} ({out.stat().st_size / 1000:,.0f} kB)")
    if options.as_json:
        print(json.dumps({**figures[0], "out": str(out)} | ({"beside": figures[1]} if beside is not None else {})))
    return 0


def read_shown(read: ReadRun, at: str | None) -> tuple[ShownRun, dict[str, int | str]]:
    """Return a run with all memories, now or at the time `at`, and its figures."""
    client, run = read
    store = RunStore.open(client, run)
    facts, past = kept_facts(store), None if at is None else read_past(store, tick_at(store, at))
    tick = store.tick() if past is None else past.tick
    with facts.clock.in_force():
        minds = list(read_minds(client, run, past))
        shown = shown_minds(
            run,
            tick,
            facts.minute(tick),
            trimmed_tick(store),
            minds,
            {model.name: model.model for model in facts.models},
        )
    entries = sum(len(mind.stream.entries) for mind in minds)
    return shown, {"run": run, "tick": tick, "owners": len(minds), "entries": entries}


def _serve(reading: MindsReading, runs: Sequence[str], at: str | None, port: int) -> int:
    """Serve the page until a signal.

    Raises:
        ConfigurationError: when the port is in use.
    """
    err = Terminal(stderr=True)
    try:
        server = MindsServer(reading, runs, port)
    except OSError as error:
        raise ConfigurationError(f"--port {port}: cannot listen there: {error.strerror or error}") from None
    with server, interruptible(err.print) as interruption:
        print(server.url if at is None else f"{server.url}?{urlencode({'at': at})}", flush=True)
        err.print("Open this address in a browser on this machine; Ctrl-C stops the server.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return interruption.exit_code
    return 0
