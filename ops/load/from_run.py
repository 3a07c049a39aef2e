"""The load of an earlier run, from its journal: the same number of agents, with the same times of reflection."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from redis import Redis

from cogitate.ops.load.profiles import Demanded, LoadProfile, Phase, sorted_demand
from cogitate.ops.world_choice import minutes_per_tick
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.journal.exported import all_lines
from cogitate.scheduler.ledger.run_store import RunStore

MOST_AGENTS = 1000
_ONCE = ("admitted", "heuristic", "dropped")  # a deferred request recurs


def run_profile(client: Redis, data_dir: Path, run: str) -> LoadProfile:
    """Return the load of a run.

    The test has one agent for each owner with jobs in the run, and the run's ticks. It requests reflections, and
    reports observations without ratings, at the same game minutes as the run. The town's agents plan, act as often as
    the run's settings say, and summarise their conversations.

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
