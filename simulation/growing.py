"""A world with only some of its owners present, for growing loads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from cogitate.memory.effects import Effect
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.world import AppliedChange, Report, World


class GrowingWorld:
    """A wrapped world that reports only its first `present` owners. `present` may only
    grow, since an owner that left a run cannot return. Not for resumed runs.
    """

    def __init__(self, world: World, present: int) -> None:
        self._world = world
        self.present = present

    @property
    def locations(self) -> tuple[Location, ...]:
        """Return all places."""
        return self._world.locations

    @property
    def start_minute(self) -> int:
        """Game time of tick 0."""
        return self._world.start_minute

    @property
    def minutes_per_tick(self) -> int:
        """Game minutes between two ticks."""
        return self._world.minutes_per_tick

    @property
    def ticks_per_day(self) -> int:
        """Ticks in a game day."""
        return self._world.ticks_per_day

    def owners(self) -> Mapping[str, Profile]:
        """Return the profiles of the present owners."""
        return dict(islice(self._world.owners().items(), self.present))

    def brief(self, owner: str) -> dict[str, Any]:
        """Return the brief of an owner."""
        return self._world.brief(owner)

    def apply(self, change: AppliedChange) -> None:
        """Process an applied change."""
        self._world.apply(change)

    def step(self, tick: int, minute: int) -> list[Report]:
        """Advance, and return the observations of the present owners."""
        here = self.owners()
        return [report for report in self._world.step(tick, minute) if isinstance(report, tuple) and report[0] in here]

    def take_effects(self) -> list[Effect]:
        """Return the effects of the present owners."""
        here = self.owners()
        return [effect for effect in self._world.take_effects() if effect.owner in here]

    def dump(self) -> bytes:
        """Return the world's state."""
        return self._world.dump()

    def load(self, data: bytes) -> None:
        """Restore the world's state."""
        self._world.load(data)
