"""A run that is checked against the streams design's success criteria while it is lived, and what it brought about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import DAY, clock_time, day_of
from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry, rating
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import conversations
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.inspection.audit import audit, audit_budget
from cogitate.scheduler.journal.ends import Change
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.world import World
from cogitate.tasks.plan_times import SOON
from cogitate.tasks.registry import kind_of
from tests.verbatim import altered_quotes

RUN = "days"
QUOTING = ("summary", "reflection")
UNSUMMARISED = 48 * 60  # game minutes (success criterion 4)


class CheckedLoop(TickLoop):
    """Checks after each commit what must hold at every tick."""

    act_prompts = 0  # that name the present plan item

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments, watchers=[self._check])

    def _check(self, number: int, finished: FinishedTick, seconds: float) -> None:
        minute, limits = self.state.facts.minute(number), self.state.facts.limits
        for owner, stream in self.state.streams.items():
            counts = stream.observed(), stream.count("reflection"), stream.count("plan")
            most = limits.max_observations, limits.max_reflections, limits.max_plans
            assert all(n <= limit for n, limit in zip(counts, most, strict=True)), f"{owner}, tick {number}: {counts}"
            if minute % 60 == 0:
                ages = [minute - talk.oldest for talk in conversations(owner, stream.live())]
                assert max(ages, default=0) <= UNSUMMARISED, f"{owner}, tick {number}: {max(ages)} minutes"
        for key, item in self.state.open.items():
            if key.kind == "act" and key.tick == number:
                prompt = kind_of("act").prompt(self.state.case_of(item))
                if present := present_item(self.state.streams[key.owner], minute):
                    assert f"Present plan item: {present}" in prompt.user
                    self.act_prompts += 1
        if minute % 60 == 0:
            assert audit_budget(self.ledger.store) == []


def present_item(stream: Stream, minute: int) -> str:
    """Return the time and text of the agent's current plan item; "" if it is over or there is none."""
    plan = stream.current_plan(minute)
    begun = [item for item in stream.plan_items(plan) if (item.minute or 0) <= minute] if plan is not None else []
    last = max(begun, key=lambda item: item.minute or 0, default=None)
    if last is None or last.status not in ("pending", "active"):
        return ""
    return f"{clock_time(last.minute or 0)} {last.description}"


@dataclass
class Lived:
    """The outcome of a run."""

    loop: CheckedLoop
    mornings: list[int]  # game minutes
    changes: list[tuple[int, Change]] = field(default_factory=list)  # with the minute of their tick

    def sources(self, *, since: int = 0, before: int = 10**9) -> Counter[tuple[str, str, str]]:
        """Entries appended in [since, before) game minutes, by kind, source and reason."""
        return Counter(
            (change.kind, change.source, change.reason)
            for minute, change in self.changes
            if isinstance(change.effect, Append) and since <= minute < before
        )

    def check(self) -> None:
        """Success criteria 1, 3 and 4 of streams, that nothing important is lost, that quotations stand word for word
        in their evidence, and what the auditor says."""
        days = len(self.mornings)
        for owner, stream in self.loop.state.streams.items():
            plans = self._made("plan", owner)
            assert [plan.minute for plan in plans] == [morning + self._wait() for morning in self.mornings], owner
            for plan in plans:
                times = [item.minute or 0 for item in plan.items]
                assert 1 <= len(times) <= 8
                assert times == sorted(times)
            assert days <= len(self._made("reflect", owner)) <= 2 * days, owner
            assert not self._altered(owner, stream), owner
            assert not lost(stream, self.loop.settings.tuning.importance_threshold), owner
        assert audit(self.loop.ledger.client, RUN) == []

    def _wait(self) -> int:
        """Return the game minutes after which a plan begins: those until it takes effect, if it would miss too much."""
        latency = self.loop.state.rules.latency("plan") * self.loop.state.facts.minutes_per_tick
        return latency if latency > SOON else 0

    def _altered(self, owner: str, stream: Stream) -> list[str]:
        """Return the quotations of summaries and reflections without a model that none of their evidence holds."""
        appends = (c.effect for _, c in self.changes if c.owner == owner and c.source == "heuristic")
        told = [effect.entry for effect in appends if isinstance(effect, Append) and effect.entry.type in QUOTING]
        kept = (entry for entry in told if all(number in stream.entries for number in entry.evidence))
        return [q for e in kept for q in altered_quotes(e.text, (stream.entries[n].text for n in e.evidence))]

    def _made(self, kind: str, owner: str) -> list[Entry]:
        """Return the entries that jobs of a kind appended for an owner, without repairs."""
        appends = ((c, c.effect) for _, c in self.changes if c.kind == kind and c.owner == owner)
        return [c.entry for c, effect in appends if isinstance(effect, Append) and not effect.replaces and c.entry]


def lost(stream: Stream, threshold: int) -> list[Entry]:
    """Entries of at least this importance that were archived into nothing. Plans end; they are not summarised."""
    archived = ((stream.entries[number], record) for number, record in stream.archived.items())
    return [e for e, record in archived if not record.into and e.type != "plan" and rating(e) >= threshold]


def live(
    world: World,
    client: Redis,
    data_dir: Path,
    *,
    days: int,
    on_tick: Callable[[Tick], None] = lambda tick: None,
    **settings: Any,
) -> Lived:
    """Let a world live for some days in this process, checked at every tick."""
    loop = CheckedLoop(
        run=RUN,
        owners=world.owners(),
        settings=Settings.tuned(data_dir=data_dir, **settings),
        locations=world.locations,
        brief=world.brief,
        ticks=days * world.ticks_per_day,
        start_minute=world.start_minute,
        inline=True,
        client=client,
    )
    first, morning = day_of(world.start_minute), loop.settings.morning
    lived = Lived(loop, [max(world.start_minute, (first + day) * DAY + morning) for day in range(days)])

    def note(tick: Tick) -> None:
        lived.changes += ((tick.minute, change) for change in tick.applied)
        on_tick(tick)

    with loop:
        drive(loop, world, on_tick=note)
    return lived
