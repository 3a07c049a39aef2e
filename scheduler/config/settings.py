"""The class of all settings. It reads arguments, `COGITATE_*` variables and `cogitate.toml`, in order of precedence.

pydantic-settings handles precedence and validation; the command line passes its flags as keyword arguments.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import PrivateAttr, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from cogitate.memory.clock import DAY, Clock
from cogitate.memory.errors import InputError as InputError
from cogitate.memory.errors import quoted
from cogitate.memory.language.truncation import Truncation
from cogitate.memory.limits import MemoryLimits, Policy
from cogitate.memory.routing.routing import Routing
from cogitate.scheduler.config.embedding import IN_PROCESS, EmbeddingModel
from cogitate.scheduler.config.endpoints import DEFAULT, Endpoint, Model, ModelSettings, check_name
from cogitate.scheduler.config.limits import MAX_LIMIT, LimitTable
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.servers import Servers
from cogitate.scheduler.config.settings_faults import UNREADABLE, check_variables, nothing_is_set, read_tables, refusal
from cogitate.scheduler.config.settings_faults import ConfigurationError as ConfigurationError
from cogitate.scheduler.config.tables import (
    BudgetTable,
    EventsTable,
    JobsTable,
    JournalTable,
    MemoryTable,
    ModelTable,
    OperationTable,
    OutageTable,
    TimeTable,
    WorkersTable,
)
from cogitate.scheduler.config.tiers import Tier
from cogitate.scheduler.config.tuning import TUNED, Tuning, tuning_of_host
from cogitate.scheduler.intake.checks import check_owner

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_FLOAT = 1e9  # seconds or dollars: above any sensible value, and below the highest timeout of a socket
SURROGATES = re.compile("[\ud800-\udfff]")

Named = TypeVar("Named", Endpoint, ModelSettings)


def check_run_name(name: object) -> str:
    """Return the name of a run after validating it.

    Raises:
        ConfigurationError: if no run can have this name.
    """
    if not isinstance(name, str) or not RUN_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{quoted(name)} is not a run name: use 1 to 64 letters, digits, '.', '_' or '-', of which the first is a "
            "letter or a digit"
        )
    return str.__str__(name)


class Settings(
    EventsTable,
    MemoryTable,
    JournalTable,
    OutageTable,
    JobsTable,
    BudgetTable,
    TimeTable,
    ModelTable,
    OperationTable,
    WorkersTable,
    Servers,
    BaseSettings,
):
    """The settings of a run, its workers and its operators: the fields of all tables in one class."""

    model_config = SettingsConfigDict(env_prefix="COGITATE_", env_nested_delimiter="__", extra="forbid", frozen=True)

    _tuning: Tuning = PrivateAttr(default_factory=tuning_of_host)
    _kept_prices: dict[str, ModelPrice] = PrivateAttr(default_factory=dict)  # prices that a run stored, by model

    if not TYPE_CHECKING:  # mypy infers the arguments from the fields

        def __init__(self, /, **given: object) -> None:
            """Read the settings.

            Raises:
                ConfigurationError: naming each invalid value, or the file or variable that cannot be read.
            """
            try:
                if isinstance(self, PinnedSettings) or nothing_is_set():
                    super(BaseSettings, self).__init__(**given)  # pydantic-settings takes 6 ms to find nothing
                else:
                    super().__init__(**given)
            except UNREADABLE as error:
                raise refusal(
                    error, given, {name: field.annotation for name, field in type(self).model_fields.items()}
                ) from None

    @property
    def tuning(self) -> Tuning:
        """Return the constants that Cogitate decides itself."""
        return self._tuning

    @classmethod
    def tuned(cls, **given: Any) -> Self:
        """Return settings from arguments that may include values of `Tuning`, for tests and benchmarks."""
        return cls(**{name: value for name, value in given.items() if name not in TUNED}).changed(
            **{name: value for name, value in given.items() if name in TUNED}
        )

    def changed(self, **given: Any) -> Self:
        """Return a copy with these values, unvalidated; they may include values of `Tuning`."""
        settings = self.model_copy(update={name: value for name, value in given.items() if name not in TUNED})
        settings._tuning = replace(self._tuning, **{name: given[name] for name in sorted(TUNED & given.keys())})
        return settings

    @field_validator("*", mode="before")
    @classmethod
    def _type(cls, value: object, info: ValidationInfo) -> object:
        """Refuse text with surrogates, and a boolean for a number."""
        annotation = str(cls.model_fields[info.field_name or ""].annotation)
        for item in (value, *value.values()) if isinstance(value, dict) else (value,):
            if isinstance(item, bool) and "bool" not in annotation:
                raise ValueError("true and false are not numbers")
            text = item.get_secret_value() if isinstance(item, SecretStr) else item
            if isinstance(text, str) and "Path" not in annotation and not text.isascii() and SURROGATES.search(text):
                raise ValueError("it holds an invalid character: a byte that is not UTF-8, or half of a surrogate pair")
        return value

    @field_validator("*")
    @classmethod
    def _within_bounds(cls, value: object) -> object:
        """Refuse numbers beyond what clocks, sockets and the ledger's scripts can hold."""
        if isinstance(value, float) and not abs(value) <= MAX_FLOAT:
            raise ValueError(f"{value:g} is not between 0 and {MAX_FLOAT:g}")
        if isinstance(value, int) and abs(value) > MAX_LIMIT:
            raise ValueError(f"an integer of {value.bit_length()} bits is above {MAX_LIMIT}")
        return value

    @field_validator("data_dir", "prompts")
    @classmethod
    def _folder(cls, value: Path | None) -> Path | None:
        """Refuse names that no file system can hold."""
        if value is not None and (b"\0" in os.fsencode(value)):
            raise ValueError(f"{quoted(str(value))} names no folder")
        return value

    @field_validator("endpoints", "models")
    @classmethod
    def _names(cls, value: dict[str, Named]) -> dict[str, Named]:
        return {check_name(name): value[name] for name in sorted(value)}

    @model_validator(mode="after")
    def _endpoints(self) -> Settings:
        known = self.endpoint_table()
        for name, model in self.models.items():
            if model.model is None and name != DEFAULT:
                raise ValueError(f"models.{name} names no model: set models.{name}.model to its endpoint's name for it")
            if model.endpoint not in known:
                raise ValueError(
                    f"model {name!r} is at the endpoint {model.endpoint!r}, which is not configured; "
                    f"there are {', '.join(known)}"
                )
        if self.embeddings is not None and self.embeddings.endpoint not in (IN_PROCESS, *known):
            raise ValueError(
                f"embeddings names the endpoint {self.embeddings.endpoint!r}, which is not configured; "
                f"there are {', '.join(known)}, and {IN_PROCESS!r} for workers that compute vectors themselves"
            )
        return self

    @model_validator(mode="after")
    def _tiers(self) -> Settings:
        known = self.model_table()
        tables = [("tiers", self.tiers), *(("kind_tiers", table) for _, table in sorted(self.kind_tiers.items()))]
        named = [(f"{where}: the {tier} tier", name) for where, table in tables for tier, name in sorted(table.items())]
        for setting, name in [*named, *(("failover", name) for name in self.failover)]:
            if name not in known:
                raise ValueError(
                    f"{setting} names the model {name!r}, which is not configured; there are {', '.join(known)}"
                )
        return self

    @field_validator("limits")
    @classmethod
    def _limits(cls, value: dict[str, int]) -> dict[str, int]:
        for name, _ in LimitTable(value):  # not applied to a resumed run, whose owners may have names of earlier rules
            if name.owner:
                check_owner(name.owner)
        return value

    @field_validator("policies")
    @classmethod
    def _policies(cls, value: dict[str, Policy]) -> dict[str, Policy]:
        for name in value:
            if name.partition(":")[0] not in ("agent", "npc", "location"):
                raise ValueError(
                    f"{name[:80]!r} cannot have a policy: name an owner such as 'npc:smith', or a scope: agent, "
                    "npc, location (groups and the world keep a shared history)"
                )
            if ":" in name:
                check_owner(name)
        return dict(sorted(value.items()))

    @model_validator(mode="after")
    def _guarantees(self) -> Settings:
        total = sum(self.guarantees.values())
        if total > 1:
            raise ValueError(f"guarantees are shares of one limit: {self.guarantees} adds up to {total:g}, more than 1")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in their order of precedence: arguments, environment, `cogitate.toml`."""
        check_variables(settings_cls.model_fields)
        return init_settings, env_settings, InitSettingsSource(settings_cls, read_tables())

    @model_validator(mode="after")
    def _clock(self) -> Settings:
        shown = {"seconds_per_tick": self.seconds_per_tick, "day_seconds": self.day_seconds}
        if "rounds" in self.clock and self.seconds_per_tick * DAY < self.day_seconds:
            raise ValueError(f"clock={self.clock!r} needs rounds of a game minute or more, not {shown}")
        if self.clock == "months" and self.seconds_per_tick < self.day_seconds:
            raise ValueError(f"clock='months' needs ticks of a day or more, not {shown}")
        return self

    def game_clock(self, start: int = 0) -> Clock:
        """Return the clock of a run with these settings, whose tick 0 has the game time `start`."""
        return Clock(
            seconds_per_tick=self.seconds_per_tick, day_seconds=self.day_seconds, start=start, names=self.clock
        )

    def endpoint_table(self) -> dict[str, Endpoint]:
        """Return the endpoints by name, sorted; the short settings complete "default"."""
        given = self.endpoints.get(DEFAULT, Endpoint())
        short: dict[str, object] = {} if given.base_url is not None else {"base_url": self.base_url}
        if not {"api_key", "api_key_variable"} & given.model_fields_set:
            short["api_key"] = self.api_key
        return dict(sorted((self.endpoints | {DEFAULT: given.model_copy(update=short)}).items()))

    def model_table(self) -> dict[str, Model]:
        """Return the models in the form that a run stores, sorted by name; the short settings complete "default"."""
        urls, models = self._urls(), self._model_settings()
        return {name: model.kept_as(name, self._price(name, model, urls)) for name, model in models.items()}

    def prices(self) -> tuple[ModelPrice, ...]:
        """Return the prices of the models that jobs of a run may get, sorted by name."""
        asked, urls, models = {model.name for model in self.asked_models()}, self._urls(), self._model_settings()
        return tuple(self._price(name, model, urls) for name, model in models.items() if name in asked)

    def with_prices(self, prices: dict[str, ModelPrice]) -> Self:
        """Return settings whose models have these prices instead of the table's.

        Args:
            prices: by name of the model.
        """
        settings = self.model_copy()
        settings._kept_prices = prices
        return settings

    def _price(self, name: str, model: ModelSettings, urls: dict[str, str | None]) -> ModelPrice:
        return self._kept_prices.get(name) or model.price(name, urls.get(model.endpoint))

    def _urls(self) -> dict[str, str | None]:
        return {name: endpoint.base_url for name, endpoint in self.endpoint_table().items()}

    def _model_settings(self) -> dict[str, ModelSettings]:
        given = self.models.get(DEFAULT, ModelSettings())
        short = {"model": self.model, "input_price": self.input_price, "output_price": self.output_price}
        missing = {name: value for name, value in short.items() if getattr(given, name) is None}
        default = given.model_copy(update=missing)
        return dict(sorted((self.models | {DEFAULT: default}).items()))

    def tier_models(self, kind: str) -> dict[Tier, str]:
        """Return the names of a kind's two models, which may be the same."""
        named = self.tiers | self.kind_tiers.get(kind, {})
        routine = named.get("routine", DEFAULT)
        return {"routine": routine, "strong": named.get("strong", routine)}

    def ladder(self, kind: str) -> tuple[str, ...]:
        """Return the names of the models that may answer jobs of a kind, in the order of asking."""
        named = self.tier_models(kind)
        return tuple(dict.fromkeys((named["strong"], named["routine"], *self.failover)))

    def ladders(self) -> dict[str, tuple[str, ...]]:
        """Return the ladders by kind, "" standing for all other kinds; none if each has a single model."""
        if self.llm != "openai":
            return {}
        ladders = {kind: self.ladder(kind) for kind in ["", *sorted(self.kind_tiers)]}
        return ladders if any(len(ladder) > 1 for ladder in ladders.values()) else {}

    def asked_models(self) -> tuple[Model, ...]:
        """Return the models that jobs of a run may get, sorted by name; none if jobs use heuristics only."""
        if self.llm != "openai":
            return ()
        named = {model for kind in ["", *self.kind_tiers] for model in self.ladder(kind)}
        return tuple(model for name, model in self.model_table().items() if name in named)

    def embedding_model(self) -> EmbeddingModel | None:
        """Return the embedding model of a run; None if jobs ask no model or reuse stored answers.

        A stored answer belongs to one prompt, and the prompt's memories must not depend on which vectors had arrived.
        """
        used = self.embeddings is not None and self.llm == "openai" and not self.response_cache
        return self.embeddings.kept() if used and self.embeddings is not None else None

    def shared_turn(self, kind: str) -> int:
        """Return the ticks between turns at which all owners request a kind together; 1: its calls are not packed.

        The kind must gather its requests (`cogitate.tasks.kind.Kind.gathers`).
        """
        models, clock = self._model_settings(), self.game_clock()
        packs = self.llm == "openai" and any(models[name].pack == "auto" for name in self.tier_models(kind).values())
        if not packs or not clock.has_times:
            return 1
        turn = clock.ticks(self.tuning.pack_wait)
        return max(1, min(turn, self.act_interval // 2) if kind == "act" else turn)

    def limit_table(self) -> LimitTable:
        """Return the limits in force, including `limit_tokens` and `limit_usd`."""
        limits = (
            {"tick.kind:act.calls": self.tuning.act_per_tick * self.shared_turn("act")} if self.act_interval else {}
        )
        limits |= self.limits
        if self.limit_tokens is not None:
            limits["run.run.tokens"] = self.limit_tokens
        if self.limit_usd is not None:
            limits["run.run.usd_micros"] = round(self.limit_usd * 1_000_000)
        return LimitTable(limits)

    def memory_limits(self) -> MemoryLimits:
        """Return the limits of every owner's memory."""
        other: dict[str, Any] = {
            "retention": self.retention_days * 1440,
            "max_history": self.tuning.public_history_max_length,
        }
        same = (name for name in MemoryLimits.__struct_fields__ if name not in other)
        return MemoryLimits(**other, **{name: getattr(self.tuning if name in TUNED else self, name) for name in same})

    def routing(self) -> Routing:
        """Return the routing of events, with the event types of the routing design."""
        truncation = Truncation(
            statement=self.tuning.statement_max_length,
            reasoning=self.tuning.reasoning_max_length,
            enabled=self.tuning.enable_truncation,
        )
        return Routing(style=self.guidance_style, truncation=truncation)

    def adapts(self) -> bool:
        """Return whether the due ticks of jobs that ask a model follow its latency."""
        if self.tuning.adaptive_latency is not None:
            return self.tuning.adaptive_latency and self.llm == "openai"
        return self.llm == "openai" and self.tick_rate is not None and self.wait_seconds() == 0

    def wait_seconds(self) -> float:
        """Return how long a boundary waits for due results, in real seconds."""
        if self.wait is not None:
            return self.wait
        return 60.0 if self.tick_rate is None else 0.0


class PinnedSettings(Settings):
    """Settings from arguments and defaults only, without the environment and `cogitate.toml`."""
