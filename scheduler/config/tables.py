"""The settings, in the tables of `cogitate.toml`. Every setting has a working default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator, SecretStr

from cogitate.memory.clock import DAY_SECONDS, NAMES, STANDARD
from cogitate.memory.limits import Cause, Policy
from cogitate.memory.retrieval.profiles import ProfileChoice, check_choice
from cogitate.memory.routing.routing import Style
from cogitate.memory.trigger import DEFAULT_TRIGGER
from cogitate.scheduler.config.embedding import EmbeddingSettings
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.tiers import Tier
from cogitate.tasks.job import LATENCIES, is_latency

LONGEST_TICK = 2_592_000  # seconds: 30 days
LONGEST_DAY = 1_000_000_000  # seconds


def _read_latency(given: Any) -> int | str:
    """Return a latency: ticks as a number, or game minutes or seconds as text."""
    if isinstance(given, str) and is_latency(given):
        return given
    digits = isinstance(given, str) and given.isdecimal() and len(given) < 10
    ticks = int(given) if digits or (isinstance(given, float) and given.is_integer()) else given
    if isinstance(ticks, bool) or not isinstance(ticks, int) or ticks < 1:
        raise ValueError(f"{given!r} is not a latency: give {LATENCIES}")
    return ticks


_Latency = Annotated[int | str, PlainValidator(_read_latency)]


def _read_retrieval(given: object) -> ProfileChoice:
    """Return the name of a profile, or a table of weights; variables for single keys give a weight as text."""
    if isinstance(given, dict):
        given = {name: _as_number(weight) for name, weight in given.items()}
    return check_choice("the profile", given)


def _as_number(weight: object) -> object:
    try:
        return float(weight) if isinstance(weight, str) else weight
    except ValueError:
        return weight


class ServerTable(BaseModel):
    """The Redis server and the data folder."""

    data_dir: Path = Path(".cogitate")
    redis_url: SecretStr | None = None  # state; unset: a Valkey embedded in the data folder
    redis_urls: tuple[SecretStr, ...] = ()  # several ledgers, in place of redis_url; a run's name determines its ledger
    broker_url: SecretStr | None = None  # messages; unset: database 1 of the state's server
    socket_timeout: float = Field(5.0, gt=0)  # seconds, for every Redis client


class WorkersTable(BaseModel):
    """Worker processes, and the modules that they import."""

    workers: int = Field(2, ge=0, le=64)  # processes that `cogitate run` starts; 0: an operator starts them
    concurrency: int = Field(16, ge=1, le=1000)  # jobs in flight in each process
    kinds: tuple[str, ...] = ()  # the host's modules that register kinds on import
    prompts: Annotated[Path, AfterValidator(Path.absolute)] | None = None  # replace built-in templates


class OperationTable(BaseModel):
    """Logs, metrics and the gateway."""

    metrics_port: int | None = Field(None, ge=1, le=65_000)  # None: not served
    metrics_address: str = "127.0.0.1"
    gateway_token: SecretStr | None = None  # of the only host that `cogitate gateway` serves; None: see --tokens
    log: Literal["text", "json"] = "text"


class ModelTable(BaseModel):
    """Models. The short settings complete the endpoint and the model called "default"; their tables take precedence."""

    llm: Literal["heuristic", "openai"] = "heuristic"
    model: str = "gpt-4o-mini"
    base_url: str | None = None  # None: the client's own default endpoint
    api_key: SecretStr | None = None  # None: OPENAI_API_KEY
    input_price: int | None = Field(None, ge=0)  # micro-dollars per million tokens; None: from the table of prices
    output_price: int | None = Field(None, ge=0)
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)  # by name
    models: dict[str, ModelSettings] = Field(default_factory=dict)  # by name
    tiers: dict[Tier, str] = Field(default_factory=dict)  # models by tier; unset: strong = routine = "default"
    kind_tiers: dict[str, dict[Tier, str]] = Field(default_factory=dict)  # tiers by kind, if they differ
    failover: list[str] = Field(default_factory=list)  # models to ask, in order, after a kind's routine one
    embeddings: EmbeddingSettings | None = None  # of memories and queries; None: searches use words only
    job_deadline: float = Field(60.0, gt=0)  # seconds for one attempt, retries of the transport included
    response_cache: bool = False  # reuse answers of earlier runs to the same prompts
    record: bool = False  # store each prompt with its answer and verdict in the run


class TimeTable(BaseModel):
    """Ticks, game time and due ticks."""

    seconds_per_tick: int = Field(60, ge=1, le=LONGEST_TICK)  # of game time, up to 30 days
    day_seconds: int = Field(DAY_SECONDS, ge=60, le=LONGEST_DAY)  # length of a game day, in the same seconds
    clock: str = Field(STANDARD, pattern=f"^(?:{NAMES.pattern})$")  # how texts name a time
    morning: int = Field(360, ge=0, lt=1440)  # minutes after 00:00
    apply: Literal["due", "ready"] = "due"
    wait: float | None = Field(None, ge=0)  # seconds a boundary waits for due results; None: 60 unpaced, 0 paced
    tick_rate: Annotated[float | None, BeforeValidator(lambda given: None if given == "max" else given)] = Field(
        None, gt=0
    )  # ticks per second; None or "max": no pace
    latency: dict[str, _Latency] = Field(default_factory=dict)  # by kind: fixed time from admission to the due tick


class BudgetTable(BaseModel):
    """Limits. The default limits each owner, so the total grows with the town; it has no effect without a model."""

    limits: dict[str, int] = Field(default_factory=lambda: {"day.owner:*.calls": 40})
    limit_tokens: int | None = Field(None, ge=1)  # the run's limit in tokens
    limit_usd: float | None = Field(None, gt=0)  # the run's limit in dollars
    real_day_tokens: int | None = Field(None, ge=1)  # limit for all runs together, per real day in UTC
    real_day_usd: float | None = Field(None, gt=0)
    spending: Literal["fair", "value"] = "fair"  # "value": admission paces limits by the expected value of calls
    guarantees: dict[str, Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]] = Field(
        default_factory=lambda: {"plan": 0.15, "reflect": 0.15}
    )  # by kind: share of the run's limits for a day


class JobsTable(BaseModel):
    """Kinds of job, and when they are due."""

    disable: tuple[str, ...] = ()  # kinds of job that are never due and refused on request
    act_interval: int = Field(120, ge=0)  # ticks between two choices of an agent; 0: no choices
    repair_from: int = Field(1200, ge=0, le=1440)  # minutes after 00:00 at which repairs begin; 1440: never


class OutageTable(BaseModel):
    """Behaviour while Redis is unavailable."""

    on_outage: Literal["pause", "carry_on"] = "pause"
    outage_wait: float = Field(60.0, ge=0)  # seconds that a host waits for Redis; with "carry_on", only at its end


class JournalTable(BaseModel):
    """Retention of the journal."""

    journal_keep: int | None = Field(None, ge=1)  # full game days kept in Redis; None: all
    journal_export: bool = True  # write removed lines to files in the data folder first


class MemoryTable(BaseModel):
    """Limits and policies of memory."""

    max_observations: int = Field(200, ge=1)
    max_reflections: int = Field(50, ge=1)
    reflection_interval: int = Field(720, ge=1)  # game minutes
    reflection_trigger: Cause = "interval"  # "importance": after enough has happened; "either": whichever comes first
    reflection_trigger_max: int = Field(DEFAULT_TRIGGER, ge=1)  # accumulated importance that triggers a reflection
    retention_days: int = Field(2, ge=0)
    policy: Policy = "stream"  # the method that keeps a stream small
    policies: dict[str, Policy] = Field(default_factory=dict)  # by owner ("npc:smith") or scope ("npc")
    on_failure: Literal["heuristic", "unchanged"] = "heuristic"  # effect if a model fails to summarise memories
    cells: int = Field(5, ge=1, le=1_000)
    token_limit: int = Field(4_000, ge=1)  # for each owner's long-term summary, buffer and character together
    retrieval: Annotated[ProfileChoice, PlainValidator(_read_retrieval)] = "default"


class EventsTable(BaseModel):
    """Wording of events."""

    guidance_style: Style = "narrative"


TABLES: dict[str, type[BaseModel]] = {
    "server": ServerTable,
    "workers": WorkersTable,
    "operation": OperationTable,
    "model": ModelTable,
    "time": TimeTable,
    "budget": BudgetTable,
    "jobs": JobsTable,
    "outage": OutageTable,
    "journal": JournalTable,
    "memory": MemoryTable,
    "events": EventsTable,
}

#: The table of each setting.
TABLE_OF = {name: table for table, fields in TABLES.items() for name in fields.model_fields}


def fields_of(*tables: str) -> frozenset[str]:
    """Return the names of the settings in these tables."""
    return frozenset(name for name, table in TABLE_OF.items() if table in tables)
