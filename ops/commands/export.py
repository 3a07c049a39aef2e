"""`cogitate export`: write a run as JSON Lines for people and tools. Nothing imports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from redis import Redis

from hosting import logs
from hosting.terminal import Terminal, visible_json
from memory.snapshot import dump
from memory.unreadable import leave_out, unreadable
from ops.command_options import DataDir, RunName, Verbose, read_settings
from ops.commands.job import job_json
from ops.formatting.unreadable_entries import print_left_out
from ops.open_state import open_state
from scheduler.inspection.job_history import JobHistory
from scheduler.journal.exported import all_lines
from scheduler.ledger.run_store import RunStore
from scheduler.ledger.streams import load_streams

EXAMPLE = "Example: cogitate export town-1 --what memories --out memories.jsonl"

What = Literal["memories", "jobs", "journal"]


def export(
    run: RunName,
    what: Annotated[What, typer.Option("--what", help="Memories, one owner a line; jobs; or ticks of the journal.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write (default stdout).", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    verbose: Verbose = 0,
) -> int:
    """Write a run's memories, jobs or journal as JSON Lines, always in the same order.

    Owners come by name, ended jobs in the order of their ends and before open ones, ticks by number. The journal is
    verified on the way. Ticks that were trimmed come from the files in the data folder, if they are there; jobs that
    ended in them are left out. The exit code is 1 when the journal was changed.
    """
    logs.configure(verbose)
    settings = read_settings(data_dir=data_dir)
    with open_state(settings) as client:
        lines = _LINES[what](client, run, settings.data_dir)
        if out is None:
            count = _to_stdout(lines)
        else:
            with out.open("wb") as file:
                count = sum(1 for line in lines if file.write(line + b"\n"))
    Terminal(stderr=True).print(f"{count:,} lines of {what} of run {run}", highlight=False)
    return 0


def _to_stdout(lines: Iterator[bytes]) -> int:
    """Write lines until the reader closes the pipe (`… | head`), and return how many were written."""
    count = 0
    try:
        for line in lines:
            shown = visible_json(line) if sys.stdout.isatty() else line
            sys.stdout.buffer.write(shown + b"\n")
            count += 1
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the buffered rest has no reader
    return count


def _memories(client: Redis, run: str, data_dir: Path) -> Iterator[bytes]:
    """Yield every owner's stream, also those of owners that have left."""
    store = RunStore.open(client, run)
    names = {*store.fields("owners"), *store.fields("retired")}
    for owner in sorted(name.decode() for name in names):
        stream = load_streams(store, [owner])[owner]
        found = list(unreadable([stream]))
        print_left_out(found)
        leave_out(stream, (one.number for one in found), stream.head.last_number)
        yield dump(stream)


def _jobs(client: Redis, run: str, data_dir: Path) -> Iterator[bytes]:
    return (msgspec.json.encode(job_json(one)) for one in JobHistory(client, run).all())


def _journal(client: Redis, run: str, data_dir: Path) -> Iterator[bytes]:
    for line in all_lines(client, data_dir, run):
        yield msgspec.json.encode(
            {"tick": line.core.tick, "digest": line.digest, "chain": line.chain, "core": line.core, "notes": line.notes}
        )


_LINES = {"memories": _memories, "jobs": _jobs, "journal": _journal}
