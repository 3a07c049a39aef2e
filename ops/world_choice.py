"""The worlds that the command line can run, and how a run remembers which one it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scheduler.config.settings import ConfigurationError
from simulation.recorded.player import RecordedWorld
from simulation.town.town import Town
from simulation.world import World

DEFAULT_AGENTS = 25


@dataclass(frozen=True, kw_only=True)
class WorldChoice:
    """A town of so many agents from a seed, or the player of a recording."""

    agents: int = DEFAULT_AGENTS
    seed: int = 0
    recorded: Path | None = None
    minutes_per_tick: int = 1

    @property
    def stem(self) -> str:
        """What a run of this world is called unless the user says otherwise; a number follows."""
        return "recorded" if self.recorded is not None else "town"

    def open(self) -> World:
        """The world at its beginning.

        Raises:
            ConfigurationError: for an impossible town.
            RecordingError: when the recording cannot be used.
        """
        if self.recorded is not None:
            return RecordedWorld(self.recorded, self.minutes_per_tick)
        try:
            return Town(self.agents, self.seed, self.minutes_per_tick)
        except ValueError as error:
            raise ConfigurationError(f"--town {self.agents}: {error}") from error

    def describe(self) -> dict[str, str]:
        """What a run keeps of it."""
        kept = {"minutes_per_tick": str(self.minutes_per_tick)}
        if self.recorded is not None:
            return kept | {"world": "recorded", "path": str(self.recorded.absolute())}
        return kept | {"world": "town", "agents": str(self.agents), "seed": str(self.seed)}

    @classmethod
    def of_description(cls, run: str, kept: Mapping[str, str]) -> WorldChoice:
        """The world that a run was created with.

        Raises:
            ConfigurationError: when a host of its own created it.
        """
        match kept.get("world"):
            case "recorded":
                return cls(recorded=Path(kept["path"]), minutes_per_tick=int(kept["minutes_per_tick"]))
            case "town":
                agents, seed, minutes = (int(kept[name]) for name in ("agents", "seed", "minutes_per_tick"))
                return cls(agents=agents, seed=seed, minutes_per_tick=minutes)
        raise ConfigurationError(
            f"run {run!r} was not made by `cogitate run`: only the host that made it can go on with it"
        )


def default_days(world: World) -> int:
    """How long a world is run unless the user says otherwise: as long as it was recorded, or one day."""
    return world.days if isinstance(world, RecordedWorld) else 1


def warnings_of(world: World) -> Counter[str]:
    """What had to be refused or repaired to open the world, by name."""
    found = world.warnings if isinstance(world, RecordedWorld) else Counter[str]()
    return Counter({f"recording.{name}": count for name, count in found.items()})
