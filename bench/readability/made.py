"""All texts that heuristics wrote in a run of a world, with the context needed to judge them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fakeredis import FakeRedis

from cogitate.memory.clock import day_and_time
from cogitate.memory.effects import Append, ReplaceSummary
from cogitate.ops.world_choice import settings_for
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.journal.ends import Change
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import World

Type = Literal["reflection", "summary", "long-term summary", "plan item"]


@dataclass(frozen=True)
class Made:
    """One text that a heuristic wrote, or one item of a plan."""

    owner: str
    name: str  # of the owner
    type: Type
    minute: int  # game time at which it took effect
    text: str
    others: tuple[str, ...]  # the names of all others in the world

    @property
    def when(self) -> str:
        """Return the game time in words."""
        return day_and_time(self.minute)


def of_town(agents: int, days: int, minutes_per_tick: int = 1, seed: int = 0) -> list[Made]:
    """Return the texts of a town that runs without a model."""
    return lived(Town(agents, seed, minutes_per_tick), days)


def lived(world: World, days: int, policies: Mapping[str, str] | None = None) -> list[Made]:
    """Run a world without a model in this process, and return its texts in order."""
    owners = world.owners()
    names = {owner: profile.name for owner, profile in owners.items()}
    found: list[Made] = []
    with tempfile.TemporaryDirectory() as folder:
        own: dict[str, Any] = {} if policies is None else {"policies": dict(policies)}
        settings = PinnedSettings.tuned(data_dir=Path(folder), seconds_per_tick=60 * world.minutes_per_tick, **own)
        ticks, suited = days * world.ticks_per_day, settings_for(world, settings)
        with loop_of(world, "readability", suited, ticks=ticks, inline=True, client=FakeRedis()) as loop:
            drive(loop, world, on_tick=lambda tick: found.extend(_texts(tick.applied, tick.minute, names)))
    return found


def _texts(applied: Iterable[Change], minute: int, names: Mapping[str, str]) -> Iterator[Made]:
    for change in applied:
        owner, name = change.owner, names[change.owner]
        others = tuple(other for who, other in names.items() if who != owner)
        match change.effect:
            case Append(entry=entry) if entry.type in ("reflection", "summary"):
                yield Made(owner, name, entry.type, minute, entry.text, others)
            case Append(entry=entry) if entry.type == "plan":
                for item in entry.items:
                    yield Made(owner, name, "plan item", minute, f"{item.description}.", others)
            case ReplaceSummary(text=text):
                yield Made(owner, name, "long-term summary", minute, text, others)
            case _:
                pass
