"""Audit of memory: each owner's stored stream against the one that follows from the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cogitate.memory.stream import Stream
from cogitate.scheduler.inspection.snapshot import TRIES
from cogitate.scheduler.ledger.run_store import OwnerKey, RunStore
from cogitate.scheduler.ledger.streams import UNREADABLE, differences, load_streams


def wrong_streams(
    store: RunStore, streams: Mapping[str, Stream], follow: Callable[[int], Mapping[str, Stream]]
) -> list[str]:
    """Return the differences between the stored streams and those that result from the journal's effects.

    Args:
        streams: by owner, including retired owners, as of the tick of the snapshot.
        follow: reads the journal of a live run up to a later tick and returns the streams at that tick.

    Raises:
        RunMissing: if the run was deleted meanwhile.
        TimeoutError: if the run advances faster than one stream can be read.
    """
    found: list[str] = []
    for owner in sorted(streams):
        try:
            tick, stored, fields = _read(store, owner)
        except UNREADABLE as error:
            found.append(f"{owner}: cannot be read: {type(error).__name__}: {str(error)[:200]}")
            continue
        said = follow(tick)[owner]
        found += [f"{owner}: {fault}" for fault in (*differences(stored, said), *_misplaced(said, fields))]
        found += [f"{owner}: {fault}" for fault in _without_summary(said)]
    return found


def _read(store: RunStore, owner: str) -> tuple[int, Stream, dict[str, set[int]]]:
    """Read a stream at one instant: return the tick, the stream, and the numbers in the hashes of its parts."""
    for _ in range(TRIES):
        before = store.tick()
        stream = load_streams(store, [owner])[owner]
        fields: dict[str, set[int]] = {}
        parts: tuple[OwnerKey, ...] = ("entries", "archive", "into")
        for name in parts:
            fields[name] = {int(number) for number in store.numbers(name, owner)}
        if store.tick() == before:
            return before, stream, fields
    raise TimeoutError(f"the run advanced {TRIES} times while the stream of {owner!r} was read; pause it first")


def _misplaced(said: Stream, fields: Mapping[str, set[int]]) -> list[str]:
    found = []
    live = {entry.number for entry in said.live()}
    if wrong := sorted((fields["entries"] ^ live) | (fields["archive"] ^ said.archived.keys())):
        found.append(f"entries {wrong[:5]} are wrongly stored as live or archived")
    if left := sorted(fields["into"] - said.archived.keys()):
        found.append(f"`into` names {left[:5]}, which are not archived")
    return found


def _without_summary(said: Stream) -> list[str]:
    return [
        f"entry {number} was archived into {record.into}, which does not exist"
        for number, record in said.archived.items()
        if record.into > 0 and record.into not in said.entries
    ]
