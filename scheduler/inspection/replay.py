"""Replay a run: rebuild every stream from its journal alone, without calling a model, and compare it with the ledger.

The replay verifies each line's chain and digest, writes the rebuilt streams to an empty database as a run would, and
then compares every key of the two databases.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, get_args

from redis import Redis

from cogitate.scheduler.journal.checkpoint import load_base, load_checkpoint_streams
from cogitate.scheduler.journal.exported import ExportedJournal
from cogitate.scheduler.journal.history import hashes_before, pass_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.journal.rebuilt_streams import RebuiltStreams
from cogitate.scheduler.ledger.run_store import OwnerKey, RunStore
from cogitate.scheduler.ledger.streams import write_streams

STREAM_KEYS: tuple[OwnerKey, ...] = get_args(OwnerKey)


class Replayed(NamedTuple):
    """The result of a replay."""

    ticks: int  # the last tick
    digest: str
    chain: str
    owners: int
    entries: int
    first: int  # tick; above 1 if a checkpoint replaced the trimmed lines before it


def replay(client: Redis, run: str, into: Redis, exported: ExportedJournal | None = None) -> Replayed:
    """Rebuild a run's streams in an empty database, and compare them with the run's.

    The replay of a trimmed journal begins at tick 1 if `exported` has the removed lines, otherwise at its first
    checkpoint. It also compares the streams with every later checkpoint.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: at the first tick or key that differs.
        ValueError: if `into` is not empty.
    """
    if into.dbsize():
        raise ValueError("a replay needs an empty database")
    store = RunStore.open(client, run)
    replayed = RunStore(into, store.prefix)
    last, state = store.tick(), store.mapping("state")
    trimmed = int(state.get(b"trimmed", 0))
    digest, chain = hashes_before(store, trimmed + 1, trimmed)
    complete = exported is not None and exported.covers(trimmed)
    base = None if complete else load_base(store)
    rebuilt = RebuiltStreams(load_checkpoint_streams(store, base), base)
    for stream in rebuilt.here.values():
        stream.note_all()
    write_streams(replayed, rebuilt.here.values())
    removed = exported.passed(trimmed) if exported is not None and complete else iter(())
    for passed in itertools.chain(removed, pass_journal(store, trimmed + 1, last)):
        if passed.line.core.tick == trimmed and passed.chain != chain:
            raise JournalError(f"tick {trimmed}: the exported lines do not match the ledger's")
        left = rebuilt.add(passed)
        write_streams(replayed, [*rebuilt.here.values(), *left])
        digest, chain = (passed.line.digest, passed.chain) if passed.line.core.tick > trimmed else (digest, chain)
    length = store.length("journal")
    if length != last - trimmed:
        raise JournalError(
            f"tick {last}: the journal has {length} lines, but the run is at tick {last} and was trimmed to {trimmed}"
        )
    if (digest, chain) != (state[b"digest"].decode(), state[b"chain"].decode()):
        raise JournalError(
            f"tick {last}: the journal ends with digest {digest}, the run with {state[b'digest'].decode()}"
        )
    streams = rebuilt.all()
    compare(store, replayed, sorted(streams))
    entries = sum(len(stream.entries) for stream in streams.values())
    first = base.tick + 1 if base is not None else 1
    return Replayed(last, digest, chain, len(streams), entries, first)


def compare(one: RunStore, other: RunStore, owners: list[str]) -> None:
    """Check that two databases hold the same streams."""
    for owner in owners:
        for name, here, there in zip((*STREAM_KEYS, "head"), _stream(one, owner), _stream(other, owner), strict=True):
            if here != there:
                raise JournalError(f"the stream of {owner!r} differs from the journal in its {name}")


def _stream(store: RunStore, owner: str) -> list[Any]:
    """Return the stored values of a stream: one for each of `STREAM_KEYS`, then the head."""
    with store.pipeline() as pipeline:
        for name in STREAM_KEYS:
            key = store.owner_key(name, owner)
            if name == "archived":
                pipeline.zrange(key, 0, -1, withscores=True)
            else:
                pipeline.hgetall(key)
        pipeline.hget(store.key("heads"), owner)
        return pipeline.execute()
