"""Every setting, from flags, `COGITATE_*` variables and `cogitate.toml`, in that order.

Precedence and validation are pydantic-settings'; the command line passes its flags as keyword arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from memory.entry import MAX_TEXT
from memory.errors import InputError as InputError
from memory.errors import quoted
from memory.language.truncation import LEAST, Truncation
from memory.limits import Cause, MemoryLimits, Policy
from memory.routing.routing import Routing, Style
from memory.trigger import DEFAULT_TRIGGER
from scheduler.config.limits import LimitName, LimitTable
from scheduler.config.model_choice import ModelChoice
from scheduler.config.server_settings import SERVER_FILE as SERVER_FILE
from scheduler.config.server_settings import ConfigurationError as ConfigurationError
from scheduler.config.settings_faults import UNREADABLE, check_file, refusal
from scheduler.intake.checks import check_owner

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_run_name(name: object) -> str:
    """The name, if a run can be called so.

    Raises:
        ConfigurationError: when it cannot.
    """
    if not isinstance(name, str) or not RUN_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{quoted(name)} is not a run name: use 1 to 64 letters, digits, '.', '_' or '-', the first no sign"
        )
    return str.__str__(name)


class Settings(ModelChoice):
    """What a run, its workers and its operators need to know. Every field has a working default."""

    model_config = SettingsConfigDict(
        env_prefix="COGITATE_", env_nested_delimiter="__", toml_file="cogitate.toml", extra="forbid", frozen=True
    )

    # Time
    minutes_per_tick: int = Field(1, ge=1, le=60)
    morning: int = Field(360, ge=0, lt=1440)  # minutes after 00:00
    apply: Literal["due", "ready"] = "due"
    wait: float | None = Field(None, ge=0)  # seconds a boundary waits for what is due; None: 60 unpaced, 0 paced
    tick_rate: Annotated[float | None, BeforeValidator(lambda given: None if given == "max" else given)] = Field(
        None, gt=0
    )  # ticks per second; None or "max": as fast as they can
    latency: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)  # ticks to due, fixed, by kind
    adaptive_latency: bool | None = None  # due ticks follow the models' latencies; None: where ticks do not wait

    disable: tuple[str, ...] = ()  # kinds of job that are switched off: never due, refused when they are asked for

    # Budgets. The default is of each owner, so that it grows with a town; without a model it binds nobody.
    limits: dict[str, int] = Field(default_factory=lambda: {"day.owner:*.calls": 40})
    limit_tokens: int | None = Field(None, ge=1)  # the run's limit in tokens
    limit_usd: float | None = Field(None, gt=0)  # the run's limit in dollars
    real_day_tokens: int | None = Field(None, ge=1)  # limit of all runs together, per real day in UTC
    real_day_usd: float | None = Field(None, gt=0)
    retry_share: float = Field(0.2, ge=0, lt=1)  # part of each limit kept for further attempts
    guarantees: dict[str, Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]] = Field(
        default_factory=lambda: {"plan": 0.15, "reflect": 0.15}
    )  # share of run limits
    last_call: dict[str, Annotated[int, Field(ge=0, le=1440)]] = Field(
        default_factory=lambda: {"plan": 720}
    )  # minute of the day a guarantee ends

    # Choosing actions: for agents that their host calls free, each at ticks of its own
    act_interval: int = Field(120, ge=0)  # ticks between two choices of an agent; 0: none are made
    act_per_tick: int = Field(5, ge=1)  # calls a tick for all of them, further attempts included

    # What is left of a day's budget repairs what had to be made by heuristic, from this minute after 00:00; 1440: never
    repair_from: int = Field(1200, ge=0, le=1440)

    # Throttling: reflections come more rarely while results are late, calls fail or the day's budget runs short
    throttle_auto: bool = True  # otherwise only `cogitate throttle` changes their cadence
    throttle_interval: int = Field(60, ge=1, le=1440)  # game minutes between two steps
    throttle_least: float = Field(0.125, ge=0.001, le=1)  # share of the usual cadence that the controller keeps

    # Safety of attempts
    lease: float = Field(15.0, gt=0)  # seconds without a heartbeat after which the host expires an attempt
    hint_interval: float = Field(1.0, gt=0)  # seconds after which an unclaimed job's message is repeated
    claim_cap: int = Field(4, ge=1, le=20)

    # When Redis is away
    on_outage: Literal["pause", "carry_on"] = "pause"
    outage_wait: float = Field(60.0, ge=0)  # seconds that a host waits for it, with "carry_on" only at the end
    outage_buffer: int = Field(64_000_000, ge=1)  # bytes of ticks that a host which carries on may keep
    # The circuit breaker before each endpoint
    breaker_failures: int = Field(10, ge=1)  # in a row, after which it opens
    breaker_share: float = Field(0.6, gt=0, le=1)  # of the latest calls that failed, at which it opens
    breaker_window: int = Field(50, ge=1, le=10_000)  # how many calls these are
    breaker_pause: float = Field(5.0, gt=0)  # seconds until one call tries the endpoint; doubles with each that fails
    breaker_longest_pause: float = Field(300.0, gt=0)  # seconds

    # Journal
    journal_keep: int | None = Field(None, ge=1)  # whole game days kept in Redis; None: all
    journal_export: bool = True  # write what is removed to files in the data folder first

    # Memory
    max_text: int = Field(MAX_TEXT, ge=100, le=MAX_TEXT)  # characters of what is observed; longer text is refused
    max_observations: int = Field(200, ge=1)
    max_reflections: int = Field(50, ge=1)
    max_plans: int = Field(7, ge=1)
    importance_threshold: int = Field(5, ge=1, le=10)
    reflection_interval: int = Field(720, ge=1)  # game minutes
    reflection_trigger: Cause = "interval"  # or "importance": when enough has happened; or "either"
    reflection_trigger_max: int = Field(DEFAULT_TRIGGER, ge=1)  # accumulated importance that is enough
    summary_threshold: int = Field(5, ge=2)
    rate_share: float = Field(0.2, ge=0, le=1)  # of the entries that a host leaves unrated: a model is asked about them
    coalesce: bool = True  # count repeats of an observation on the entry they repeat, instead of storing them
    retention_days: int = Field(2, ge=0)
    max_archived: int | None = Field(None, ge=0)  # entries; None: all of the retention
    policy: Policy = "stream"  # how memories are kept within bounds: streams, cells or window
    policies: dict[str, Policy] = Field(default_factory=dict)  # of an owner ("npc:smith") or a scope ("npc")
    on_failure: Literal["heuristic", "unchanged"] = "heuristic"  # what is remembered where a model failed to sum up
    cells: int = Field(5, ge=1, le=1_000)
    token_limit: int = Field(4_000, ge=1)  # of long-term summary, buffer and character together, per owner
    compress_at: float = Field(0.8, gt=0, le=1)  # share of the token limit
    compress_to: float = Field(0.6, gt=0, le=1)
    retain: int = Field(3, ge=0)  # newest entries that are not compressed
    passes: int = Field(2, ge=1, le=10)
    public_history_max_length: int = Field(100_000, ge=MAX_TEXT)  # characters of a group's or the world's history
    recount_on_failure: Literal["unchanged", "heuristic"] = "unchanged"  # the same for memories of scopes

    # Events (routing design)
    guidance_style: Style = "narrative"
    statement_max_length: int = Field(300, ge=LEAST, le=MAX_TEXT)  # characters, the "..." of a cut included
    reasoning_max_length: int = Field(200, ge=LEAST, le=MAX_TEXT)
    enable_truncation: bool = True

    if not TYPE_CHECKING:  # mypy knows the arguments from the fields

        def __init__(self, /, **given: Any) -> None:
            """Read the settings.

            Raises:
                ConfigurationError: naming each value that cannot be used, or the file or variable that cannot be read.
            """
            try:
                super().__init__(**given)
            except UNREADABLE as error:
                raise refusal(error, given, type(self).model_fields) from None

    @field_validator("limits")
    @classmethod
    def _limits(cls, value: dict[str, int]) -> dict[str, int]:
        check_owners(name for name, _ in LimitTable(value))
        return value

    @field_validator("policies")
    @classmethod
    def _policies(cls, value: dict[str, Policy]) -> dict[str, Policy]:
        for name in value:
            if name.partition(":")[0] not in ("agent", "npc", "location"):
                raise ValueError(
                    f"{name[:80]!r} has no policy of its own: name an owner such as 'npc:smith', or a scope: agent, "
                    "npc, location (groups and the world keep a shared history)"
                )
            if ":" in name:
                check_owner(name)
        return dict(sorted(value.items()))

    @model_validator(mode="after")
    def _compression(self) -> Settings:
        if self.compress_to > self.compress_at:
            raise ValueError(
                f"compress_to {self.compress_to:g} must not be above compress_at {self.compress_at:g}: compression "
                "would never bring the tokens below where it begins"
            )
        return self

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
        """Flags, then environment, then `cogitate.toml`."""
        check_file()
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def limit_table(self) -> LimitTable:
        """The limits in force, the run's limits in tokens and dollars included."""
        limits = {"tick.kind:act.calls": self.act_per_tick} if self.act_interval else {}
        limits |= self.limits
        if self.limit_tokens is not None:
            limits["run.run.tokens"] = self.limit_tokens
        if self.limit_usd is not None:
            limits["run.run.usd_micros"] = round(self.limit_usd * 1_000_000)
        return LimitTable(limits)

    def memory_limits(self) -> MemoryLimits:
        """The limits of every owner's memory."""
        return MemoryLimits(
            max_observations=self.max_observations,
            max_reflections=self.max_reflections,
            max_plans=self.max_plans,
            importance_threshold=self.importance_threshold,
            reflection_interval=self.reflection_interval,
            reflection_trigger=self.reflection_trigger,
            reflection_trigger_max=self.reflection_trigger_max,
            summary_threshold=self.summary_threshold,
            retention=self.retention_days * 1440,
            max_archived=self.max_archived,
            policy=self.policy,
            policies=self.policies,
            on_failure=self.on_failure,
            cells=self.cells,
            token_limit=self.token_limit,
            compress_at=self.compress_at,
            compress_to=self.compress_to,
            retain=self.retain,
            passes=self.passes,
            max_history=self.public_history_max_length,
            recount_on_failure=self.recount_on_failure,
        )

    def routing(self) -> Routing:
        """What becomes of events, with the event types of the routing design."""
        truncation = Truncation(
            statement=self.statement_max_length, reasoning=self.reasoning_max_length, enabled=self.enable_truncation
        )
        return Routing(style=self.guidance_style, truncation=truncation)

    def adapts(self) -> bool:
        """Return whether due ticks of jobs that ask a model follow its latency."""
        if self.adaptive_latency is not None:
            return self.adaptive_latency and self.llm == "openai"
        return self.llm == "openai" and self.tick_rate is not None and self.wait_seconds() == 0

    def wait_seconds(self) -> float:
        """How long a boundary waits in real time for what is due."""
        if self.wait is not None:
            return self.wait
        return 60.0 if self.tick_rate is None else 0.0


class PinnedSettings(Settings):
    """Settings as they are given, otherwise the defaults: neither the environment nor `cogitate.toml` is read."""

    model_config = SettingsConfigDict(toml_file=None)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return nothing but what is given."""
        return (init_settings,)


def check_owners(limits: Iterable[LimitName]) -> None:
    """Check the owners that limits name. A run that has others already goes on with them.

    Raises:
        InputError: for one that nobody can be called.
    """
    for name in limits:
        if name.owner:
            check_owner(name.owner)
