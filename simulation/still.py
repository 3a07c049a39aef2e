"""A world without events, for the owners of an import: they plan and reflect on their memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Effect
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.world import AppliedChange, Report, read_dump


class _State(msgspec.Struct, frozen=True, kw_only=True):
    owners: dict[str, Profile]
    locations: tuple[Location, ...]


class StillWorld:
    """A world for the tick loop (`cogitate.simulation.world.World`) with only owners and places.

    An import commits its dump with the memories; a resumed run loads it.
    """

    def __init__(
        self,
        owners: Mapping[str, Profile] | None = None,
        locations: Sequence[Location] = (),
        *,
        minutes_per_tick: int = 1,
        start_minute: int = 0,
    ) -> None:
        self._state = _State(owners=dict(owners or {}), locations=tuple(locations))
        self.minutes_per_tick = minutes_per_tick
        self.start_minute = start_minute

    @property
    def locations(self) -> tuple[Location, ...]:
        return self._state.locations

    @property
    def ticks_per_day(self) -> int:
        return -(-DAY // self.minutes_per_tick)

    def owners(self) -> Mapping[str, Profile]:
        return self._state.owners

    def brief(self, owner: str) -> dict[str, Any]:
        """Return an owner's home as its place, even for an owner that another host added."""
        profile = self._state.owners.get(owner)
        return {"location": profile.home if profile else "", "activity": ""}

    def apply(self, change: AppliedChange) -> None:
        """Ignore a change."""

    def step(self, tick: int, minute: int) -> Sequence[Report]:
        """Return no reports."""
        return ()

    def take_effects(self) -> list[Effect]:
        return []

    def dump(self) -> bytes:
        return msgspec.json.encode(self._state, order="deterministic")

    def load(self, data: bytes) -> None:
        """Continue with the owners and places of a dump.

        Raises:
            ValueError: if it is of another world, such as that of a host which resumed the run.
        """
        self._state = read_dump(data, _State, "a world in which nothing happens")
