"""The input of a tick from its world, and its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from cogitate.memory.effects import Effect, Loss, losses
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.triggers import ScopeTrigger
from cogitate.scheduler.journal.lines import Core, TickNotes
from cogitate.scheduler.steering.cadence import KindFault
from cogitate.tasks.job import Request


class Deferred(msgspec.Struct, frozen=True):
    """A request that is tried again at a later tick."""

    at: int
    request: Request


@dataclass(kw_only=True)
class WorldTurn:
    """The calls of the world in its turn."""

    joins: dict[str, Profile] = field(default_factory=dict)
    leaves: list[str] = field(default_factory=list)
    world_effects: list[Effect] = field(default_factory=list)
    observed: list[tuple[str, Entry]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    slots: Counter[tuple[str, str]] = field(default_factory=Counter)  # requests by kind and owner
    triggers: list[ScopeTrigger] = field(default_factory=list)


def copied(turn: WorldTurn) -> WorldTurn:
    """Return a copy of a turn that changes to the other leave alone."""
    return WorldTurn(
        joins=dict(turn.joins),
        leaves=list(turn.leaves),
        world_effects=list(turn.world_effects),
        observed=list(turn.observed),
        requests=list(turn.requests),
        slots=turn.slots.copy(),
        triggers=list(turn.triggers),
    )


@dataclass(frozen=True, kw_only=True)
class FinishedTick:
    """A finished tick, ready to be committed."""

    core: Core
    notes: TickNotes  # as far as the engine knows them
    opened: tuple[OpenJob, ...]
    streams: tuple[Stream, ...]  # those that may have changed
    faults: tuple[KindFault, ...]  # of kinds that were asked whether they are due

    def losses(self) -> Iterator[Loss]:
        for ended in self.core.ended:
            if ended.end == "applied":
                yield from losses(ended.effects)
        yield from losses(self.core.cuts)
