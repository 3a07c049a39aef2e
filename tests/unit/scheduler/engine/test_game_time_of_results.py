"""Results take effect at about the same game time, however much of it a tick takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cogitate import Observation, Profile, TickLoop
from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.briefs import no_brief
from cogitate.scheduler.budget.rules import rules_of
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.tasks.registry import kinds

Loops = Callable[..., TickLoop]
OWNERS = {"agent:a": Profile(name="Ada Smith", occupation="smith"), "agent:b": Profile(name="Ben Cole")}
LENGTHS = [1, 5, 10, 15, 30, 60]


@pytest.mark.parametrize("minutes", LENGTHS)
def test_no_kind_is_due_more_than_a_tick_later_than_where_ticks_are_minutes(tmp_path: Path, minutes: int) -> None:
    known = kinds()
    usual = rules_of(PinnedSettings(data_dir=tmp_path), known, no_brief)
    rules = rules_of(PinnedSettings(data_dir=tmp_path, seconds_per_tick=60 * minutes), known, no_brief)
    for kind in known:
        due = minutes * rules.latency(kind.name)
        assert 0 <= due - usual.latency(kind.name) < minutes, kind.name


def test_a_paced_tick_leaves_workers_time(tmp_path: Path) -> None:
    settings = PinnedSettings(data_dir=tmp_path, seconds_per_tick=600, tick_rate=20.0)
    assert rules_of(settings, kinds(), no_brief).latency("plan") == 5, "at least a quarter of a second, as ever"


@pytest.mark.parametrize("minutes", [5, 15, 60])
def test_a_plan_has_no_past_items_when_it_takes_effect(cogitate_loop: Loops, minutes: int) -> None:
    planned = []
    loop = cogitate_loop(
        owners=OWNERS, ticks=2 * DAY // minutes, settings=PinnedSettings(seconds_per_tick=60 * minutes)
    )
    for tick in loop:
        if tick.minute in (600, 1_200):
            loop.request("plan", "agent:a")
        planned += [(tick.minute, change.entry) for change in tick.applied if change.entry and change.kind == "plan"]
    assert len(planned) == 6
    assert all(at <= 365 + 60 for at, _ in planned[:2])
    for at, plan in planned:
        assert 0 <= at - plan.minute <= 5
        assert all(item.minute is not None and item.minute >= plan.minute for item in plan.items)


def test_a_plan_that_takes_effect_late_starts_then(cogitate_loop: Loops) -> None:
    loop = cogitate_loop(owners=OWNERS, ticks=700, settings=PinnedSettings(latency={"plan": 300}))
    for tick in loop:
        if tick.minute == 330:
            loop.observe("agent:a", Observation(text="Ben said: let us have tea at 7:30 AM.", minute=330, importance=6))
        for change in tick.applied:
            if change.entry and change.kind == "plan":
                assert min(item.minute or 0 for item in change.entry.items) >= tick.minute == 660
