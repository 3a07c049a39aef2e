"""Read what every owner of a run remembers, each thought with the job that wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from redis import Redis

from cogitate.memory.effects import Append, Archive, Effect, MarkAccessed
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.scheduler.inspection.job_history import JobHistory, JobRecord
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams

AT_ONCE = 50  # streams that are read together


class Written(NamedTuple):
    """What the journal tells of the writing of an entry."""

    job: JobRecord
    late: bool = False  # by the answer that came after the job's end
    replaced: int = 0  # number of the provisional entry in whose place it is
    shown: tuple[int, ...] | None = None  # entries that its prompt showed, or its heuristic read; None: not kept
    chosen: bool = False  # out of all that the owner remembered, and not named in the request


class Mind(NamedTuple):
    """An owner's memory as of the run's last tick, archived entries included."""

    owner: str
    name: str
    left: bool  # the run
    stream: Stream
    written: dict[int, Written]  # by the number of the entry
    trimmed: int = 0  # jobs that ended up to this tick are no longer in the journal


def read_minds(client: Redis, run: str) -> Iterator[Mind]:
    """Yield the owners of a run by name, with their memories.

    Jobs that ended in the trimmed part of the journal are unknown.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: when its journal was changed.
    """
    store = RunStore.open(client, run)
    names, tick = kept_facts(store).world().display_names, store.tick()
    present = {owner.decode() for owner in store.fields("owners")}
    owners = sorted({*present, *(owner.decode() for owner in store.fields("retired"))})
    history = JobHistory(client, run)
    written = _written(history.all())
    for start in range(0, len(owners), AT_ONCE):
        streams = load_streams(store, owners[start : start + AT_ONCE])
        for owner, stream in streams.items():
            leave_out(stream, (one.number for one in unreadable([stream])), tick)
            name = names.get(owner, owner)
            yield Mind(owner, name, owner not in present, stream, written.get(owner, {}), history.trimmed)


def _written(records: Iterable[JobRecord]) -> dict[str, dict[int, Written]]:
    """Return how each appended entry was written, by owner and number."""
    found: dict[str, dict[int, Written]] = {}
    for record in records:
        for owner, number, written in written_by(record):
            found.setdefault(owner, {})[number] = written
    return found


def written_by(record: JobRecord) -> Iterator[tuple[str, int, Written]]:
    """Yield the owner and the number of each entry that a job appended, and how it was written."""
    answers = [(False, record.effects, record.appended)]
    if record.late is not None:
        answers.append((True, record.late.effects, record.late.appended))
    for late, effects, appended in answers:
        into = [effect for effect in effects if isinstance(effect, Append)]
        for append, number in zip(into, appended, strict=False):  # a refused job has effects and appended nothing
            shown, chosen = _shown(append.owner, effects)
            yield append.owner, number, Written(record, late, append.replaces, shown, chosen)


def _shown(owner: str, effects: Iterable[Effect]) -> tuple[tuple[int, ...] | None, bool]:
    """Return the entries of an owner that a job read, and whether it chose them itself."""
    marked: set[int] = set()
    archived: set[int] = set()
    for effect in effects:
        if isinstance(effect, MarkAccessed) and effect.owner == owner:
            marked.update(effect.numbers)
        elif isinstance(effect, Archive) and effect.owner == owner:
            archived.update(effect.numbers if effect.shown is None else effect.shown)
    return tuple(sorted(marked | archived)) or None, bool(marked)
