"""A run's memories, jobs and journal as tables in Parquet files: one row for each entry, job or tick."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO

import msgspec

from cogitate.memory.errors import InputError, how_to_install
from cogitate.memory.stream import Stream
from cogitate.ops.formatting.amounts import by_unit
from cogitate.scheduler.inspection.job_history import JobRecord
from cogitate.scheduler.journal.lines import ReadLine

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
