"""Profiles of load tests: sequences of phases, built in, recorded, or from the journal of an earlier run.

A profile is data. It sets the length of each phase, the number of agents, the frequency of their reflections, the tick
rate, and the behaviour of the stand-in endpoint.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from redis import Redis

from cogitate.memory.clock import DAY
from cogitate.ops.world_choice import minutes_per_tick
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.journal.exported import all_lines
from cogitate.scheduler.ledger.run_store import RunStore

HOUR = 60


@dataclass(frozen=True, kw_only=True)
class Phase:
    """An interval of game time with one load."""

    name: str
    minutes: int  # of game time
    agents: float = 1.0  # share of all agents
    cadence: float | None = None  # pinned share of the usual cadence of reflections; None: the controller decides
    speed: float = 1.0  # factor on the profile's ticks per second
    latency: float = 0.05  # seconds until the endpoint answers
    jitter: float = 0.05  # the most further seconds
    faults: Mapping[str, float] = field(default_factory=dict)  # fault (ops/fake_llm/faults.py) -> share of requests
    requests_per_minute: int | None = None  # limit of the endpoint; None: no limit


@dataclass(frozen=True, kw_only=True)
class LoadProfile:
    """The definition of a load test."""

    name: str
    about: str
    phases: Sequence[Phase]
    agents: int = 25
    story: bool = False  # the world is the story, whose people are always present
    tick_rate: float = 4.0  # ticks per second
    minutes_per_tick: int = 5
    start_minute: int = 5 * HOUR  # game time of tick 0: all agents plan an hour later
    warm_up: int = 3 * HOUR  # game minutes before the first phase, under its load; figures of phases exclude them
    throttle_interval: int = HOUR  # game minutes between two steps of the controller
    reflection_interval: int = 2 * HOUR  # game minutes
    act_interval: int = HOUR  # game minutes between two choices of an agent
    latency: Mapping[str, int] = field(default_factory=dict)  # ticks until a result is due, by kind
    spread: int | None = None  # game minutes over which agents plan; None: by their number, as in any run
    wait: float = 0.0  # the most seconds that a boundary waits for due results
    disturbed: str = ""  # the phase whose effect on the cadence is measured
    demand: Sequence[Demanded] = ()  # recorded demand, by game minute

    @property
    def minutes(self) -> int:
        """Return the game minutes of the warm-up and of all phases."""
        return self.warm_up + sum(phase.minutes for phase in self.phases)

    @property
    def minutes_measured(self) -> int:
        """Return the game minutes of all phases."""
        return self.minutes - self.warm_up

    @property
    def begin(self) -> int:
        """Return the game minute at which the first phase begins."""
        return self.start_minute + self.warm_up

    @property
    def ticks(self) -> int:
        return -(-self.minutes // self.minutes_per_tick)

    @property
    def own_faults(self) -> bool:
        """Return whether the profile needs an endpoint that fails, or limits itself, on request."""
        return any(phase.faults or phase.requests_per_minute for phase in self.phases)

    def starts(self) -> list[tuple[int, Phase]]:
        """Return the phases with the game minute at which each begins."""
        starts, minute = [], self.begin
        for phase in self.phases:
            starts.append((minute, phase))
            minute += phase.minutes
        return starts

    def at(self, minute: int) -> tuple[int, Phase]:
        """Return the number and the phase at a game minute; the first includes the warm-up, the last never ends."""
        number = sum(start <= minute for start, _ in self.starts()) - 1
        return max(0, number), self.phases[max(0, number)]


@dataclass(frozen=True)
class Demanded:
    """The demand of a recording in a minute."""

    minute: int  # game time
    ratings: int  # observations to rate
    reflections: int


_TICKS_DUE = {"plan": 1, "act": 1, "reflect": 1, "summarise": 2}  # for boundaries that wait for due results

PROFILES: Mapping[str, LoadProfile] = {
    profile.name: profile
    for profile in (
        LoadProfile(
            name="steady", about="the same load for ten hours", phases=[Phase(name="steady", minutes=10 * HOUR)]
        ),
        LoadProfile(
            name="ramp",
            about="agents, speed and latency grow from phase to phase; the controller sets the cadence",
            phases=[
                Phase(name="quarter", minutes=4 * HOUR, agents=0.25, speed=0.5),
                Phase(name="half", minutes=4 * HOUR, agents=0.5, speed=0.75, latency=0.1),
                Phase(name="full", minutes=4 * HOUR, latency=0.2),
                Phase(name="beyond", minutes=4 * HOUR, speed=1.5, latency=0.4, faults={"503": 0.05}),
            ],
        ),
        LoadProfile(
            name="day-boundary-storm",
            about="all agents plan the day in the same minutes of the morning",
            phases=[
                Phase(name="night", minutes=20),
                Phase(name="storm", minutes=20),
                Phase(name="morning", minutes=20),
            ],
            agents=500,
            tick_rate=1.0,
            minutes_per_tick=1,
            start_minute=6 * HOUR - 31,
            warm_up=10,
            throttle_interval=5,
            reflection_interval=12 * HOUR,
            act_interval=2 * HOUR,
            disturbed="storm",
        ),
        LoadProfile(
            name="outage",
            about="the endpoint fails for some hours and comes back",
            phases=[
                Phase(name="before", minutes=4 * HOUR),
                Phase(name="outage", minutes=4 * HOUR, faults={"503": 1.0}),
                Phase(name="after", minutes=6 * HOUR),
            ],
            agents=8,
            tick_rate=6.0,
            minutes_per_tick=10,
            latency=_TICKS_DUE,
            wait=60.0,
            disturbed="outage",
        ),
        LoadProfile(
            name="rate-limit",
            about="the endpoint allows far fewer requests a minute for a while",
            phases=[
                Phase(name="before", minutes=4 * HOUR),
                Phase(name="limited", minutes=4 * HOUR, requests_per_minute=60),
                Phase(name="after", minutes=6 * HOUR),
            ],
            disturbed="limited",
        ),
    )
}


def profile_of(name: str) -> LoadProfile:
    """Return a built-in profile.

    Raises:
        ConfigurationError: for an unknown profile; the message lists all.
    """
    if name not in PROFILES:
        raise ConfigurationError(f"unknown load profile {name!r}; use one of {', '.join(PROFILES)}")
    return PROFILES[name]


def recorded_profile(path: Path) -> LoadProfile:
    """Return the load of a recorded day: a CSV file with `sim_time`, `importance_jobs` and `reflect_jobs`.

    In each game minute, the test adds as many observations without a rating and requests as many reflections as the
    recording did. The product's own cadences begin after the day's end.

    Raises:
        ConfigurationError: when the file is not such a table.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [
                (datetime.fromisoformat(row["sim_time"]), int(row["importance_jobs"]), int(row["reflect_jobs"]))
                for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise ConfigurationError(f"{path}: the file cannot be read: {error.strerror or error}") from error
    except (KeyError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{path}: not a table of sim_time, importance_jobs and reflect_jobs: {str(error)[:100]}"
        ) from error
    if not rows:
        raise ConfigurationError(f"{path}: the table has no rows")
    midnight = datetime.combine(rows[0][0].date(), datetime.min.time())
    demand: dict[int, Demanded] = {}
    for when, ratings, reflections in rows:
        minute = int((when - midnight).total_seconds()) // 60
        before = demand.get(minute, Demanded(minute, 0, 0))
        demand[minute] = Demanded(minute, before.ratings + ratings, before.reflections + reflections)
    first, last = min(demand), max(demand)
    busy = max(0, min(minute for minute in demand if minute > first + HOUR) - 10) if last > first + HOUR else first
    return LoadProfile(
        name=path.stem,
        about=f"the load that {path.name} records",
        agents=3,
        minutes_per_tick=1,
        tick_rate=20.0,
        start_minute=busy,
        warm_up=0,
        reflection_interval=10 * DAY,
        act_interval=0,
        demand=sorted_demand(demand, busy),
        phases=[Phase(name="recorded", minutes=last - busy + 15)],
    )


def sorted_demand(demand: Mapping[int, Demanded], first: int) -> list[Demanded]:
    """Return the demand in order of time; demand up to a game minute comes one minute after it."""
    return [
        Demanded(max(first + 1, minute), demanded.ratings, demanded.reflections)
        for minute, demanded in sorted(demand.items())
    ]


MOST_AGENTS = 1000
_ONCE = ("admitted", "heuristic", "dropped")  # decisions to count; a deferred request comes back


def run_profile(client: Redis, data_dir: Path, run: str) -> LoadProfile:
    """Return the load of a run.

    The test has one agent for each owner with jobs in the run, and the same ticks. It requests reflections, and reports
    observations without ratings, at the same game minutes as the run. The town's agents plan, act as often as the run's
    settings determine, and summarise their conversations.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: when its journal was changed.
        ConfigurationError: when the run has no load to repeat.
    """
    store = RunStore.open(client, run)
    settings = kept_settings(store.state_field("settings"))
    owners: set[str] = set()
    reflections: Counter[int] = Counter()
    ratings: Counter[int] = Counter()
    minutes: list[int] = []
    for line in all_lines(client, data_dir, run):
        minutes.append(line.core.minute)
        for decided in line.core.decided:
            if decided.decision in _ONCE:
                owners.add(decided.key.owner)
                reflections[line.core.minute] += decided.key.kind == "reflect"
                ratings[line.core.minute] += decided.key.kind == "rate"
    if not owners:
        raise ConfigurationError(f"run {run!r} has requested no job yet, so there is no load to repeat")
    if len(owners) > MOST_AGENTS:
        raise ConfigurationError(f"run {run!r} has {len(owners):,} owners with jobs; a load test has {MOST_AGENTS:,}")
    first, last = minutes[0], minutes[-1]
    demand = {
        minute: Demanded(minute, ratings[minute], reflections[minute]) for minute in sorted(reflections | ratings)
    }
    recorded = Phase(name="recorded", minutes=last - first + minutes_per_tick(settings))
    return LoadProfile(
        name=f"from-{run}",
        about=f"the load of the run {run}",
        agents=len(owners),
        minutes_per_tick=minutes_per_tick(settings),
        start_minute=first,
        warm_up=0,
        tick_rate=settings.tick_rate or LoadProfile.tick_rate,
        reflection_interval=last + 1,
        act_interval=settings.act_interval * minutes_per_tick(settings),
        throttle_interval=settings.tuning.throttle_interval,
        demand=sorted_demand(demand, first),
        phases=[recorded],
    )
