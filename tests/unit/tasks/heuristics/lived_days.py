"""Worlds that are lived for a while, and what each of their agents recalls of it."""

from __future__ import annotations

from collections.abc import Iterator

from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.simulation.world import World
from cogitate.tasks.heuristics.recalled import Recalled

EVERY = 360  # game minutes between two reflections


def lived(world: World, minutes: int) -> Iterator[Recalled]:
    """Live in a world, one tick a minute, and yield what each agent recalls whenever it may reflect."""
    profiles = world.owners()
    names = {owner: profile.name for owner, profile in profiles.items()}
    names |= {place.id: place.name for place in world.locations}
    streams = {owner: Stream(owner) for owner in profiles}
    begins = dict.fromkeys(streams, 0)  # the last entry that the latest reflection recalled
    for minute in range(minutes):
        for report in world.step(minute, minute):
            if isinstance(report, tuple) and report[0] in streams and isinstance(report[1], Entry):
                streams[report[0]].append(report[1], minute)
        if (minute + 1) % EVERY:
            continue
        for owner, stream in streams.items():
            entries, since = stream.live(), begins[owner]
            recent = [e for e in entries if e.number > since]
            if recent:
                yield Recalled(
                    owner=owner,
                    recent=sorted(recent, key=lambda e: (-e.importance, -e.minute, -e.number)),
                    before=[e for e in entries if e.number <= since],
                    names=names,
                    minute=minute,
                    repeats={},
                    places=world.locations,
                )
            begins[owner] = stream.head.last_number
