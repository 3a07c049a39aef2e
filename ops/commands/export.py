"""`cogitate export`: write a run as JSON Lines or Parquet for people and tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from redis import Redis

from cogitate.hosting.terminal import Terminal, visible_json
from cogitate.memory import typed_json
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump_with_profile
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.capsule.writing import write_capsule
from cogitate.ops.command_options import DataDir, RunOrFile, Verbose, is_capsule, open_state, read_settings
from cogitate.ops.commands.verify import verified_lines
from cogitate.ops.exchange.generative_agents import write_save
from cogitate.ops.formatting.job_life import job_json
from cogitate.ops.run_tables import COLUMNS, rows_of, streams_of, write_parquet
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.journal.exported import all_lines
from cogitate.scheduler.journal.private_files import private_file
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.jobs.stored_texts import all_recorded

Format = Literal["jsonl", "parquet", "generative-agents", "capsule"]


def export(
    run: RunOrFile,
    what: Annotated[
        Literal["memories", "jobs", "journal", "answers"] | None,
        typer.Option(
            "--what",
            help="Memories, one owner per line; jobs; ticks of the journal; or recorded answers.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="PATH", help="The file or new folder to write (default stdout).", show_default=False
        ),
    ] = None,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="JSON Lines, a Parquet table of entries, jobs or ticks, a save of Generative Agents, or a capsule of "
            "the whole run.",
        ),
    ] = "jsonl",
    data_dir: DataDir = None,
    verbose: Verbose = 0,
) -> int:
    """Write a run's memories, jobs or journal as JSON Lines or as Parquet, or the whole run as a capsule.

    Owners are sorted by name and ticks by number; ended jobs come in the order of their ends, then open ones. The
    command verifies the journal. Trimmed ticks come from the files in the data folder, if these exist; jobs that ended
    in them are omitted. The exit code is 1 when the journal was changed. A capsule is one file, which `cogitate verify
    FILE` verifies on any machine.
    """
    settings = read_settings(verbose, data_dir=data_dir)
    if form == "capsule":
        if out is None or what is not None:
            raise InputError("--format capsule writes the whole run to a file: give --out FILE, and no --what")
        if is_capsule(run):
            raise InputError(f"{quoted(run)} is a capsule already: copy the file")
        with open_state(settings) as client:
            verified = write_capsule(client, run, settings, out)
        for line in verified_lines(verified, out):
            Terminal(stderr=True).print(line)
        return 0
    if what is None:
        raise InputError("give --what memories, jobs, journal or answers, or --format capsule for the whole run")
    if what == "answers" and form != "jsonl":
        raise InputError("--what answers writes JSON Lines only: leave --format out")
    if form == "parquet" and out is None:
        raise InputError("--format parquet writes a file: give --out FILE")
    if form == "generative-agents" and (out is None or what != "memories"):
        raise InputError("--format generative-agents writes memories to a folder: give --what memories --out FOLDER")
    console = Terminal(stderr=True)
    with open_run(settings, run) as (client, run):
        if form == "generative-agents":
            assert out is not None
            for line in write_save(client, run, streams_of(client, run), out).lines(run, out):
                console.print(line)
        elif form == "parquet" and what != "answers":
            assert out is not None
            rows = rows_of(client, run, what, settings.data_dir)
            with private_file(out) as file:
                count = write_parquet(file, COLUMNS[what], rows, "--format parquet")
            console.print(f"{count:,} rows of {what} of run {run}")
        else:
            count = _written(_LINES[what](client, run, settings), out)
            console.print(f"{count:,} lines of {what} of run {run}")
    return 0


def _written(lines: Iterator[bytes], out: Path | None) -> int:
    """Write lines to a file or to stdout, and return their number."""
    if out is None:
        return _to_stdout(lines)
    with private_file(out) as file:
        return sum(1 for line in lines if file.write(line + b"\n"))


def _to_stdout(lines: Iterator[bytes]) -> int:
    """Write lines until the reader closes the pipe (`… | head`), and return the number written."""
    count = 0
    try:
        for line in lines:
            shown = visible_json(line) if sys.stdout.isatty() else line
            sys.stdout.buffer.write(shown + b"\n")
            count += 1
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the buffered rest
    return count


def _answers(client: Redis, run: str, settings: Settings) -> Iterator[bytes]:
    """Yield each recorded attempt with its prompt and outcome, and the end of its job."""
    lines = all_lines(client, settings.data_dir, run)
    ended = {note.key: (line.core.tick, note) for line in lines for note in line.notes.ended}
    for key, attempt in all_recorded(RunStore.open(client, run), settings):
        facts: dict[str, Any] = {"job": key.text()} | msgspec.to_builtins(attempt)
        if (end := ended.get(key)) is not None:
            tick, note = end
            facts |= {"ended": tick - key.tick, "source": note.source, "inputs": note.inputs}
        yield msgspec.json.encode(facts)


def _memories(client: Redis, run: str, settings: Settings) -> Iterator[bytes]:
    profiles = {
        name.decode(): typed_json.decode(raw, Profile)
        for name, raw in RunStore.open(client, run).mapping("owners").items()
    }
    return (dump_with_profile(stream, profiles.get(stream.owner)) for stream in streams_of(client, run))


def _jobs(client: Redis, run: str, settings: Settings) -> Iterator[bytes]:
    return (msgspec.json.encode(job_json(job)) for job in JobHistory(client, run).all())


def _journal(client: Redis, run: str, settings: Settings) -> Iterator[bytes]:
    for line in all_lines(client, settings.data_dir, run):
        yield msgspec.json.encode(
            {"tick": line.core.tick, "digest": line.digest, "chain": line.chain, "core": line.core, "notes": line.notes}
        )


_LINES = {"memories": _memories, "jobs": _jobs, "journal": _journal, "answers": _answers}
