"""The worlds that the command line can run, and the description that a run stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cogitate.memory.clock import Clock
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.story.story import Story
from cogitate.simulation.town.perception import Perception
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import NarratedWorld, StillWorld, World

DEFAULT_AGENTS = 25


@dataclass(frozen=True, kw_only=True)
class WorldChoice:
    """The choice of a world: a town or the story from a seed, a recording, or the world of an import."""

    agents: int = DEFAULT_AGENTS
    seed: int = 0
    story: bool = False
    recorded: Path | None = None
    still: bool = False  # the world of an imported run
    minutes_per_tick: int = 1
    start_minute: int = 0
    unchanged: int = Perception.unchanged  # minutes after which a town's people notice an unchanged person again

    @property
    def stem(self) -> str:
        """Return the default name of a run of this world, without its number."""
        return "recorded" if self.recorded is not None else "story" if self.story else "town"

    def open(self) -> World:
        """Return the world at its beginning.

        Raises:
            ConfigurationError: for an invalid size of the town.
            RecordingError: for an invalid recording.
        """
        if self.recorded is not None:
            return RecordedWorld(self.recorded, self.minutes_per_tick)
        if self.still:
            return StillWorld(minutes_per_tick=self.minutes_per_tick, start_minute=self.start_minute)
        if self.story:
            return Story(self.seed, self.minutes_per_tick, self.start_minute)
        try:
            perception = Perception(unchanged=self.unchanged)
            return Town(self.agents, self.seed, self.minutes_per_tick, self.start_minute, perception)
        except ValueError as error:
            raise ConfigurationError(f"--town {self.agents}: {error}") from error

    def describe(self) -> dict[str, str]:
        """Return the description that a run stores."""
        kept = {"minutes_per_tick": str(self.minutes_per_tick)}
        if self.recorded is not None:
            return kept | {"world": "recorded", "path": str(self.recorded.absolute())}
        if self.still:
            return kept | {"world": "still", "start_minute": str(self.start_minute)}
        if self.story:
            return kept | {"world": "story", "seed": str(self.seed)}
        town = {"world": "town", "agents": str(self.agents), "seed": str(self.seed)}
        return kept | town | ({} if self.unchanged == Perception.unchanged else {"unchanged": str(self.unchanged)})

    @classmethod
    def of_description(cls, run: str, kept: Mapping[str, str]) -> WorldChoice:
        """Return a run's original world.

        Raises:
            ConfigurationError: when a program other than `cogitate run` created the run.
        """
        match kept.get("world"):
            case "recorded":
                return cls(recorded=Path(kept["path"]), minutes_per_tick=int(kept["minutes_per_tick"]))
            case "still":
                minutes, start = int(kept["minutes_per_tick"]), int(kept["start_minute"])
                return cls(still=True, minutes_per_tick=minutes, start_minute=start)
            case "story":
                return cls(story=True, seed=int(kept["seed"]), minutes_per_tick=int(kept["minutes_per_tick"]))
            case "town":
                agents, seed, minutes = (int(kept[name]) for name in ("agents", "seed", "minutes_per_tick"))
                unchanged = int(kept.get("unchanged", Perception.unchanged))
                return cls(agents=agents, seed=seed, minutes_per_tick=minutes, unchanged=unchanged)
        raise ConfigurationError(
            f"run {run!r} was not created by `cogitate run`: resume it with the program that created it"
        )


def minutes_per_tick(settings: Settings) -> int:
    """Return the minutes of a tick of a built-in world, which has clocks and days as on earth.

    Raises:
        ConfigurationError: for settings that give it another clock.
    """
    minutes, seconds = divmod(settings.seconds_per_tick, 60)
    if seconds or not 1 <= minutes <= 60 or settings.game_clock() != Clock(seconds_per_tick=60 * minutes):
        raise ConfigurationError(
            f"the built-in worlds have days of 24 hours and ticks of 1 to 60 whole minutes: "
            f"seconds_per_tick={settings.seconds_per_tick}, day_seconds={settings.day_seconds} and "
            f"clock={settings.clock!r} are for worlds of a host"
        )
    return minutes


def settings_for(world: World, settings: Settings) -> Settings:
    """Return the settings, with the world's suggestions for unset ones."""
    if not isinstance(world, NarratedWorld):
        return settings
    suggested = {name: value for name, value in world.settings.items() if name not in settings.model_fields_set}
    return settings.changed(**suggested)


def default_days(world: World) -> int:
    """Return the default length of a run in days: that of the recording, or one."""
    return world.days if isinstance(world, RecordedWorld) else 1


def warnings_of(world: World) -> Counter[str]:
    """Return the number of records that were refused or repaired, by the name of the warning."""
    warnings = world.warnings if isinstance(world, RecordedWorld) else Counter[str]()
    return Counter({f"recording.{name}": count for name, count in warnings.items()})
