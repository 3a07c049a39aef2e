"""Three days of a small town that thinks by heuristics: spec 3's success criteria 1, 3, 4 and 6, without a ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from memory.apply import apply, unmet
from memory.clock import DAY
from memory.compaction import enforce_limits, rating
from memory.conversations import conversations
from memory.effects import Append
from memory.entry import Entry
from memory.limits import MemoryLimits
from memory.stream import Stream
from simulation.town import Town
from tasks.job import Job, JobKey, Reads
from tasks.kind import Case, Kind, Moment, World
from tasks.registry import kinds

DAYS = 3


@dataclass
class Thinking:
    """A town and its streams, with every job's heuristic applied at its due tick."""

    town: Town
    limits: MemoryLimits
    streams: dict[str, Stream] = field(default_factory=dict)
    open: list[tuple[int, Kind, Case]] = field(default_factory=list)
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    appended: list[tuple[str, Entry]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.profiles = self.town.owners()
        self.streams = {owner: Stream(owner) for owner in self.profiles}
        self.world = World(
            locations=self.town.locations,
            limits=self.limits,
            minutes_per_tick=self.town.minutes_per_tick,
            names={owner: profile.name for owner, profile in self.profiles.items()},
        )

    def run(self, days: int) -> Iterator[int]:
        """The game time of every tick, once it is over."""
        for tick in range(days * DAY // self.town.minutes_per_tick):
            minute = self.town.start_minute + tick * self.town.minutes_per_tick
            self._settle(tick)
            for owner, entry in self.town.step(tick, minute):
                self.streams[owner].append(entry, tick)
            apply(self.streams, [e for e in self.town.take_effects() if unmet(self.streams, [e]) is None], tick)
            for owner, stream in self.streams.items():
                apply(self.streams, enforce_limits(stream, self.limits, minute, self.world.names), tick)
                self._ask(owner, tick, minute)
            yield minute

    def _settle(self, tick: int) -> None:
        due = [job for job in self.open if job[0] <= tick]
        self.open = [job for job in self.open if job[0] > tick]
        for _, kind, case in sorted(due, key=lambda job: (job[0], job[1].order, job[2].job.key)):
            effects = kind.heuristic(case)
            fits = unmet(self.streams, effects) is None
            self.ends[kind.name, "applied" if fits else "stale"] += 1
            entries = iter(apply(self.streams, effects, tick) if fits else ())
            for effect in effects if fits else ():
                entry = next(entries) if isinstance(effect, Append) else None
                if entry is not None:
                    self.appended.append((kind.name, entry))
                self.town.apply(SimpleNamespace(owner=case.job.key.owner, effect=effect, entry=entry))

    def _ask(self, owner: str, tick: int, minute: int) -> None:
        stream = self.streams[owner]
        mine = [(kind.name, case) for _, kind, case in self.open if case.job.key.owner == owner]
        busy = {n for _, case in mine for reads in case.job.reads for n in reads.numbers or ()}
        moment = Moment(
            owner=owner,
            stream=stream,
            profile=self.profiles[owner],
            tick=tick,
            minute=minute,
            world=self.world,
            brief={**self.town.brief(owner), "open_numbers": busy},
        )
        for kind in kinds():
            if any(name == kind.name for name, _ in mine):
                continue
            for ordinal, request in enumerate(kind.due(moment)):
                upto = stream.head.last_number
                job = Job(
                    run="days",
                    key=JobKey(tick, kind.name, owner, ordinal, 0),
                    minute=minute,
                    due=tick + kind.latency,
                    reads=(Reads(owner, upto, request.numbers),),
                    params=request.params,
                )
                entries = [
                    e for e in stream.as_of(upto, tick) if request.numbers is None or e.number in set(request.numbers)
                ]
                case = Case(job=job, profile=self.profiles[owner], world=self.world, memories={owner: entries})
                self.open.append((job.due, kind, case))


@pytest.mark.parametrize(
    ("minutes_per_tick", "limits"),
    [(1, MemoryLimits()), (10, MemoryLimits(max_observations=60, max_reflections=3, max_plans=2))],
    ids=["by the minute", "long ticks and little room"],
)
def test_the_success_criteria_hold_after_every_tick(minutes_per_tick: int, limits: MemoryLimits) -> None:
    thinking = Thinking(Town(agents=5, seed=3, minutes_per_tick=minutes_per_tick), limits)
    for minute in thinking.run(DAYS):
        for owner, stream in thinking.streams.items():
            assert stream.observed() <= limits.max_observations
            assert stream.count("reflection") <= limits.max_reflections
            assert stream.count("plan") <= limits.max_plans
            if minute % 60 == 0:
                oldest = min((talk.oldest for talk in conversations(owner, stream.live())), default=minute)
                assert minute - oldest <= 48 * 60
    plans = [entry for kind, entry in thinking.appended if kind == "plan"]
    assert len(plans) == DAYS * len(thinking.streams)
    assert all(5 <= len(plan.items) <= 8 and plan.minute % DAY == 360 for plan in plans)
    reflections = sum(kind == "reflect" for kind, _ in thinking.appended)
    assert DAYS <= reflections / len(thinking.streams) <= 2 * DAYS
    assert any(kind == "summarise" for kind, _ in thinking.appended) or limits.max_observations < 200
    for stream in thinking.streams.values():
        for number, record in stream.archived.items():
            entry = stream.entries[number]
            assert record.into or entry.type == "plan" or rating(entry) < limits.importance_threshold


def test_the_same_town_thinks_the_same() -> None:
    def told() -> list[tuple[str, Entry]]:
        thinking = Thinking(Town(agents=3, seed=5), MemoryLimits())
        for _ in thinking.run(1):
            pass
        return thinking.appended

    first = told()
    assert len(first) > 5
    assert first == told()
