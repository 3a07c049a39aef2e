"""`cogitate export`: write a run as JSON Lines or Parquet for people and tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
import typer
from redis import Redis

from cogitate.hosting.terminal import Terminal, visible_json
from cogitate.memory import typed_json
from cogitate.memory.errors import InputError, how_to_install, quoted
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump_with_profile
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.capsule.writing import write_capsule
from cogitate.ops.command_options import DataDir, RunOrFile, Verbose, is_capsule, open_state, read_settings
from cogitate.ops.commands.verify_file import verified_lines
from cogitate.ops.exchange.generative_agents import write_save
from cogitate.ops.formatting.budget import by_unit
from cogitate.ops.formatting.job_life import job_json
from cogitate.ops.formatting.vitals import print_left_out
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.journal.exported import all_lines
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.journal.private_files import private_file
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams

What = Literal["memories", "jobs", "journal"]
Format = Literal["jsonl", "parquet", "generative-agents", "capsule"]


def export(
    run: RunOrFile,
    what: Annotated[
        What | None,
        typer.Option("--what", help="Memories, one owner a line; jobs; or ticks of the journal.", show_default=False),
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

    Owners come by name, ended jobs in the order of their ends and before open ones, ticks by number. The journal is
    verified on the way. Trimmed ticks come from the files in the data folder, if these exist; jobs that ended in them
    are omitted. The exit code is 1 when the journal was changed. A capsule is one file with which `cogitate verify
    FILE` proves the run on any machine.
    """
    settings = read_settings(verbose, data_dir=data_dir)
    if form == "capsule":
        if out is None or what is not None:
            raise InputError("--format capsule writes the whole run to a file: give --out FILE, and no --what")
        if is_capsule(run):
            raise InputError(f"{quoted(run)} is a capsule already: copy the file")
        with open_state(settings) as client:
            made = write_capsule(client, run, settings, out)
        for line in verified_lines(made, out):
            Terminal(stderr=True).print(line)
        return 0
    if what is None:
        raise InputError("give --what memories, jobs or journal, or --format capsule for all of the run")
    if form == "parquet" and out is None:
        raise InputError("--format parquet writes a file: give --out FILE")
    if form == "generative-agents" and (out is None or what != "memories"):
        raise InputError("--format generative-agents writes memories to a folder: give --what memories --out FOLDER")
    with open_run(settings, run) as (client, run):
        if form == "generative-agents":
            assert out is not None
            saved = write_save(client, run, _streams(client, run), out)
            for line in saved.lines(run, out):
                Terminal(stderr=True).print(line)
            return 0
        if form == "parquet":
            assert out is not None
            rows = _ROWS[what](client, run, settings.data_dir)
            with private_file(out) as file:
                count = write_parquet(file, what, rows)
            Terminal(stderr=True).print(f"{count:,} rows of {what} of run {run}")
            return 0
        lines = _LINES[what](client, run, settings.data_dir)
        if out is None:
            count = _to_stdout(lines)
        else:
            with private_file(out) as file:
                count = sum(1 for line in lines if file.write(line + b"\n"))
    Terminal(stderr=True).print(f"{count:,} lines of {what} of run {run}")
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the buffered rest
    return count


def _streams(client: Redis, run: str) -> Iterator[Stream]:
    """Yield every owner's stream, including those of owners that have left."""
    store = RunStore.open(client, run)
    names = {*store.fields("owners"), *store.fields("retired")}
    for owner in sorted(name.decode() for name in names):
        stream = load_streams(store, [owner])[owner]
        found = list(unreadable([stream]))
        print_left_out(found)
        leave_out(stream, (one.number for one in found), stream.head.last_number)
        yield stream


def _memories(client: Redis, run: str, data_dir: Path) -> Iterator[bytes]:
    profiles = {
        name.decode(): typed_json.decode(raw, Profile)
        for name, raw in RunStore.open(client, run).mapping("owners").items()
    }
    return (dump_with_profile(stream, profiles.get(stream.owner)) for stream in _streams(client, run))


def _jobs(client: Redis, run: str, data_dir: Path) -> Iterator[bytes]:
    return (msgspec.json.encode(job_json(one)) for one in JobHistory(client, run).all())


def _journal(client: Redis, run: str, data_dir: Path) -> Iterator[bytes]:
    for line in all_lines(client, data_dir, run):
        yield msgspec.json.encode(
            {"tick": line.core.tick, "digest": line.digest, "chain": line.chain, "core": line.core, "notes": line.notes}
        )


_ROWS: dict[What, Callable[[Redis, str, Path], Iterator[Row]]] = {
    "memories": lambda client, run, data_dir: memory_rows(_streams(client, run)),
    "jobs": lambda client, run, data_dir: job_rows(JobHistory(client, run).all()),
    "journal": lambda client, run, data_dir: tick_rows(all_lines(client, data_dir, run)),
}

_LINES = {"memories": _memories, "jobs": _jobs, "journal": _journal}


BATCH = 10_000  # rows of a group

Row = dict[str, Any]

#: The columns of each table, with Arrow's names of their types; "[]": a list of them.
COLUMNS: dict[str, dict[str, str]] = {
    "memories": {
        "owner": "string",
        "number": "int64",
        "type": "string",
        "text": "string",
        "minute": "int64",
        "tick": "int64",
        "importance": "int64",
        "source": "string",
        "location": "string",
        "subjects": "string[]",
        "evidence": "int64[]",
        "tags": "string[]",
        "provisional": "bool",
        "live": "bool",
        "accesses": "int64",
        "repeats": "int64",
    },
    "jobs": {
        "id": "string",
        "kind": "string",
        "owner": "string",
        "tick": "int64",
        "due": "int64",
        "ended": "int64",
        "state": "string",
        "decision": "string",
        "source": "string",
        "reason": "string",
        "refused": "string",
        "failure": "string",
        "model": "string",
        "claims": "int64",
        "calls": "int64",
        "tokens": "int64",
        "usd_micros": "int64",
        "reserved_tokens": "int64",
        "reserved_usd_micros": "int64",
        "appended": "int64[]",
    },
    "journal": {
        "tick": "int64",
        "minute": "int64",
        "digest": "string",
        "chain": "string",
        "ended": "int64",
        "late": "int64",
        "observed": "int64",
        "decided": "int64",
        "core": "string",
    },
}


def memory_rows(streams: Iterable[Stream]) -> Iterator[Row]:
    """Yield a row for each entry of these streams, archived ones included."""
    for stream in streams:
        for number, entry in stream.entries.items():
            marks = stream.marks.get(number)
            facts = {name: getattr(entry, name) for name in COLUMNS["memories"] if hasattr(entry, name)}
            yield facts | {
                "owner": stream.owner,
                "live": stream.is_live(number),
                "accesses": marks.accesses if marks is not None else 0,
                "repeats": marks.repeats if marks is not None else 0,
            }


def job_rows(jobs: Iterable[JobRecord]) -> Iterator[Row]:
    """Yield a row for each job; its calls, tokens and money are what all of its attempts spent."""
    for job in jobs:
        facts = {name: getattr(job, name) for name in COLUMNS["jobs"] if hasattr(job, name)}
        yield (
            facts
            | by_unit(job.spent)
            | {f"reserved_{unit}": amount for unit, amount in by_unit(job.reserved).items() if unit != "calls"}
        )


def tick_rows(lines: Iterable[ReadLine]) -> Iterator[Row]:
    """Yield a row for each tick; "core" is the whole line as JSON, the other numbers count what it lists."""
    for line in lines:
        core = line.core
        counts = {name: len(getattr(core, name)) for name in ("ended", "late", "observed", "decided")}
        told = msgspec.json.encode(core).decode()
        yield {
            "tick": core.tick,
            "minute": core.minute,
            "digest": line.digest,
            "chain": line.chain,
            "core": told,
        } | counts


def write_parquet(file: BinaryIO, what: str, rows: Iterable[Row]) -> int:
    """Write the rows of a table, and return their number.

    Raises:
        InputError: when pyarrow is not installed.
    """
    try:
        import pyarrow  # here, as only this format needs it, and it is large
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(f"--format parquet needs pyarrow: {how_to_install('parquet')}") from error
    columns = COLUMNS[what]
    schema = pyarrow.schema([(name, _type(pyarrow, of)) for name, of in columns.items()])
    count, waiting = 0, iter(rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := [_checked(row, columns) for row in islice(waiting, BATCH)]:
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _type(pyarrow: Any, name: str) -> Any:
    element = getattr(pyarrow, name.removesuffix("[]").replace("bool", "bool_"))()
    return pyarrow.list_(element) if name.endswith("[]") else element


def _checked(row: Row, columns: Mapping[str, str]) -> Row:
    return {name: list(row[name]) if of.endswith("[]") else row[name] for name, of in columns.items()}
