"""Measure the host's cost of a heuristic: a plan and a reflection, by the number of memories.

Fewer owners share the observations of the crowd of `bench.crowd.morning`. Each entry is parsed when it is observed, as
by a host with idle time. A figure is CPU of the thread; each owner is measured once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from bench.crowd import host, morning
from bench.table import Row, Table
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.prompts.render import Templates
from cogitate.tasks.heuristics.read_ahead import read_ahead
from cogitate.tasks.job import Job, JobKey, Reads
from cogitate.tasks.kind import Case, Kind, WorldFacts
from cogitate.tasks.plan import Plan
from cogitate.tasks.reflect import Reflect

MEMORIES = (36, 200)
OWNERS = 200  # measured


def streams(memories: int, owners: Sequence[str]) -> dict[str, Stream]:
    """Return the streams of owners once most of them have this many memories."""
    found = {owner: Stream(owner) for owner in owners}
    minutes = range(1, 1 + memories * len(owners) // host.SEEN)
    for tick, seen in enumerate(morning.observations(owners, minutes), start=1):
        for owner, entry in seen:
            found[owner].append(entry, tick)
    return found


def cases(kind: Kind, memories: int, owners: Sequence[str], world: WorldFacts) -> list[Case]:
    """Return a job of a kind for each owner, whose entries have been read."""
    made = []
    for owner, stream in streams(memories, owners).items():
        entries = stream.live()
        for upto, entry in enumerate(entries, start=1):
            read_ahead(entry, owner, entries[:upto], world)
        minute = entries[-1].minute + 1
        key = JobKey(minute, kind.name, owner, 0, 0)
        reads = (Reads(owner, stream.head.last_number),)
        job = Job(run="cost", key=key, minute=minute, due=minute + 5, reads=reads)
        made.append(Case(job=job, profile=Profile(name=world.names[owner]), world=world, memories={owner: entries}))
    return made


def milliseconds(kind: Kind, memories: int) -> float:
    """Return the median CPU of one heuristic."""
    owners = [f"agent:a{number}" for number in range(OWNERS)]
    names = {owner: f"Ann{number} Smith" for number, owner in enumerate(owners)}
    world = WorldFacts(locations=morning.houses(), names=names)
    taken = []
    for case in cases(kind, memories, owners, world):
        begun = time.thread_time()
        kind.heuristic(case)
        taken.append((time.thread_time() - begun) * 1000)
    return median(taken)


def table(numbers: Sequence[int] = MEMORIES) -> Table:
    """Return the milliseconds of a plan and of a reflection, by the number of memories."""
    rows = []
    for kind in (Plan(Templates()), Reflect(Templates())):
        rows.append(Row(kind.name, tuple(milliseconds(kind, number) for number in numbers)))
    columns = tuple(f"{number} memories, ms" for number in numbers)
    return Table("A heuristic in the host", columns, tuple(rows), f"CPU of the thread; medians of {OWNERS} owners.")
