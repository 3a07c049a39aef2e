"""The configuration that a run stores: its settings, and the constants that workers compute from."""

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
    """A run's constants, as the ledger stores them. Workers compute from these, never from their own settings."""

    locations: tuple[Location, ...] = ()
    limits: MemoryLimits = MemoryLimits()
    minutes_per_tick: int = 1
    seconds: int = 0  # of a tick beyond its minutes
    # None: the defaults of `Clock`. msgspec omits a default only if it is the same object, which for a large number or
    # a string is not certain, so the encoding would vary.
    day_seconds: int | None = None
    clock_names: str | None = None
    start_minute: int = 0  # game time of tick 0
    morning: int = 360
    spread: int = 0  # minutes
    act_interval: int = 0  # ticks; 0: agents choose no actions
    names: dict[str, str] = msgspec.field(default_factory=dict)
    # How memories are scored; None: the default profile. Not a string, for the same reason as `clock_names`.
    retrieval: ProfileChoice | None = None
    scope_names: dict[str, str] = msgspec.field(default_factory=dict)  # of owners that are not agents
    routines: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict)  # of groups and the world
    languages: dict[str, str] = msgspec.field(default_factory=dict)  # of groups and the world
    spoken: str | None = None  # the language of all profiles together, if not English
    models: tuple[Model, ...] = ()  # models that jobs may name; none: jobs use heuristics
    ladders: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)  # models by kind, in the order of asking
    response_cache: bool = False  # workers reuse answers of earlier runs
    embeddings: EmbeddingModel | None = None  # None: retrieval compares words only
    templates: dict[str, str] = msgspec.field(default_factory=dict)  # prompt templates that a fork changed, by name

    @property
    def profile(self) -> ProfileChoice:
        return DEFAULT.name if self.retrieval is None else self.retrieval

    def model(self, kind: str, name: str) -> Model | None:
        """Return a model with its parameters for a kind; None if the run has no such model."""
        return next((model.asked_by(kind) for model in self.models if model.name == name), None)

    def below(self, kind: str, model: str) -> tuple[Model, ...]:
        """Return the models below this one on a kind's ladder, with their parameters for the kind."""
        ladder = self.ladders.get(kind, self.ladders.get("", ()))
        names = ladder[ladder.index(model) + 1 :] if model in ladder else ()
        return tuple(lower for name in names if (lower := self.model(kind, name)) is not None)

    def world(self) -> WorldFacts:
        """Return the constants that kinds of job may read."""
        same = {field.name: getattr(self, field.name) for field in fields(WorldFacts) if field.name != "retrieval"}
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


CROWD = 50  # agents that plan in the same game minute, unless `spread` is set
LONGEST_SPREAD = 120  # game minutes over which agents plan at most, unless `spread` is set


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
        models=settings.asked_models(),
        ladders=settings.ladders(),
        response_cache=settings.response_cache and settings.llm == "openai",
        embeddings=settings.embedding_model(),
    )


#: The settings that a run stores at its creation; when a host resumes it, they override the environment's. All others
#: describe the machine, its endpoints and keys, the pace, and the limits of a real day.
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

_REMOVED = ("day_start", "kind_retrieval")  # stored by runs of earlier versions
_PRICES = "prices"  # stored with the settings: the prices at which a run counts its models' tokens, by model


def keep_settings(settings: Settings) -> str:
    """Return the stored form of the settings that a run keeps, with the current prices of its models."""
    kept: dict[str, object] = json.loads(settings.model_dump_json(include=set(KEPT)))
    kept |= {name: value for name, value in asdict(settings.tuning).items() if name in KEPT_TUNING}
    if prices := {price.name: price for price in settings.prices()}:
        kept[_PRICES] = msgspec.to_builtins(prices)
    return json.dumps(kept)


def check_kept(raw: bytes, over: Settings) -> None:
    """Check the stored settings of a run from another server; `kept_settings` trusts those of this one.

    Raises:
        ValueError: if a run does not keep such a setting, or a value is invalid with the endpoints of `over`.
    """
    kept = {name: value for name, value in typed_json.decode(raw, dict[str, Any]).items() if name not in _REMOVED}
    tuned = {name: kept.pop(name) for name in sorted(KEPT_TUNING & kept.keys())}
    prices = kept.pop(_PRICES, {})
    if unknown := sorted(kept.keys() - KEPT):
        raise ConfigurationError(f"a run does not keep the setting {quoted(unknown[0])}")
    typed_json.convert(tuned, Tuning)
    typed_json.convert(prices, dict[str, ModelPrice])
    PinnedSettings(**kept, endpoints=over.endpoints)


#: Settings that a run keeps and that cannot change at one of its ticks, each with the reason.
FIXED: dict[str, str] = {
    **dict.fromkeys(("seconds_per_tick", "day_seconds", "clock"), "earlier ticks use the game time that it defines"),
    "apply": "open jobs were admitted with their due ticks",
    **dict.fromkeys(("policy", "policies"), "it determines how the existing memories are stored"),
    "embeddings": "its model computed the vectors of the existing memories",
}


def check_changeable(name: str) -> None:
    """Check that a setting can change at a tick of a run.

    Raises:
        ConfigurationError: naming the reason why it cannot.
    """
    if name in FIXED:
        raise ConfigurationError(f"{name} cannot change within a run: {FIXED[name]}")
    if name not in KEPT:
        known = name in Settings.model_fields
        why = "it is not part of a run: set it where the run is hosted" if known else "there is no such setting"
        if name.partition(".")[0] == "cadence":
            why += "; `cogitate throttle` sets how often agents reflect"
        raise ConfigurationError(f"{quoted(name)} cannot change within a run: {why}")


def changed_settings(kept: bytes | str, given: Mapping[str, object], over: Settings) -> Settings:
    """Return the settings of a run with some of them changed; a changed model gets its current price.

    Args:
        kept: the run's settings in their stored form.
        over: the settings of this machine.

    Raises:
        ConfigurationError: for a setting that cannot change, or an invalid value.
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
    """Return a run's constants after a change of its settings and templates."""
    new = facts_of(settings, (), 0)
    same = ("limits", "morning", "act_interval", "retrieval", "models", "ladders", "response_cache")
    changed = {name: getattr(new, name) for name in same} | {"templates": facts.templates | dict(templates)}
    return msgspec.structs.replace(facts, **changed)


def kept_settings(raw: bytes | str, over: Settings | None = None) -> Settings:
    """Return the settings that a run stored at its creation; all others come from `over` or the environment."""
    kept = {name: value for name, value in json.loads(raw).items() if name not in _REMOVED}
    if minutes := kept.pop("minutes_per_tick", None):  # from earlier versions
        kept["seconds_per_tick"] = 60 * minutes
    models = {name: ModelSettings.model_validate(model) for name, model in kept.get("models", {}).items()}
    named = kept.get("embeddings")  # missing in runs of earlier versions
    kept["embeddings"] = named and EmbeddingSettings.model_validate(named)
    prices = typed_json.convert(kept.pop(_PRICES, {}), dict[str, ModelPrice])
    return (over or Settings()).changed(**kept | {"models": models}).with_prices(prices)
