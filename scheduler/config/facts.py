"""What a run keeps of its configuration: its settings, and the constants that workers compute from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY, DAY_SECONDS, STANDARD, Clock
from cogitate.memory.errors import quoted
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.memory.retrieval.retrieval import DEFAULT
from cogitate.scheduler.config.embedding import EmbeddingModel, EmbeddingSettings
from cogitate.scheduler.config.endpoints import Model, ModelSettings
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.settings import ConfigurationError, PinnedSettings, Settings
from cogitate.scheduler.config.tables import fields_of
from cogitate.scheduler.config.tuning import KEPT_TUNING, Tuning
from cogitate.tasks.kind import WorldFacts

SCHEMA = 7


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run's constants as the ledger keeps them. Workers compute from these, never from their own settings."""

    locations: tuple[Location, ...] = ()
    limits: MemoryLimits = MemoryLimits()
    minutes_per_tick: int = 1
    seconds: int = 0  # of a tick beyond its minutes
    # None: as `Clock` has them. Large numbers and strings as defaults would be omitted or not by their identity.
    day_seconds: int | None = None
    clock_names: str | None = None
    start_minute: int = 0  # game time of tick 0
    morning: int = 360
    spread: int = 0  # minutes
    act_interval: int = 0  # ticks; 0: agents choose no actions
    names: dict[str, str] = msgspec.field(default_factory=dict)
    # How memories are scored; None: the default profile. A string as default would be omitted or not by its identity.
    retrieval: ProfileChoice | None = None
    kind_retrieval: dict[str, ProfileChoice] = msgspec.field(default_factory=dict)  # of a kind, where it differs
    scope_names: dict[str, str] = msgspec.field(default_factory=dict)  # of owners that are not agents
    routines: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict)  # of groups and the world
    languages: dict[str, str] = msgspec.field(default_factory=dict)  # of groups and the world
    spoken: str | None = None  # the language that all profiles together show, if not English
    models: tuple[Model, ...] = ()  # models that jobs may name; none: jobs use heuristics
    ladders: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)  # models by kind, as they are asked
    response_cache: bool = False  # workers reuse answers of earlier runs
    embeddings: EmbeddingModel | None = None  # None: memories are chosen by words alone
    templates: dict[str, str] = msgspec.field(default_factory=dict)  # of prompts that a fork changes, by name

    @property
    def profile(self) -> ProfileChoice:
        return DEFAULT.name if self.retrieval is None else self.retrieval

    def model(self, kind: str, name: str) -> Model | None:
        """Return a model with its parameters for a kind; None if the run has no such model."""
        return next((model.asked_by(kind) for model in self.models if model.name == name), None)

    def below(self, kind: str, model: str) -> tuple[Model, ...]:
        """Return the models of a kind's ladder that follow this one, with their parameters for the kind."""
        ladder = self.ladders.get(kind, self.ladders.get("", ()))
        names = ladder[ladder.index(model) + 1 :] if model in ladder else ()
        return tuple(found for name in names if (found := self.model(kind, name)) is not None)

    def world(self) -> WorldFacts:
        """Return the constants that kinds of job see."""
        same = {one.name: getattr(self, one.name) for one in fields(WorldFacts) if one.name != "retrieval"}
        return WorldFacts(retrieval=self.profile, **same)

    def minute(self, tick: int) -> int:
        """Return the game time of a tick, in total minutes."""
        return self.clock.minute(tick)

    @property
    def clock(self) -> Clock:
        return Clock(
            seconds_per_tick=60 * self.minutes_per_tick + self.seconds,
            day_seconds=self.day_seconds or DAY_SECONDS,
            start=self.start_minute,
            names=self.clock_names or STANDARD,
        )


CROWD = 50  # agents that plan in one game minute, unless `spread` is set
LONGEST_SPREAD = 120  # game minutes, unless `spread` is set


def facts_of(settings: Settings, locations: Sequence[Location], start_minute: int, owners: Iterable[str] = ()) -> Facts:
    agents = sum(owner.startswith("agent:") for owner in owners)
    spread = min(agents // CROWD, LONGEST_SPREAD) if settings.tuning.spread is None else settings.tuning.spread
    minutes, seconds = divmod(settings.seconds_per_tick, 60)
    return Facts(
        locations=tuple(locations),
        limits=settings.memory_limits(),
        minutes_per_tick=minutes,
        seconds=seconds,
        day_seconds=None if settings.day_seconds == DAY_SECONDS else settings.day_seconds,
        clock_names=None if settings.clock == STANDARD else settings.clock,
        start_minute=start_minute,
        morning=settings.morning,
        spread=min(spread, DAY - settings.morning),
        act_interval=settings.act_interval,
        retrieval=None if settings.retrieval == DEFAULT.name else settings.retrieval,
        kind_retrieval=settings.tuning.kind_retrieval,
        models=settings.asked_models(),
        ladders=settings.ladders(),
        response_cache=settings.response_cache and settings.llm == "openai",
        embeddings=settings.embedding_model(),
    )


#: Settings that a run is created with and keeps: on resume they override the environment's. All others are about the
#: machine, its endpoints and keys, its pace, and the money of a real day.
KEPT = fields_of("model", "time", "budget", "jobs", "memory", "events") - {
    "base_url",
    "api_key",
    "endpoints",
    "job_deadline",
    "record",
    "wait",
    "tick_rate",
    "real_day_tokens",
    "real_day_usd",
}

_PRICES = "prices"  # beside the settings: what a run counts the tokens of its models at, by name


def keep_settings(settings: Settings) -> str:
    """Return the settings that a run keeps, in their stored form, with the prices of its models as they are now."""
    kept: dict[str, object] = json.loads(settings.model_dump_json(include=set(KEPT)))
    kept |= {name: value for name, value in asdict(settings.tuning).items() if name in KEPT_TUNING}
    if prices := {price.name: price for price in settings.prices()}:
        kept[_PRICES] = msgspec.to_builtins(prices)
    return json.dumps(kept)


def check_kept(raw: bytes, over: Settings) -> None:
    """Check the kept settings of a run from elsewhere; `kept_settings` trusts those of this server.

    Raises:
        ValueError: when a run keeps no such setting, or one is not valid with the endpoints of `over`.
    """
    kept = typed_json.decode(raw, dict[str, Any])
    tuned = {name: kept.pop(name) for name in sorted(KEPT_TUNING & kept.keys())}
    prices = kept.pop(_PRICES, {})
    if unknown := sorted(kept.keys() - KEPT):
        raise ConfigurationError(f"a run does not keep the setting {quoted(unknown[0])}")
    typed_json.convert(tuned, Tuning)
    typed_json.convert(prices, dict[str, ModelPrice])
    PinnedSettings(**kept, endpoints=over.endpoints)


#: Why a setting that a run keeps cannot differ from a tick on.
FIXED: dict[str, str] = {
    **dict.fromkeys(("seconds_per_tick", "day_seconds", "clock"), "earlier ticks use the game time that it defines"),
    "apply": "open jobs were admitted with their due ticks",
    **dict.fromkeys(("policy", "policies"), "it determines how the existing memories are stored"),
    "embeddings": "its model computed the vectors of the existing memories",
}


def check_changeable(name: str) -> None:
    """Check that a setting may differ from a tick of a run on.

    Raises:
        ConfigurationError: naming the reason why it may not.
    """
    if name in FIXED:
        raise ConfigurationError(f"{name} cannot change within a run: {FIXED[name]}")
    if name not in KEPT:
        known = name in Settings.model_fields
        why = "it is not part of a run: set it where the run is hosted" if known else "there is no such setting"
        raise ConfigurationError(f"{quoted(name)} cannot change within a run: {why}")


def changed_settings(kept: bytes | str, given: Mapping[str, object], over: Settings) -> Settings:
    """Return the settings of a run with some changed; models that change have the prices of today.

    Args:
        kept: as a run keeps them.
        over: those of this machine.

    Raises:
        ConfigurationError: for a setting that cannot change, or cannot have its value.
    """
    for name in given:
        check_changeable(name)
    before = kept_settings(kept, over)
    values = {name: getattr(before, name) for name in sorted(KEPT)}
    checked = PinnedSettings(**values | dict(given), endpoints=over.endpoints, base_url=over.base_url)
    after = before.changed(**{name: getattr(checked, name) for name in sorted(KEPT)})
    prices = typed_json.convert(json.loads(kept).get(_PRICES, {}), dict[str, ModelPrice])
    models = {name: (model.model, model.endpoint) for name, model in before.model_table().items()}
    own = {"input_price", "output_price", "models"} & given.keys()
    now = after.with_prices({}).model_table()
    same = {name for name, model in now.items() if models.get(name) == (model.model, model.endpoint) and not own}
    return after.with_prices({name: price for name, price in prices.items() if name in same})


def with_conditions(facts: Facts, settings: Settings, templates: Mapping[str, str]) -> Facts:
    """Return the constants of a run whose settings and templates change."""
    new = facts_of(settings, (), 0)
    same = ("limits", "morning", "act_interval", "retrieval", "kind_retrieval", "models", "ladders", "response_cache")
    changed = {name: getattr(new, name) for name in same} | {"templates": facts.templates | dict(templates)}
    return msgspec.structs.replace(facts, **changed)


def kept_settings(raw: bytes | str, over: Settings | None = None) -> Settings:
    """Return the settings that a run was created with; all others come from `over` or the environment."""
    kept = json.loads(raw)
    if minutes := kept.pop("minutes_per_tick", None):  # of earlier versions
        kept["seconds_per_tick"] = 60 * minutes
    kept.pop("day_start", None)  # of earlier versions
    models = {name: ModelSettings.model_validate(model) for name, model in kept.get("models", {}).items()}
    named = kept.get("embeddings")  # None: a run of an earlier version has none either
    kept["embeddings"] = named and EmbeddingSettings.model_validate(named)
    prices = typed_json.convert(kept.pop(_PRICES, {}), dict[str, ModelPrice])
    return (over or Settings()).changed(**kept | {"models": models}).with_prices(prices)
