"""Every setting, from flags, `COGITATE_*` variables and `cogitate.toml`, in that order.

Precedence and validation are pydantic-settings'; the command line passes its flags as keyword arguments.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from memory.entry import MAX_TEXT
from memory.limits import Cause, MemoryLimits, Policy
from memory.routing import Routing, Style
from memory.trigger import DEFAULT_TRIGGER
from memory.truncation import LEAST, Truncation
from scheduler.endpoints import DEFAULT, Endpoint, Model, ModelSettings, check_name
from scheduler.limits import LimitTable

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SERVER_FILE = "server.json"  # in the data folder: where its embedded server listens


class ConfigurationError(ValueError):
    """The configuration cannot be used; the message says which value and what to do."""


def check_run_name(name: str) -> str:
    """The name, if a run can be called so.

    Raises:
        ConfigurationError: when it cannot.
    """
    if not RUN_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name[:80]!r} is not a run name: use 1 to 64 letters, digits, '.', '_' or '-', the first no sign"
        )
    return name


class Settings(BaseSettings):
    """What a run, its workers and its operators need to know. Every field has a working default."""

    model_config = SettingsConfigDict(
        env_prefix="COGITATE_", env_nested_delimiter="__", toml_file="cogitate.toml", extra="forbid", frozen=True
    )

    # Where things are
    data_dir: Path = Path(".cogitate")
    redis_url: SecretStr | None = None  # state; unset: a Valkey embedded in the data folder
    broker_url: SecretStr | None = None  # messages; unset: database 1 of the state's server
    socket_timeout: float = Field(5.0, gt=0)  # seconds, for every Redis client

    prompts: Annotated[Path, AfterValidator(Path.absolute)] | None = None  # templates that go before ours of that name

    kinds: tuple[str, ...] = ()  # modules of the host's own that register kinds when they are imported

    # Workers
    workers: int = Field(2, ge=0, le=64)  # processes started by `cogitate run`; 0: they are started by hand
    concurrency: int = Field(8, ge=1, le=1000)  # jobs in flight in each

    # Models. The first five are the endpoint and the model called "default", where the tables name none.
    llm: Literal["heuristic", "openai"] = "heuristic"
    model: str = "gpt-4o-mini"
    base_url: str | None = None  # None: the client's own default endpoint
    api_key: SecretStr | None = None  # None: OPENAI_API_KEY
    input_price: int = Field(150_000, ge=0)  # micro-dollars per million tokens
    output_price: int = Field(600_000, ge=0)
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)  # by name
    models: dict[str, ModelSettings] = Field(default_factory=dict)  # by name
    job_deadline: float = Field(60.0, gt=0)  # seconds for one attempt, retries of the transport included

    # Time
    minutes_per_tick: int = Field(1, ge=1, le=60)
    morning: int = Field(360, ge=0, lt=1440)  # minutes after 00:00
    apply: Literal["due", "ready"] = "due"
    wait: float | None = Field(None, ge=0)  # seconds a boundary waits for what is due; None: 60 unpaced, 0 paced
    tick_rate: Annotated[float | None, BeforeValidator(lambda given: None if given == "max" else given)] = Field(
        None, gt=0
    )  # ticks per second; None or "max": as fast as they can
    latency: dict[str, int] = Field(default_factory=dict)  # ticks from enqueue to due, by kind

    # Budgets. The default for a tick binds where all of a town plan at the same minute: the rest plan by heuristic.
    limits: dict[str, int] = Field(
        default_factory=lambda: {
            "tick.run.calls": 20,
            "day.run.calls": 600,
            "day.kind:reflect.calls": 60,
            "day.kind:act.calls": 200,
        }
    )
    limit_tokens: int | None = Field(None, ge=1)  # the run's limit in tokens
    limit_usd: float | None = Field(None, gt=0)  # the run's limit in dollars
    retry_share: float = Field(0.2, ge=0, lt=1)  # part of each limit kept for further attempts
    guarantees: dict[str, float] = Field(default_factory=lambda: {"plan": 0.15, "reflect": 0.15})  # share of run limits
    last_call: dict[str, int] = Field(default_factory=lambda: {"plan": 720})  # minute of the day a guarantee ends

    # Choosing actions: for agents that their host calls free, each at ticks of its own
    act_interval: int = Field(120, ge=0)  # ticks between two choices of an agent; 0: none are made
    act_per_tick: int = Field(5, ge=1)  # calls a tick for all of them, further attempts included

    # What is left of a day's budget repairs what had to be made by heuristic, from this minute after 00:00; 1440: never
    repair_from: int = Field(1200, ge=0, le=1440)

    # Safety of attempts
    lease: float = Field(15.0, gt=0)  # seconds without a heartbeat after which the host expires an attempt
    hint_interval: float = Field(1.0, gt=0)  # seconds after which an unclaimed job's message is repeated
    claim_cap: int = Field(4, ge=1, le=20)

    # Memory
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
    policy: Policy = "stream"  # how memories are kept within bounds: spec 3's stream, spec 1's cells, spec 4's tokens
    policies: dict[str, Policy] = Field(default_factory=dict)  # of an owner ("npc:smith") or a scope ("npc")
    on_failure: Literal["heuristic", "unchanged"] = "heuristic"  # what is remembered where a model failed to sum up
    cells: int = Field(5, ge=1, le=1_000)
    token_limit: int = Field(4_000, ge=1)  # of long-term summary, buffer and character together, per owner
    compress_at: float = Field(0.8, gt=0, le=1)  # share of the token limit
    compress_to: float = Field(0.6, gt=0, le=1)
    retain: int = Field(3, ge=0)  # newest entries that are not compressed
    passes: int = Field(2, ge=1, le=10)
    public_history_max_length: int = Field(100_000, ge=MAX_TEXT)  # characters of a group's or the world's history
    recount_on_failure: Literal["unchanged", "heuristic"] = "unchanged"  # the same for memories of scopes (spec 5)

    # Events (spec 2)
    guidance_style: Style = "narrative"
    statement_max_length: int = Field(300, ge=LEAST, le=MAX_TEXT)  # characters, the "..." of a cut included
    reasoning_max_length: int = Field(200, ge=LEAST, le=MAX_TEXT)
    enable_truncation: bool = True

    @field_validator("limits")
    @classmethod
    def _limits(cls, value: dict[str, int]) -> dict[str, int]:
        LimitTable(value)
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
        return dict(sorted(value.items()))

    @field_validator("redis_url", "broker_url")
    @classmethod
    def _url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            return value
        shown = value.get_secret_value().partition("@")[2] or value.get_secret_value()
        raise ValueError(f"{shown!r} is not a Redis URL: it must begin with redis://, rediss:// or unix://")

    @field_validator("endpoints", "models")
    @classmethod
    def _names(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {check_name(name): value[name] for name in sorted(value)}

    @model_validator(mode="after")
    def _endpoints(self) -> Settings:
        known = self.endpoint_table()
        for name, model in self.models.items():
            if model.endpoint not in known:
                raise ValueError(
                    f"model {name!r} is at the endpoint {model.endpoint!r}, which is not configured; "
                    f"there are {', '.join(known)}"
                )
        return self

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
        if total > 1 or any(share < 0 for share in self.guarantees.values()):
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

    def endpoint_table(self) -> dict[str, Endpoint]:
        """The endpoints by name, in order. "default" is that of the short settings, unless the table has one."""
        short = Endpoint(base_url=self.base_url, api_key=self.api_key)
        return dict(sorted(({DEFAULT: short} | self.endpoints).items()))

    def model_table(self) -> dict[str, Model]:
        """The models by name, in order, as a run keeps them. "default" is that of the short settings, as above."""
        short = ModelSettings(model=self.model, input_price=self.input_price, output_price=self.output_price)
        return {name: model.kept_as(name) for name, model in sorted(({DEFAULT: short} | self.models).items())}

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
        """What becomes of events, with the event types of spec 2."""
        truncation = Truncation(
            statement=self.statement_max_length, reasoning=self.reasoning_max_length, enabled=self.enable_truncation
        )
        return Routing(style=self.guidance_style, truncation=truncation)

    def wait_seconds(self) -> float:
        """How long a boundary waits in real time for what is due."""
        if self.wait is not None:
            return self.wait
        return 60.0 if self.tick_rate is None else 0.0

    def state_url(self) -> str:
        """Where the state is: the URL given, or the embedded server of the data folder.

        Raises:
            ConfigurationError: when neither is there.
        """
        if self.redis_url is not None:
            return self.redis_url.get_secret_value()
        try:
            record = json.loads((self.data_dir / SERVER_FILE).read_text())
            return f"unix://{record['socket']}?db=0"
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(
                f"no Redis: COGITATE_REDIS_URL is not set and no embedded server runs in {self.data_dir}; "
                "start one with `cogitate run`, or set the URL"
            ) from error

    def messages_url(self) -> str:
        """Where messages go: the broker URL given, or database 1 beside the state."""
        if self.broker_url is not None:
            return self.broker_url.get_secret_value()
        return _beside(self.state_url())


def _beside(url: str) -> str:
    """The same server's next database."""
    if url.startswith("unix://"):
        base, _, query = url.partition("?")
        found = re.search(r"(?:^|&)db=(\d+)", query)
        return f"{base}?db={int(found[1]) + 1 if found else 1}"
    found = re.fullmatch(r"(rediss?://[^/?]+)(?:/(\d*))?(\?.*)?", url)
    if not found:
        raise ConfigurationError(
            f"cannot tell the database of {url.partition('@')[2] or url!r}; set COGITATE_BROKER_URL"
        )
    return f"{found[1]}/{int(found[2] or 0) + 1}{found[3] or ''}"
