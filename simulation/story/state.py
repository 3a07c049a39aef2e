"""The story's mutable state; everything else derives from the seed and the day."""

from __future__ import annotations

import msgspec

from cogitate.memory.effects import Effect
from cogitate.simulation.town.plans import Agenda


class State(msgspec.Struct, kw_only=True):
    """The mutable state of a story."""

    seed: int
    minute: int  # game time that the story has reached
    agendas: dict[str, Agenda]
    effects: list[Effect] = msgspec.field(default_factory=list)  # pending effects
    recalled: int = 0  # number of the narrator's recalls by place or person
