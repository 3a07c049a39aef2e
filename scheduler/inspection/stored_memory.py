"""Read one owner's memory back from the ledger, current or at an earlier tick, to inspect a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from redis import Redis

from cogitate.memory.entry import Entry, EntryType, as_known
from cogitate.memory.retrieval.candidates import Query
from cogitate.memory.retrieval.profiles import ProfileChoice, profile_of
from cogitate.memory.retrieval.retrieval import Scored, retrieve
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import LeftOut, leave_out, unreadable
from cogitate.memory.view import MemoryView, Present, subjects_named
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.intake.checks import InputError, near_owners
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams


@dataclass(frozen=True, kw_only=True)
class StoredMemory:
    """An owner's stream at the end of a tick, with archived but without deleted entries.

    Only the entries are those of that tick; marks and the head are current.
    """

    run: str
    owner: str
    tick: int
    minute: int  # game time, total minutes
    retired: bool
    stream: Stream
    facts: Facts
    left_out: tuple[LeftOut, ...] = ()  # its unreadable entries

    @cached_property
    def view(self) -> MemoryView:
        """Return the view that a host has of the owner's memory."""
        names = self.facts.world().display_names
        present = Present(self.minute, self.facts.clock, names, self.facts.profile)
        return MemoryView(self.owner, lambda: self.stream, lambda: present)

    def entries(
        self, *, about: Sequence[str] = (), types: Sequence[EntryType] = (), since: int | None = None
    ) -> list[Entry]:
        """Return the matching entries, including archived ones, by number."""
        subjects = subjects_named(about, self.facts.world().display_names)
        wanted = Query(minute=self.minute, types=tuple(types), subjects=subjects)
        return [e for e in self.stream.entries.values() if e.minute >= (since or 0) and wanted.admits(e)]

    def salience(self, choice: ProfileChoice) -> dict[int, Scored]:
        """Return the retrieval score of each live entry for an empty query, with its components, by number."""
        live = self.stream.live()
        everything = replace(profile_of(choice), distinct=False, diversity=0.0)
        scores = retrieve(live, Query(minute=self.minute, limit=len(live)), everything)
        return {scored.entry.number: scored for scored in scores}


def read_memory(client: Redis, run: str, owner: str, tick: int | None = None) -> StoredMemory:
    """Return an owner's memory at the end of a tick (None: now).

    Raises:
        RunMissing: if the run does not exist.
        InputError: if the run has no such owner, or has not reached the tick.
    """
    store = RunStore.open(client, run)
    present = {name.decode() for name in store.fields("owners")}
    retired = {name.decode() for name in store.fields("retired")}
    if owner not in present and owner not in retired:
        near = near_owners(owner, {*present, *retired})
        shown = near or sorted({*present, *retired})
        listed = ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
        others = f"did you mean {listed}?" if near else f"there are {listed}"
        raise InputError(f"run {run!r} has no owner {owner[:80]!r}; {others}")
    now = store.tick()
    if tick is not None and not 0 <= tick <= now:
        raise InputError(f"run {run!r} is at tick {now}: tick {tick} has not happened yet")
    facts = kept_facts(store)
    at = now if tick is None else tick
    stream = load_streams(store, [owner])[owner]
    left_out = tuple(unreadable([stream]))
    leave_out(stream, (entry.number for entry in left_out), at)
    return StoredMemory(
        run=run,
        owner=owner,
        tick=at,
        minute=facts.minute(at),
        retired=owner in retired,
        stream=stream if tick is None else _as_of(stream, at),
        facts=facts,
        left_out=left_out,
    )


def _as_of(stream: Stream, tick: int) -> Stream:
    """Return a stream with the entries that it had at the end of a tick and still has."""
    return Stream(
        stream.owner,
        entries=[as_known(entry, tick) for entry in stream.entries.values() if entry.tick <= tick],
        archived={number: record for number, record in stream.archived.items() if record.tick <= tick},
        marks=stream.marks,
        head=stream.head,
    )
