"""Replay: rebuild every stream of a run from its journal alone, calling no model, and compare.

Each line's chain and digest are verified as it is read. The rebuilt streams are written to an empty database as a
run would write them, and then each key of the two is compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from redis import Redis

from memory.stream import Stream
from scheduler.history import read_journal, redo
from scheduler.journal import JournalError
from scheduler.streams import stream_writes
from scheduler.summary import prefix_of

STREAM_KEYS = ("entries", "archive", "archived", "into", "marks")


class Replayed(NamedTuple):
    """What a replay rebuilt."""

    ticks: int
    digest: str
    chain: str
    owners: int
    entries: int


def replay(client: Redis, run: str, into: Redis) -> Replayed:
    """Rebuild a run's streams in an empty database, and compare them with those of the run.

    Raises:
        RunMissing: when there is no such run.
        JournalError: at the first tick, or the first key, that does not agree.
        ValueError: when `into` is not empty.
    """
    if into.dbsize():
        raise ValueError("a replay needs an empty database")
    prefix = prefix_of(client, run)
    state: Any = client.hgetall(prefix + "state")
    streams: dict[str, Stream] = {}
    retired: dict[str, Stream] = {}
    last = int(state[b"tick"])
    digest = chain = ""
    for line in read_journal(client, prefix, 1, last):
        left = redo(line, streams)
        retired.update((stream.owner, stream) for stream in left)
        with into.pipeline(transaction=False) as pipeline:
            for write in stream_writes([*streams.values(), *left]):
                pipeline.execute_command(write.command, prefix + write.key, *write.args)  # type: ignore[no-untyped-call]
            pipeline.execute()
        digest, chain = line.digest, line.chain
    length: Any = client.llen(prefix + "journal")
    if length != last:
        raise JournalError(f"tick {last}: the journal has {length} lines, the run stands at tick {last}")
    if (digest, chain) != (state[b"digest"].decode(), state[b"chain"].decode()):
        raise JournalError(
            f"tick {last}: the journal ends with digest {digest}, the run with {state[b'digest'].decode()}"
        )
    streams.update(retired)
    compare(client, into, prefix, sorted(streams))
    entries = sum(len(stream.entries) for stream in streams.values())
    return Replayed(last, digest, chain, len(streams), entries)


def compare(one: Redis, other: Redis, prefix: str, owners: list[str]) -> None:
    """Make sure that two databases hold the same streams.

    Raises:
        JournalError: naming the first key that differs.
    """
    for owner in owners:
        for name, here, there in zip(
            (*STREAM_KEYS, "head"), _stream(one, prefix, owner), _stream(other, prefix, owner), strict=True
        ):
            if here != there:
                raise JournalError(f"the stream of {owner!r} is not what the journal says: {name} differ")


def _stream(client: Redis, prefix: str, owner: str) -> list[Any]:
    """All that is kept of a stream: a value for each of `STREAM_KEYS`, then the head."""
    with client.pipeline(transaction=False) as pipeline:
        for name in STREAM_KEYS:
            key = f"{prefix}{name}:{owner}"
            if name == "archived":
                pipeline.zrange(key, 0, -1, withscores=True)
            else:
                pipeline.hgetall(key)
        pipeline.hget(prefix + "heads", owner)
        values: list[Any] = pipeline.execute()
    return values
