"""A job, its identity, its upper bound of cost, and how long it may take."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, TypeVar

import msgspec

from cogitate.memory.clock import Clock
from cogitate.memory.entry import Character

T = TypeVar("T")

MAX_LATENCY = 100_000  # ticks, or game minutes
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?s")
_MINUTES = re.compile(r"([1-9]\d{0,4}) ?m")
LEAST_REAL = 0.5  # seconds that a latency in game minutes leaves workers, unless these are more ticks than minutes

LATENCIES = 'ticks, such as 5, game minutes, such as "5m", or seconds, such as "5s"'
Latency = int | str  # ticks; or game minutes: "5m"; or seconds: "5s", "0.5s"


class Cost(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An amount of budget. Integers only: money is in micro-dollars (1/1,000,000 of a dollar)."""

    calls: int = 0
    tokens: int = 0
    usd_micros: int = 0


def added(one: Cost, other: Cost) -> Cost:
    """Return the sum of two amounts."""
    return Cost(one.calls + other.calls, one.tokens + other.tokens, one.usd_micros + other.usd_micros)


class JobKey(NamedTuple):
    """The identity of a job within its run, without the run's name."""

    tick: int  # the tick that enqueued it
    kind: str
    owner: str
    ordinal: int  # tells apart jobs of one kind and owner in one tick
    trial: int  # 0, then 1, 2, … for the successors of a deferred job

    def text(self) -> str:
        """Return the key as a string; `JobKey.parse` reads it."""
        tick, kind, owner, ordinal, trial = self
        return f"{tick}/{kind}/{owner}/{ordinal}/{trial}"

    @classmethod
    def parse(cls, text: str) -> JobKey:
        """Parse a key. Its owner may contain slashes.

        Raises:
            ValueError: when the text is not a job key.
        """
        try:
            tick, kind, rest = text.split("/", 2)
            owner, ordinal, trial = rest.rsplit("/", 2)
            return cls(int(tick), kind, owner, int(ordinal), int(trial))
        except ValueError as error:
            raise ValueError(f"{text[:200]!r} is not a job key: expected tick/kind/owner/ordinal/trial") from error


class Reads(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The part of one owner's stream that a job may read: live entries up to a number, or only the named ones."""

    owner: str
    upto: int
    numbers: tuple[int, ...] | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A request for a job, by a kind's cadence or by the host. Admission turns it into a `Job`."""

    kind: str
    owner: str
    priority: int = 0  # higher goes first when budget is scarce
    params: dict[str, Any] = msgspec.field(default_factory=dict)  # JSON values that the job needs beyond entries
    numbers: tuple[int, ...] | None = None  # read only these entries of the owner's stream
    reads: tuple[Reads, ...] = ()  # parts of other owners' streams; `upto` 0: up to their newest entry
    trial: int = 0
    at: int = 0  # earliest tick at which the result is due; 0: as soon as possible
    within: int = 0  # ticks after which the result is useless; 0: the kind's limit


class Correction(NamedTuple):
    """The factors of an estimate of tokens, in thousandths: for Latin letters and ASCII, and for everything else."""

    plain: int = 1_000
    others: int = 1_000

    @property
    def raised(self) -> Correction:
        """Return the correction with each factor at least 1."""
        return Correction(max(1_000, self.plain), max(1_000, self.others))


UNCORRECTED = Correction()


class Valued(NamedTuple):
    """Marks a job that admission chose by the expected value of its call."""

    is_check: bool  # whether it was drawn to check the estimates, whatever its value


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One unit of thinking as workers and the tick loop see it."""

    run: str
    key: JobKey
    minute: int  # game time of the enqueue tick
    due: int  # the tick at whose boundary its result is applied
    reads: tuple[Reads, ...]
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    priority: int = 0
    model: str = ""  # the model to ask; empty: the heuristic runs
    prompt_cap: int = 0  # the most tokens of the prompt
    output_cap: int = 0  # the most tokens of the answer, reasoning included
    correction: int = 1_000  # thousandths: factor on the estimate of a prompt's tokens in Latin letters and ASCII
    correction_others: int = 1_000  # the same for all other characters
    facts: int = 0  # version of the run's facts at the enqueue tick
    summary: str = ""  # the owner's long-term summary at the enqueue tick
    summary_version: int = 0
    character: Character = Character()  # the owner's facts at the enqueue tick
    reserved: Cost = Cost()  # upper bound of one attempt
    ahead: int = 0  # jobs of its kind and model in flight at its admission
    at: int = 0  # tick before which its result is not applied
    refused: str = ""  # why no model is asked: the cell without room, "low_value", "too_slow" or "run_ends"
    valued: Valued | None = None  # None: spending is fair

    @property
    def id(self) -> str:
        """Return the job's id, which is also its Celery task id: "run/tick/kind/owner/ordinal/trial"."""
        return job_id(self.run, self.key)

    def param(self, name: str, default: T) -> T:
        """Return a parameter of the request, or the default if it is missing or of another type."""
        value = self.params.get(name)
        return value if isinstance(value, type(default)) else default


def job_id(run: str, key: JobKey) -> str:
    """Return the id of a run's job: "run/tick/kind/owner/ordinal/trial"."""
    return f"{run}/{key.text()}"


def split_job_id(job_id: str) -> tuple[str, JobKey]:
    """Split a job id into its run and its key.

    Raises:
        ValueError: when the text is not a job id.
    """
    run, slash, rest = job_id.partition("/")
    if not run or not slash:
        raise ValueError(f"{job_id[:200]!r} is not a job id: expected run/tick/kind/owner/ordinal/trial")
    return run, JobKey.parse(rest)


def seconds_of(latency: str) -> float | None:
    """Return the seconds in a text such as "5s"; None for any other text, and for zero seconds."""
    match = _SECONDS.fullmatch(latency)
    return (float(match[1]) or None) if match else None


def game_minutes_of(latency: str) -> int | None:
    """Return the game minutes in a text such as "5m"; None for any other text."""
    match = _MINUTES.fullmatch(latency)
    return int(match[1]) if match else None


def is_latency(text: str) -> bool:
    """Return whether a text is a latency in game minutes or seconds."""
    return game_minutes_of(text) is not None or seconds_of(text) is not None


def ticks_of(latency: Latency, *, tick_rate: float | None, clock: Clock) -> int:
    """Return a latency in ticks, at least 1.

    Minutes are game time. At a real pace they also leave workers half a second, but no more ticks than the latency has
    minutes. Seconds are real time at `tick_rate` ticks a second, or game time if ticks follow no real clock.

    Raises:
        ValueError: when a text gives neither minutes nor seconds.
    """
    if isinstance(latency, int):
        return max(1, latency)
    minutes, seconds = game_minutes_of(latency), seconds_of(latency)
    if minutes is not None:
        real = min(minutes, LEAST_REAL * tick_rate) if tick_rate is not None else 0
        ticks = max(minutes / clock.minutes_per_tick, real)
    elif seconds is not None:
        ticks = seconds * tick_rate if tick_rate is not None else seconds / clock.seconds_per_tick
    else:
        raise ValueError(f"{latency!r} is not a latency: give {LATENCIES}")
    whole = math.ceil(round(ticks, 6))  # rounded first: 0.1 s at 30 ticks a second are 3 ticks, not 4
    return min(MAX_LATENCY, max(1, whole))
