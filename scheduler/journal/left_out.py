"""Entries of a run that cannot be read: who reads a run leaves them out and tells of them, who resumes it too."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from redis import Redis

from cogitate.memory.entry import Entry
from cogitate.memory.unreadable import LeftOut, unreadable
from cogitate.scheduler.journal.checkpoint import load_base, load_checkpoint_streams, trimmed_tick
from cogitate.scheduler.journal.history import changes_of, read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import UNREADABLE, load_streams


def left_out_of(client: Redis, run: str) -> list[LeftOut]:
    """Return the entries of a run that cannot be read, those of owners that have left too.

    A stream that is damaged in another way is passed over: who needs it says so.

    Raises:
        RunMissing: when there is no such run.
    """
    store = RunStore.open(client, run)
    owners = {*store.fields("owners"), *store.fields("retired")}
    found: list[LeftOut] = []
    for owner in sorted(name.decode() for name in owners):
        with suppress(*UNREADABLE):
            found += unreadable(load_streams(store, [owner]).values())
    return found


def check_kind_wrote(store: RunStore, owner: str, entry: Entry) -> None:
    """Check that an entry that cannot be read is as its journal says: then a kind wrote it so, and nobody since.

    Raises:
        ValueError: when it is not.
    """
    if _plain(_as_written(store, owner, entry)) != _plain(entry):
        raise ValueError(f"entry {entry.number} of {owner} is not what the journal says")


def _as_written(store: RunStore, owner: str, entry: Entry) -> Entry | None:
    """Return the entry from the line of its tick, or from the checkpoint of a journal that begins later."""
    if entry.tick <= trimmed_tick(store):
        base = load_base(store)
        streams = load_checkpoint_streams(store, base) if base is not None else {}
        return streams[owner].entries.get(entry.number) if owner in streams else None
    for line in read_journal(store, entry.tick, entry.tick):
        for change in changes_of(line):
            if change.entry is not None and (change.owner, change.entry.number) == (owner, entry.number):
                return change.entry
    return None


def _plain(entry: Entry | None) -> object:
    """Return the entry without the rating that it was given later."""
    return entry and msgspec.to_builtins(msgspec.structs.replace(entry, importance=0, rated=0))
