"""Find the unreadable entries of a run, and compare them with its journal."""

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


def unreadable_entries_of(client: Redis, run: str) -> list[LeftOut]:
    """Return the unreadable entries of a run, including those of owners that have left.

    Streams with other damage are skipped; the commands that need them report it.
    """
    store = RunStore.open(client, run)
    owners = {*store.fields("owners"), *store.fields("retired")}
    entries: list[LeftOut] = []
    for owner in sorted(name.decode() for name in owners):
        with suppress(*UNREADABLE):
            entries += unreadable(load_streams(store, [owner]).values())
    return entries


def check_kind_wrote(store: RunStore, owner: str, entry: Entry) -> None:
    """Check that an unreadable entry equals the journal's: a kind wrote it in this form, and nothing has altered it.

    Raises:
        ValueError: if the entry differs.
    """
    if _plain(_as_written(store, owner, entry)) != _plain(entry):
        raise ValueError(f"entry {entry.number} of {owner} differs from the journal")


def _as_written(store: RunStore, owner: str, entry: Entry) -> Entry | None:
    """Return the entry from the line of its tick, or from the base checkpoint if that line was trimmed."""
    if entry.tick <= trimmed_tick(store):
        base = load_base(store)
        streams = load_checkpoint_streams(store, base)
        return streams[owner].entries.get(entry.number) if owner in streams else None
    for line in read_journal(store, entry.tick, entry.tick):
        for change in changes_of(line):
            if change.entry is not None and (change.owner, change.entry.number) == (owner, entry.number):
                return change.entry
    return None


def _plain(entry: Entry | None) -> object:
    """Return the entry without its later rating."""
    return entry and msgspec.to_builtins(msgspec.structs.replace(entry, importance=0, rated=0))
