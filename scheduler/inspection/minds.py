"""Read the memories of every owner of a run, each thought with the job that wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from redis import Redis

from cogitate.memory.effects import Append, Archive, Effect, MarkAccessed, Tell
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.history import JournalTrimmed
from cogitate.scheduler.journal.rebuilt_streams import streams_at
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams

AT_ONCE = 50  # streams that are read together


class Written(NamedTuple):
    """The job that wrote an entry, and what it read, according to the journal."""

    job: JobRecord
    late: bool = False  # True: the late answer wrote it
    replaced: int = 0  # number of the provisional entry that it replaced
    shown: tuple[int, ...] | None = None  # entries that its prompt showed or its heuristic read; None: not recorded
    chosen: bool = False  # True: the job chose them from all memories; False: the request named them
    relations: tuple[Tell, ...] = ()  # changes of relationships that the job reported to the world


class Owner(NamedTuple):
    """An owner of memories."""

    id: str
    name: str
    left: bool  # whether it has left the run


class Mind(NamedTuple):
    """An owner's memory at the end of a tick, archived entries included."""

    owner: Owner
    stream: Stream
    written: Mapping[int, Written]  # by the number of the entry
    names: Mapping[str, str]  # display names by owner and place


class Past(NamedTuple):
    """The memories of all owners of a run at the end of a tick."""

    tick: int
    streams: Mapping[str, Stream]


def read_past(store: RunStore, tick: int) -> Past:
    """Rebuild from the journal the memories of all owners at the end of a tick, without any later change.

    Raises:
        InputError: if the run has not reached the tick, or its journal begins later.
        JournalError: if its journal was altered.
    """
    now = store.tick()
    if not 1 <= tick <= now:
        raise InputError(f"the run is at tick {now}: give a tick from 1 to {now}, not {tick}")
    try:
        streams = streams_at(store, tick)
    except JournalTrimmed as error:
        raise InputError(str(error)) from None
    return Past(tick, {owner: _readable(stream, tick) for owner, stream in streams.items()})


def readable_streams(store: RunStore, owners: Iterable[str]) -> dict[str, Stream]:
    """Return the current streams of these owners, without unreadable entries."""
    tick = store.tick()
    return {owner: _readable(stream, tick) for owner, stream in load_streams(store, owners).items()}


def _readable(stream: Stream, tick: int) -> Stream:
    leave_out(stream, (entry.number for entry in unreadable([stream])), tick)
    return stream


def owners_of(store: RunStore, past: Past | None = None) -> list[Owner]:
    """Return the owners of a run, now or at a past tick, sorted by id; leavers included."""
    names = kept_facts(store).world().display_names
    left = {owner.decode(): int(tick) for owner, tick in store.mapping("retired").items()}
    if past is None:
        known, tick = {*left, *(owner.decode() for owner in store.fields("owners"))}, store.tick()
    else:
        known, tick = {*past.streams}, past.tick
    return [Owner(owner, names.get(owner, owner), left.get(owner, tick + 1) <= tick) for owner in sorted(known)]


def read_minds(client: Redis, run: str, past: Past | None = None) -> Iterator[Mind]:
    """Yield the owners of a run by id, with their memories and the jobs that wrote them.

    Jobs that ended in the trimmed part of the journal are unknown.

    Args:
        past: the memories at an earlier tick; None: the current ones.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: if its journal was altered.
    """
    store = RunStore.open(client, run)
    owners, names = owners_of(store, past), kept_facts(store).world().display_names
    written = _written(JobHistory(client, run).all())
    for start in range(0, len(owners), AT_ONCE):
        some = owners[start : start + AT_ONCE]
        streams = readable_streams(store, [owner.id for owner in some]) if past is None else past.streams
        for owner in some:
            yield Mind(owner, streams[owner.id], written.get(owner.id, {}), names)


def _written(records: Iterable[JobRecord]) -> dict[str, dict[int, Written]]:
    """Return how each appended entry was written, by owner and number."""
    by_owner: dict[str, dict[int, Written]] = {}
    for record in records:
        for owner, number, written in written_by(record):
            by_owner.setdefault(owner, {})[number] = written
    return by_owner


def written_by(record: JobRecord) -> Iterator[tuple[str, int, Written]]:
    """Yield the owner and the number of each entry that a job appended, and how the job wrote it."""
    answers = [(False, record.effects, record.appended)]
    if record.late is not None:
        answers.append((True, record.late.effects, record.late.appended))
    for late, effects, appended in answers:
        into = [effect for effect in effects if isinstance(effect, Append)]
        for append, number in zip(into, appended, strict=False):  # a refused job has effects and appended nothing
            shown, chosen = _shown(append.owner, effects)
            relations = tuple(
                effect for effect in effects if isinstance(effect, Tell) and effect.topic == "relationship"
            )
            yield append.owner, number, Written(record, late, append.replaces, shown, chosen, relations)


def _shown(owner: str, effects: Iterable[Effect]) -> tuple[tuple[int, ...] | None, bool]:
    """Return the entries of an owner that a job read, and whether the job chose them itself."""
    marked: set[int] = set()
    archived: set[int] = set()
    for effect in effects:
        if isinstance(effect, MarkAccessed) and effect.owner == owner:
            marked.update(effect.numbers)
        elif isinstance(effect, Archive) and effect.owner == owner:
            archived.update(effect.numbers if effect.shown is None else effect.shown)
    return tuple(sorted(marked | archived)) or None, bool(marked)
