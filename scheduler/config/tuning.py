"""Constants that Cogitate decides. Users cannot set them; tests, benchmarks and stored runs may have other values."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, fields
from typing import Literal

from cogitate.memory import typed_json
from cogitate.memory.entry import MAX_TEXT

#: The variable in which a host passes values that differ from the defaults to the workers that it starts.
VARIABLE = "COGITATE_TUNING"


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Constants of scheduling, workers and the designs of memory."""

    # Attempts
    lease: float = 15.0  # seconds without a heartbeat after which the host expires an attempt
    hint_interval: float = 1.0  # seconds after which the host repeats the hint of an unclaimed job
    claim_cap: int = 4  # claims of one job; then it is dead and its heuristic applies
    worker_share: int = 1  # jobs of this run that a worker takes for each job of another run

    # The circuit breaker before each endpoint
    breaker_failures: int = 10  # consecutive failures at which it opens
    breaker_share: float = 0.6  # share of failures among the latest calls at which it opens
    breaker_window: int = 50  # number of these calls
    breaker_pause: float = 1.0  # seconds until a probe; each failed probe doubles it
    breaker_longest_pause: float = 300.0  # seconds

    # Stored texts
    response_cache_days: float = 30.0  # real days for which an answer is stored
    response_cache_bytes: int = 100_000_000  # of all answers
    record_days: float = 30.0  # real days for which a recorded answer is stored
    record_bytes: int = 20_000_000  # of a run

    # Time
    spread: int | None = None  # game minutes over which agents plan; None: by their number
    adaptive_latency: bool | None = None  # due ticks follow the models' latencies; None: if boundaries do not wait
    pack_wait: int = 60  # game minutes between the shared turns of packed calls; 0: no shared turns
    collect_garbage: Literal["idle", "python"] = "idle"  # when a paced host makes full garbage collections
    outage_buffer: int = 64_000_000  # bytes of ticks that a host buffers at most while it carries on without Redis

    # Budgets
    retry_share: float = 0.2  # share of each limit kept for further attempts
    last_call: dict[str, int] = field(default_factory=lambda: {"plan": 720})  # minute of the day a guarantee ends
    act_per_tick: int = 5  # calls per tick for all choices of actions, unless "tick.kind:act.calls" is set

    # Experiments
    experiment: Literal["", "stop", "heuristics"] = ""  # action of workers at an experiment's limit; "": no experiment

    # Throttling of reflections
    throttle_auto: bool = True  # False: only `cogitate throttle` changes their cadence
    throttle_interval: int = 60  # game minutes between two steps of the controller
    throttle_least: float = 0.125  # the controller's slowest cadence, as a share of the usual one

    # Memory
    max_text: int = MAX_TEXT  # characters of an observation
    max_plans: int = 7
    max_archived: int | None = None  # archived entries of an owner; None: only the retention limits them
    importance_threshold: int = 5
    summary_threshold: int = 5  # messages from which on a conversation is summarised
    rate_share: float = 0.2  # share of the host's unrated entries that a model rates
    coalesce: bool = True  # count a repeated observation on the first entry instead of storing it
    compress_at: float = 0.8  # share of the token limit
    compress_to: float = 0.6
    retain: int = 3  # newest entries that are never compressed
    passes: int = 2
    public_history_max_length: int = 100_000  # characters of a group's or the world's history
    recount_on_failure: Literal["unchanged", "heuristic"] = "unchanged"  # if a model fails

    # Events
    statement_max_length: int = 300  # characters, including the "..." of a truncation
    reasoning_max_length: int = 200
    enable_truncation: bool = True

    def changed(self) -> dict[str, object]:
        """Return the values that differ from the defaults, by name."""
        usual = asdict(Tuning())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}


TUNED = frozenset(constant.name for constant in fields(Tuning))

#: The constants that a run stores at its creation.
KEPT_TUNING = TUNED - {
    "lease",
    "hint_interval",
    "worker_share",
    "breaker_failures",
    "breaker_share",
    "breaker_window",
    "breaker_pause",
    "breaker_longest_pause",
    "response_cache_days",
    "response_cache_bytes",
    "record_days",
    "record_bytes",
    "collect_garbage",
    "outage_buffer",
    "experiment",
}


def tuning_of_host() -> Tuning:
    """Return the values that the host of this worker process passed; the defaults without a host."""
    return typed_json.decode(os.environ.get(VARIABLE, "{}"), Tuning)
