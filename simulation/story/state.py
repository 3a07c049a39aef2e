"""The story's whole mutable state: everything else follows from the seed and the day."""

from __future__ import annotations

import msgspec

from cogitate.memory.effects import Effect
from cogitate.simulation.town.plans import Agenda


class State(msgspec.Struct, kw_only=True):
    """Everything that changes."""

    seed: int
    minute: int  # game time up to which the story has gone on
    agendas: dict[str, Agenda]
    effects: list[Effect] = msgspec.field(default_factory=list)  # asked for and not yet taken
    recalled: int = 0  # how often the narrator has recalled memories of a place or a person
