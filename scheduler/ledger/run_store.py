"""Read one run in Redis: its keys, their values, and the compression of large values.

Every module outside this room reads a run through its `RunStore`; no other code builds a key.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from redis import Redis
from redis.client import Pipeline

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.connect import (
    read_at_once,
    read_fields,
    read_hash,
    read_members,
    read_value,
    why_keys_vanish,
)
from cogitate.scheduler.ledger.errors import RunMissing, RunUnreadable, wrong_schema
from cogitate.scheduler.ledger.keys import RUNS, OwnerKey, RunKey, incarnation_key, run_prefix

__all__ = ["OwnerKey", "RunKey", "RunStore", "check_schema", "incarnation_of", "missing_run", "run_exists", "run_names"]


def run_names(client: Redis) -> list[str]:
    """Return the names of the runs that a server holds, sorted."""
    return sorted(name.decode() for name in read_members(client, RUNS) if client.exists(incarnation_key(name.decode())))


def incarnation_of(client: Redis, run: str) -> str | None:
    """Return the nonce of a run's present incarnation; None if there is no such run."""
    nonce = read_value(client, incarnation_key(run))
    return nonce.decode() if nonce is not None else None


def run_exists(client: Redis, run: str) -> bool:
    """Return whether a server holds a run of this name."""
    return bool(client.exists(incarnation_key(run)))


def missing_run(client: Redis, run: str, to_do: str = "") -> RunMissing:
    """Return an error that names the existing runs, and why the server may have lost this one.

    Args:
        to_do: the purpose for which the run is needed, such as " to resume".
    """
    names = run_names(client)
    lost = why_keys_vanish(client) if not names or client.sismember(RUNS, run) else ""
    return RunMissing(f"there is no run {run!r}{to_do}; there are: {', '.join(names) or 'none'}{lost}")


def check_schema(run: str, found: bytes | None) -> None:
    """Check that this version reads runs of a schema.

    Raises:
        NewerSchema, OlderSchema: if another version wrote the run.
        RunUnreadable: if the schema is not a number.
    """
    if found is None or not found.isdigit():
        raise RunUnreadable(run, "its schema is not a number")
    if int(found) != SCHEMA:
        raise wrong_schema(run, int(found))


@dataclass(frozen=True, slots=True)
class RunStore:
    """One incarnation of a run: the client of its server, and the prefix of its keys."""

    client: Redis
    prefix: str

    @classmethod
    def open(cls, client: Redis, run: str) -> Self:
        """Return the store of a run's present incarnation.

        Raises:
            RunMissing: if there is no such run; the message names the existing ones.
            NewerSchema, OlderSchema: if another version wrote it.
            RunUnreadable: if its schema is not a number.
        """
        incarnation = incarnation_of(client, run)
        if incarnation is None:
            raise missing_run(client, run)
        store = cls.of(client, run, incarnation)
        schema = store.field("state", "schema")
        if schema is None and not client.exists(store.key("state")):
            raise RunMissing(f"run {run!r} was deleted meanwhile{why_keys_vanish(client)}")
        check_schema(run, schema)
        return store

    @classmethod
    def of(cls, client: Redis, run: str, incarnation: str) -> Self:
        """Return the store of an incarnation that the caller knows."""
        return cls(client, run_prefix(run, incarnation))

    @property
    def incarnation(self) -> str:
        """Return the nonce of the incarnation."""
        return self.prefix.rstrip(":").rpartition(":")[2]

    def key(self, name: RunKey) -> str:
        """Return a key that a run has once."""
        return self.prefix + name

    def job_key(self, job: str) -> str:
        """Return the key of an open job, given the text of its `JobKey`."""
        return f"{self.prefix}job:{job}"

    def window_key(self, window: str) -> str:
        """Return the key of a budget window's accounts."""
        return f"{self.prefix}window:{window}"

    def answered_key(self, request: str) -> str:
        """Return the key of the list with which a host wakes the operator who waits for the answer to a request."""
        return f"{self.prefix}answered:{request}"

    def due_key(self, tick: int | str) -> str:
        return f"{self.prefix}due:{tick}"

    def owner_key(self, part: OwnerKey, owner: str) -> str:
        return f"{self.prefix}{part}:{owner}"

    def checkpoint_streams_key(self, tick: int) -> str:
        """Return the key of the streams in the journal's checkpoint at a tick."""
        return f"{self.prefix}journal_checkpoint:{tick}"

    def recorded_keys(self) -> list[str]:
        """Return the keys of the prompts and answers that a run records: texts, times and their size."""
        return [self.key("recorded"), self.key("recorded_at"), self.key("recorded_bytes")]

    def state(self, *fields: str) -> list[bytes | None]:
        """Return these fields of the run's state; None for a field that is not set."""
        return self.some_fields("state", *fields)

    def some_fields(self, name: RunKey, *fields: str) -> list[bytes | None]:
        """Return these fields of a hash; None for a field that is not set."""
        return read_fields(self.client, self.key(name), list(fields))

    def tick(self) -> int:
        """Return the last committed tick."""
        return int(self.state_field("tick"))

    def state_field(self, field: str) -> bytes:
        """Return a field of the state that every run has.

        Raises:
            RunMissing: if the run was deleted meanwhile.
        """
        return self.kept_state(field)[0]

    def kept_state(self, *fields: str) -> list[bytes]:
        """Return these fields of the state, which every run has.

        Raises:
            RunMissing: if the run was deleted meanwhile.
        """
        values = [value for value in self.state(*fields) if value is not None]
        if len(values) < len(fields):
            raise RunMissing(f"the run was deleted meanwhile{why_keys_vanish(self.client)}")
        return values

    def job(self, key: str) -> bytes | None:
        """Return an open job, given the text of its `JobKey`; None if no such job is open."""
        return self.client.hget(self.job_key(key), "job")  # type: ignore[return-value]

    def open_jobs(self, *fields: str) -> dict[str, list[Any]]:
        """Return these fields of each open job, by the text of its key, sorted; None if the job ends meanwhile."""
        jobs = sorted(raw.decode() for raw in self.members("jobs"))
        pipeline = self.pipeline()
        for job in jobs:
            pipeline.hmget(self.job_key(job), fields)
        return dict(zip(jobs, pipeline.execute(), strict=True))

    def window(self, window: str) -> dict[bytes, bytes]:
        """Return a budget window's accounts."""
        return read_hash(self.client, self.window_key(window))

    def checkpoint_streams(self, tick: int, owners: list[str]) -> list[bytes | None]:
        """Return the streams of these owners in the journal's checkpoint at a tick, packed."""
        return read_fields(self.client, self.checkpoint_streams_key(tick), owners)

    def field(self, name: RunKey, field: str) -> bytes | None:
        """Return one field of a hash; None if it is not set."""
        return self.client.hget(self.key(name), field)  # type: ignore[return-value]

    def fields(self, name: RunKey) -> list[bytes]:
        """Return the names of a hash's fields."""
        return self.client.hkeys(self.key(name))  # type: ignore[return-value]

    def numbers(self, part: OwnerKey, owner: str) -> list[bytes]:
        """Return the numbers of the entries in a hash of an owner's stream."""
        return self.client.hkeys(self.owner_key(part, owner))  # type: ignore[return-value]

    def values(self, name: RunKey) -> list[bytes]:
        return self.client.hvals(self.key(name))  # type: ignore[return-value]

    def mapping(self, name: RunKey) -> dict[bytes, bytes]:
        return read_hash(self.client, self.key(name))

    def members(self, name: RunKey) -> set[bytes]:
        return read_members(self.client, self.key(name))

    def items(self, name: RunKey, first: int = 0, last: int = -1) -> list[bytes]:
        """Return a range of a list, both ends included; negative positions count from the end."""
        return self.client.lrange(self.key(name), first, last)  # type: ignore[return-value]

    def item(self, name: RunKey, position: int) -> bytes | None:
        """Return one item of a list; None if the list is shorter."""
        return self.client.lindex(self.key(name), position)  # type: ignore[return-value]

    def length(self, name: RunKey) -> int:
        return self.client.llen(self.key(name))

    def pipeline(self) -> Pipeline:
        """Return a pipeline on the run's server, without a transaction: other clients' commands may run in between."""
        return self.client.pipeline(transaction=False)

    def read_at_once(self, queue: Callable[[Pipeline], object]) -> list[Any]:
        """Return the replies to several reads at one instant."""
        return read_at_once(self.client, queue)


MOST_BYTES = 512 * 2**20  # of unpacked data: the largest value of a Redis server


def pack(data: bytes, level: int = 1) -> bytes:
    """Compress data. The result of level 6 is a sixth smaller than that of level 1, and takes 2.5 times as long."""
    return zlib.compress(data, level)


def unpack(packed: bytes) -> bytes:
    """Return the data that `pack` compressed.

    Raises:
        ValueError: if this is not a result of `pack`; the message completes a sentence such as "the state …".
    """
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"cannot be decompressed: {error}") from error
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("is cut short, or something follows it")
    return data
