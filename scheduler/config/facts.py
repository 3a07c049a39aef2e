"""What is said once about a run and never changes: places, limits, the length of a tick."""

from __future__ import annotations

import msgspec

from memory.limits import MemoryLimits
from memory.profile import Location
from scheduler.config.endpoints import Model
from tasks.kind import WorldFacts


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run's constants as the ledger keeps them. Workers compute from these, never from their own settings."""

    locations: tuple[Location, ...] = ()
    limits: MemoryLimits = MemoryLimits()
    minutes_per_tick: int = 1
    start_minute: int = 0  # game time of tick 0
    morning: int = 360
    act_interval: int = 0  # ticks; 0: agents are not asked to choose an action
    names: dict[str, str] = msgspec.field(default_factory=dict)
    models: tuple[Model, ...] = ()  # those that jobs may name; none: nobody is asked

    def model(self, name: str) -> Model | None:
        """The model of that name, or None."""
        return next((model for model in self.models if model.name == name), None)

    def world(self) -> WorldFacts:
        """The same as kinds of job see it."""
        return WorldFacts(
            locations=self.locations,
            limits=self.limits,
            minutes_per_tick=self.minutes_per_tick,
            morning=self.morning,
            act_interval=self.act_interval,
            names=self.names,
        )

    def minute(self, tick: int) -> int:
        """Game time of a tick, total minutes."""
        return self.start_minute + tick * self.minutes_per_tick
