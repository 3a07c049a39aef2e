"""Write memory streams and the world's state to Redis with a tick, and read them back.

Keys under the run's prefix, `<o>` being the owner:
    entries:<o>   hash  number -> JSON of a live entry
    archive:<o>   hash  number -> JSON of an archived entry
    archived:<o>  zset  number, scored by the tick that archived it
    into:<o>      hash  number -> number of the entry that it was archived into
    marks:<o>     hash  number -> JSON of its marks
    heads         hash  owner -> JSON of the stream's head
    owners        hash  owner -> JSON of its profile
    retired       hash  owner -> tick at which it left
    checkpoint    hash  tick: the tick that committed it; packed: the world's state, compressed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from redis.exceptions import ResponseError

from cogitate.memory.entry import Archived, Head
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import read_entry, read_head, read_marks
from cogitate.scheduler.ledger.ledger import Value, Write
from cogitate.scheduler.ledger.run_store import RunStore, pack, unpack

_encode = msgspec.json.Encoder().encode

CHUNK = 500  # pairs per command; Lua's unpack fails between 7,000 and 8,000 values


def chunked(command: str, key: str, values: Sequence[Value], per: int = 1) -> list[Write]:
    """Split a command with many arguments into several.

    Args:
        per: number of arguments that belong together.
    """
    step = CHUNK * per
    return [Write(command, key, tuple(values[i : i + step])) for i in range(0, len(values), step)]


def stream_writes(streams: Iterable[Stream]) -> list[Write]:
    """Take the streams' noted changes, and return the commands that write them to Redis."""
    writes: list[Write] = []
    heads: list[Value] = []
    for stream in streams:
        changes = stream.take_changes()
        owner, appended, older = stream.owner, changes.appended, changes.older
        if changes.head:
            heads += (owner, changes.head)
        if older is None:
            live = [part for item in appended.items() for part in item]
            writes += chunked("HSET", f"entries:{owner}", live, 2)
            continue
        gone = set(older.deleted)
        entries: list[Value] = []
        archive: list[Value] = []
        scores: list[Value] = []
        into: list[Value] = []
        for number, written in appended.items():
            if stream.is_live(number):
                entries += (number, written)
        moved: list[Value] = []
        for number in older.archived:
            if number not in appended:
                moved.append(number)
            if number in gone:
                continue
            record = stream.archived[number]
            archive += (number, _encode(stream.entries[number]))
            scores += (record.tick, number)
            if record.into:
                into += (number, record.into)
        for number in sorted(older.rated - gone - set(older.archived)):
            (entries if stream.is_live(number) else archive).extend((number, _encode(stream.entries[number])))
        marks: list[Value] = []
        for number in sorted(older.marked - gone):
            marks += (number, _encode(stream.marks[number]))
        # Deletes come first, so new values reuse the memory.
        writes += chunked("HDEL", f"archive:{owner}", older.deleted)
        writes += chunked("ZREM", f"archived:{owner}", older.deleted)
        writes += chunked("HDEL", f"into:{owner}", older.deleted_into)
        writes += chunked("HDEL", f"marks:{owner}", older.deleted_marks)
        writes += chunked("HSET", f"entries:{owner}", entries, 2)
        writes += chunked("HDEL", f"entries:{owner}", moved)
        writes += chunked("HSET", f"archive:{owner}", archive, 2)
        writes += chunked("ZADD", f"archived:{owner}", scores, 2)
        writes += chunked("HSET", f"into:{owner}", into, 2)
        writes += chunked("HSET", f"marks:{owner}", marks, 2)
    writes += chunked("HSET", "heads", heads, 2)
    return writes


def write_streams(store: RunStore, streams: Iterable[Stream]) -> None:
    """Write the noted changes of a run's streams outside of its ticks, for instance in a replay."""
    with store.pipeline() as pipeline:
        for write in stream_writes(streams):
            pipeline.execute_command(write.command, store.prefix + write.key, *write.args)  # type: ignore[no-untyped-call]
        pipeline.execute()


def load_streams(store: RunStore, owners: Iterable[str]) -> dict[str, Stream]:
    """Read the streams of these owners, with stand-ins for unreadable values (`memory.unreadable`)."""
    names = list(owners)
    pipeline = store.pipeline()
    for owner in names:
        pipeline.hvals(store.owner_key("entries", owner))
        pipeline.hvals(store.owner_key("archive", owner))
        pipeline.zrange(store.owner_key("archived", owner), 0, -1, withscores=True)
        pipeline.hgetall(store.owner_key("into", owner))
        pipeline.hgetall(store.owner_key("marks", owner))
        pipeline.hget(store.key("heads"), owner)
    answers = pipeline.execute()
    streams: dict[str, Stream] = {}
    for i, owner in enumerate(names):
        live, archive, scores, into, marks, head = answers[i * 6 : i * 6 + 6]
        targets = {int(number): int(target) for number, target in into.items()}
        streams[owner] = Stream(
            owner,
            entries=[read_entry(raw) for raw in (*live, *archive)],
            archived={int(n): Archived(int(tick), targets.get(int(n), 0)) for n, tick in scores},
            marks={int(number): read_marks(raw) for number, raw in marks.items()},
            head=read_head(head) if head else Head(),
        )
    return streams


#: The exceptions that reading a damaged value raises, without connection errors.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, ResponseError)


def differences(stored: Stream, expected: Stream) -> list[str]:
    """Describe where a stored stream differs from the one that the journal leads to."""
    faults = []
    for name in ("entries", "archived", "marks"):
        held, right = getattr(stored, name), getattr(expected, name)
        numbers = sorted(n for n in held.keys() | right.keys() if not _same(held.get(n), right.get(n)))
        if numbers:
            faults.append(f"{name} {numbers[:5]} are not what the journal says")
    if stored.head != expected.head:
        faults.append("its head is not what the journal says")
    return faults


def _same(a: object, b: object) -> bool:
    """Return whether two parts have the same values, even if one of them is a stand-in for an unreadable value."""
    return bool(a == b) or (None not in (a, b) and msgspec.to_builtins(a) == msgspec.to_builtins(b))


def world_writes(tick: int, state: bytes) -> list[Write]:
    """Return the commands that store a world's state."""
    return [
        Write("HSET", "checkpoint", ("tick", tick, "packed", pack(state))),
    ]


def load_world(store: RunStore) -> tuple[bytes | None, int]:
    """Return the world's state and its tick; the state is None if the world never gave one.

    Raises:
        ValueError: if it was altered.
    """
    tick, packed = store.some_fields("checkpoint", "tick", "packed")
    if packed is None:
        return None, int(tick or 0)
    try:
        return unpack(packed), int(tick or b"")
    except ValueError as error:
        raise ValueError(f"the world's state {error}") from error
