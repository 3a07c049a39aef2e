"""One owner's memory read back from the ledger, as of now or of an earlier tick: for people who look into a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
from redis import Redis

from memory.entry import Archived, Entry, Marks, as_known
from memory.retrieval.retrieval import DEFAULT, DIALOGUE, SPEC, Query, RetrievalProfile, Scored, retrieve
from memory.stream import Stream
from memory.unreadable import LeftOut, leave_out, unreadable
from scheduler.config.facts import Facts
from scheduler.intake.checks import InputError
from scheduler.ledger.run_store import RunStore
from scheduler.ledger.streams import load_streams

PROFILES: dict[str, RetrievalProfile] = {profile.name: profile for profile in (DEFAULT, DIALOGUE, SPEC)}
_FACTS = msgspec.json.Decoder(Facts)


@dataclass(frozen=True, kw_only=True)
class MemoryView:
    """A stream at the end of a tick. Marks and the head are as of now: only entries can be read as of a tick."""

    run: str
    owner: str
    tick: int
    minute: int  # game time, total minutes
    retired: bool
    stream: Stream
    left_out: tuple[LeftOut, ...] = ()  # of its entries: they cannot be read

    def entries(self) -> list[Entry]:
        """Return all entries, archived ones included, in order of number; deleted ones are gone for good."""
        return [as_known(e, self.tick) for e in self.stream.entries.values() if e.tick <= self.tick]

    def live(self) -> list[Entry]:
        """Return the entries that were live."""
        return [e for e in self.entries() if self.archived(e) is None]

    def archived(self, entry: Entry) -> Archived | None:
        """Return when and into which entry this one had been archived by then."""
        record = self.stream.archived.get(entry.number)
        return record if record is not None and record.tick <= self.tick else None

    def marks(self, entry: Entry) -> Marks:
        """Return the marks of the entry as of now."""
        return self.stream.marks.get(entry.number, Marks())

    def salience(self, profile: str) -> dict[int, Scored]:
        """Return how readily each live entry comes to mind while nothing is asked for, and why, by number.

        Raises:
            InputError: when there is no such profile.
        """
        live = self.live()
        everything = replace(_profile(profile), distinct=False, diversity=0.0)
        found = retrieve(live, Query(minute=self.minute, limit=len(live)), everything)
        return {one.entry.number: one for one in found}

    def search(self, text: str, limit: int, profile: str) -> list[Scored]:
        """Return the best live entries for a query, with the breakdown of their scores.

        Raises:
            InputError: when there is no such profile.
        """
        return retrieve(self.live(), Query(minute=self.minute, text=text, limit=limit), _profile(profile))


def _profile(name: str) -> RetrievalProfile:
    if name not in PROFILES:
        raise InputError(f"there is no retrieval profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


def read_memory(client: Redis, run: str, owner: str, tick: int | None = None) -> MemoryView:
    """Return an owner's memory at the end of a tick (None: as it is now).

    Raises:
        RunMissing: when there is no such run.
        InputError: when the run has no such owner, or has not reached the tick.
    """
    store = RunStore.open(client, run)
    present = {name.decode() for name in store.fields("owners")}
    retired = {name.decode() for name in store.fields("retired")}
    if owner not in present and owner not in retired:
        near = [name for name in sorted({*present, *retired}) if owner.partition(":")[2].lower() in name.lower()]
        shown = near or sorted({*present, *retired})
        raise InputError(f"run {run!r} has no owner {owner[:80]!r}; there are {', '.join(shown[:10])}" + _more(shown))
    now = store.tick()
    if tick is not None and not 0 <= tick <= now:
        raise InputError(f"run {run!r} stands at tick {now}: tick {tick} is none of its past")
    kept = store.values("facts")
    facts = _FACTS.decode(kept[0]) if kept else Facts()  # places and names differ by version, the clock does not
    at = now if tick is None else tick
    stream = load_streams(store, [owner])[owner]
    left_out = tuple(unreadable([stream]))
    leave_out(stream, (one.number for one in left_out), at)
    return MemoryView(
        run=run,
        owner=owner,
        tick=at,
        minute=facts.minute(at),
        retired=owner in retired,
        stream=stream,
        left_out=left_out,
    )


def _more(names: list[str]) -> str:
    return f" and {len(names) - 10} more" if len(names) > 10 else ""
