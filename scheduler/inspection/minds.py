"""Read what every owner of a run remembers, each thought with the job that wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from redis import Redis

from cogitate.memory.effects import Append, Effect
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.scheduler.inspection.job_history import JobHistory, JobRecord
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams

AT_ONCE = 50  # streams that are read together


class Mind(NamedTuple):
    """An owner's memory as of the run's last tick, archived entries included."""

    owner: str
    name: str
    left: bool  # the run
    stream: Stream
    jobs: dict[int, JobRecord]  # by the number of the entry that the job appended


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
    jobs = _appending_jobs(JobHistory(client, run).all())
    for start in range(0, len(owners), AT_ONCE):
        streams = load_streams(store, owners[start : start + AT_ONCE])
        for owner, stream in streams.items():
            leave_out(stream, (one.number for one in unreadable([stream])), tick)
            yield Mind(owner, names.get(owner, owner), owner not in present, stream, jobs.get(owner, {}))


def _appending_jobs(records: Iterable[JobRecord]) -> dict[str, dict[int, JobRecord]]:
    """Return the job behind each appended entry, by owner and number."""
    found: dict[str, dict[int, JobRecord]] = {}

    def add(record: JobRecord, effects: tuple[Effect, ...], appended: tuple[int, ...]) -> None:
        into = [effect.owner for effect in effects if isinstance(effect, Append)]
        for owner, number in zip(into, appended, strict=False):  # a refused job has effects and appended nothing
            found.setdefault(owner, {})[number] = record

    for record in records:
        add(record, record.effects, record.appended)
        if record.late is not None:
            add(record, record.late.effects, record.late.appended)
    return found
