"""The plan of an experiment: the contents of its file, its conditions and its runs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.errors import quoted
from cogitate.ops.operator_requests import cadence_request
from cogitate.scheduler.config.controls import SetCadence
from cogitate.scheduler.config.facts import KEPT, check_changeable
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.journal.changes import SetSetting

MOST_RUNS = 10_000
NO_LIMIT = 10**12  # tokens; the limit of a run that only the experiment's limit bounds
OF_A_RUN = KEPT | {"wait", "tick_rate"}  # settings that may differ between runs on the same workers
BASES = ("town", "story", "world", "command")

Parameters = Mapping[str, Any]  # "settings.policy", "cadence.reflect" or "world.rain" -> value


class Groups(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of runs by group."""

    settings: dict[str, Any] = {}
    cadence: dict[str, Any] = {}  # kind -> share of its usual cadence
    world: dict[str, Any] = {}

    def flat(self) -> dict[str, Any]:
        """Return the parameters by their full names."""
        return {
            f"{group}.{name}": value
            for group in ("settings", "cadence", "world")
            for name, value in getattr(self, group).items()
        }


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment as its file describes it."""

    town: int | None = None  # number of agents
    story: bool = False
    world: str | None = None  # "module:Class" of a world (`cogitate.experiment.World`)
    command: tuple[str, ...] = ()  # starts a host; {run}, {seed}, {rain} etc. are replaced by the run's values
    days: int | None = None
    ticks: int | None = None
    at: str | None = None  # tick or game time at which the conditions fork from the base
    base: Groups = Groups()
    conditions: Groups = Groups()  # lists of values; the first ones are the base's
    replicates: int = 5
    seed: int = 0  # of the first replicate; each further one has the next seed
    limit_tokens: int | None = None  # for all runs together
    limit_usd: float | None = None
    at_limit: Literal["stop", "heuristics"] = "stop"
    measures: tuple[str, ...] = ()  # "module:function" that measures a run's tables
    hosts: int = 4  # the most hosts at once

    def __post_init__(self) -> None:
        given = [name for name in BASES if getattr(self, name)]
        if len(given) != 1:
            raise ConfigurationError(f"give one of {', '.join(BASES)} as the base of the runs, not {given or 'none'}")
        if self.days is not None and self.ticks is not None:
            raise ConfigurationError(f"give days = {self.days} or ticks = {self.ticks}, not both")
        for name in ("town", "days", "ticks", "replicates", "limit_tokens", "limit_usd", "hosts"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ConfigurationError(f"{name} = {value} must be above 0")
        empty = [name for name, values in self.conditions.flat().items() if not isinstance(values, list) or not values]
        if empty:
            raise ConfigurationError(f"conditions.{empty[0]} must be a list of values that begins with the base's")
        for name, values in self.conditions.flat().items():
            if any(value in values[:n] for n, value in enumerate(values)):
                raise ConfigurationError(f"conditions.{name}: list each value only once")
        if self.command and (self.base.cadence or self.conditions.cadence):
            raise ConfigurationError("a command sets its cadences itself: give them to it as world.NAME")
        if self.command and self.at and "{source}" not in " ".join(self.command):
            raise ConfigurationError(
                "with `at`, the command must fork: write {source} and {tick} where it takes the run and the tick"
            )
        if (runs := self.replicates * len(self.grid())) > MOST_RUNS:
            raise ConfigurationError(f"these are {runs:,} runs: at most {MOST_RUNS:,} are possible")

    def grid(self) -> list[Condition]:
        """Return the conditions, the base first."""
        varied = self.conditions.flat()
        return [
            Condition(number, dict(zip(varied, values, strict=True)))
            for number, values in enumerate(product(*varied.values()))
        ]

    def runs(self) -> Iterator[PlannedRun]:
        """Yield the runs in the order in which they begin: replicate by replicate, the base first."""
        conditions = self.grid()
        for replicate in range(1, self.replicates + 1):
            for condition in conditions:
                yield PlannedRun(condition, replicate, self.seed + replicate - 1, self.at is not None)

    def value_of(self, group: Literal["settings", "cadence", "world"], condition: Condition) -> dict[str, Any]:
        """Return the parameters of a group under a condition."""
        own = {
            name.partition(".")[2]: value
            for name, value in condition.parameters.items()
            if name.startswith(group + ".")
        }
        base: dict[str, Any] = getattr(self.base, group)
        return base | own

    def settings_of(self, condition: Condition) -> Settings:
        """Return the settings of a condition's runs; variables and cogitate.toml supply the settings that it lacks.

        Raises:
            ConfigurationError: when a setting is invalid, or cannot differ between runs.
        """
        given = self.value_of("settings", condition)
        shared = sorted(self.conditions.settings.keys() - OF_A_RUN)
        if shared:
            raise ConfigurationError(
                f"conditions.settings.{shared[0]}: all runs share the workers, so it cannot differ between them; set "
                "it once, in base.settings, cogitate.toml or a variable"
            )
        settings = Settings(**given)
        if settings.llm == "openai" and not settings.limit_table().limited("run", "run"):
            settings = Settings(**given, limit_tokens=NO_LIMIT)
        return settings

    def cadences_of(self, condition: Condition) -> tuple[SetCadence, ...]:
        """Return the requests that pin a condition's cadences."""
        shares = self.value_of("cadence", condition)
        return tuple(cadence_request("RUN", kind, share, pin=True, auto=False) for kind, share in shares.items())

    def changes_of(self, condition: Condition) -> tuple[SetSetting | SetCadence, ...]:
        """Return the changes by which a condition's fork differs from the base.

        Raises:
            ConfigurationError: for a setting that cannot change during a run.
        """
        base = self.grid()[0]
        for name in self.conditions.settings:
            check_changeable(name)
        before, after = (self.value_of("settings", each) for each in (base, condition))
        settings = (SetSetting(name, after[name]) for name in self.conditions.settings if after[name] != before[name])
        pinned = self.cadences_of(base)
        return (*settings, *(cadence for cadence in self.cadences_of(condition) if cadence not in pinned))

    def identity(self) -> dict[str, Any]:
        """Return the fields that must not change once runs have begun."""
        kept = json.loads(msgspec.json.encode(self))  # in JSON types, as read back from the folder
        for name in ("limit_tokens", "limit_usd", "at_limit", "replicates", "measures", "hosts"):
            del kept[name]
        return dict(kept)


@dataclass(frozen=True)
class Condition:
    """One combination of the values that the conditions list."""

    number: int  # 0: the base
    parameters: Parameters

    @property
    def label(self) -> str:
        """Return the values in short form, such as "policy=cells, rain=true"."""
        values = ", ".join(f"{name.partition('.')[2]}={text_of(value)}" for name, value in self.parameters.items())
        return values or "base"


class PlannedRun(NamedTuple):
    """A run of the experiment."""

    condition: Condition
    replicate: int  # from 1
    seed: int
    forked: bool  # whether the other conditions' runs are forks of the base's

    @property
    def name(self) -> str:
        return f"c{self.condition.number}-r{self.replicate}"

    @property
    def source(self) -> str | None:
        """Return the run that this one forks, if any."""
        return f"c0-r{self.replicate}" if self.forked and self.condition.number else None


def text_of(value: object) -> str:
    """Return a parameter's value as text: a text unchanged, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read_experiment(given: Path | Mapping[str, Any]) -> Experiment:
    """Return the experiment that a file, or a mapping of the same form, describes.

    Raises:
        ConfigurationError: naming the invalid part.
        OSError: when the file cannot be opened.
    """
    prefix = f"{given}: " if isinstance(given, Path) else ""
    try:
        fields = tomllib.loads(given.read_bytes().decode()) if isinstance(given, Path) else dict(given)
        experiment = typed_json.convert(fields, Experiment)
        for condition in experiment.grid():
            settings = experiment.settings_of(condition)
            experiment.cadences_of(condition)
            if experiment.at is not None:
                experiment.changes_of(condition)
            _check_limited(experiment, settings)
    except (msgspec.ValidationError, ConfigurationError) as error:
        raise ConfigurationError(f"{prefix}{error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{prefix}this is not TOML in UTF-8: {quoted(str(error))}") from None
    return experiment


def _check_limited(experiment: Experiment, settings: Settings) -> None:
    """Check that the experiment has a limit if it calls a model, and that this is its only limit."""
    if settings.llm == "openai" and experiment.limit_tokens is None and experiment.limit_usd is None:
        raise ConfigurationError("the runs call a model: give limit_tokens or limit_usd, for all runs together")
    if not settings.embedded:
        raise ConfigurationError("an experiment starts its own server: unset redis_url and redis_urls")
    if settings.real_day_tokens is not None or settings.real_day_usd is not None:
        raise ConfigurationError(
            "an experiment has one limit for all its runs: unset real_day_tokens and real_day_usd, and give "
            "limit_tokens or limit_usd"
        )
