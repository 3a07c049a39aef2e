"""A run's tables: a row for each memory, job or tick; and their Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from redis import Redis

from cogitate.memory.errors import InputError, how_to_install
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.ops.formatting.budget import by_unit
from cogitate.ops.formatting.vitals import print_left_out
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.journal.exported import all_lines
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams

What = Literal["memories", "jobs", "journal"]

BATCH = 10_000  # rows of a Parquet row group

Row = dict[str, Any]

#: The columns of each table, with the Arrow names of their types; "[]" marks a list.
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
    """Yield a row for each job; its calls, tokens and money are those of all its attempts."""
    for job in jobs:
        facts = {name: getattr(job, name) for name in COLUMNS["jobs"] if hasattr(job, name)}
        yield (
            facts
            | by_unit(job.spent)
            | {f"reserved_{unit}": amount for unit, amount in by_unit(job.reserved).items() if unit != "calls"}
        )


def tick_rows(lines: Iterable[ReadLine]) -> Iterator[Row]:
    """Yield a row for each tick; "core" is the whole line as JSON, whose lists the last columns count."""
    for line in lines:
        core = line.core
        counts = {name: len(getattr(core, name)) for name in ("ended", "late", "observed", "decided")}
        yield {
            "tick": core.tick,
            "minute": core.minute,
            "digest": line.digest,
            "chain": line.chain,
            "core": msgspec.json.encode(core).decode(),
        } | counts


def write_parquet(file: BinaryIO, columns: Mapping[str, str], rows: Iterable[Row], what: str) -> int:
    """Write the rows of a table, and return their number.

    Args:
        columns: names of the columns, with the Arrow names of their types; "[]" marks a list.
        what: the option that the user gave, for the error.

    Raises:
        InputError: when pyarrow is not installed.
    """
    try:
        import pyarrow  # imported here, since it is large and only this format needs it
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(f"{what} needs pyarrow: {how_to_install('parquet')}") from error
    schema = pyarrow.schema([(name, _type(pyarrow, of)) for name, of in columns.items()])
    count, remaining = 0, iter(rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := [_checked(row, columns) for row in islice(remaining, BATCH)]:
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _type(pyarrow: Any, name: str) -> Any:
    element = getattr(pyarrow, name.removesuffix("[]").replace("bool", "bool_"))()
    return pyarrow.list_(element) if name.endswith("[]") else element


def _checked(row: Row, columns: Mapping[str, str]) -> Row:
    return {name: list(row[name]) if of.endswith("[]") else row[name] for name, of in columns.items()}


def rows_of(client: Redis, run: str, what: What, data_dir: Path) -> Iterator[Row]:
    """Return the rows of one of a run's tables.

    Raises:
        JournalError: while the journal is read, when it was changed.
    """
    match what:
        case "memories":
            return memory_rows(streams_of(client, run))
        case "jobs":
            return job_rows(JobHistory(client, run).all())
        case "journal":
            return tick_rows(all_lines(client, data_dir, run))


def streams_of(client: Redis, run: str) -> Iterator[Stream]:
    """Yield every owner's stream, including those of owners that have left."""
    store = RunStore.open(client, run)
    names = {*store.fields("owners"), *store.fields("retired")}
    for owner in sorted(name.decode() for name in names):
        stream = load_streams(store, [owner])[owner]
        damaged = list(unreadable([stream]))
        print_left_out(damaged)
        leave_out(stream, (entry.number for entry in damaged), stream.head.last_number)
        yield stream
