"""Reflection by accumulated importance: the rule of Generative Agents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.quality.recordings import load_runs
from bench.quality.reflection_times import replay
from cogitate.memory.trigger import ReflectionTrigger


def test_counter_falls_by_importance_and_starts_again() -> None:
    trigger, reflects = ReflectionTrigger.fresh(10).step([3, 4])
    assert (trigger.left, reflects) == (3, False)
    trigger, reflects = trigger.step([])
    assert (trigger.left, reflects) == (3, False)
    trigger, reflects = trigger.step([3])
    assert (trigger.left, reflects) == (10, True), "zero is enough, and the rest of the step is not carried over"


def test_a_step_reflects_at_most_once() -> None:
    trigger, reflects = ReflectionTrigger.fresh(10).step([10, 10, 10])
    assert reflects
    assert trigger == ReflectionTrigger.fresh(10)


def test_trigger_must_be_positive() -> None:
    with pytest.raises(ValueError, match="must be positive, not 0"):
        ReflectionTrigger.fresh(0)


@given(st.lists(st.lists(st.integers(1, 10), max_size=5), max_size=30), st.integers(1, 60))
def test_counter_stays_within_its_bounds(steps: list[list[int]], maximum: int) -> None:
    trigger = ReflectionTrigger.fresh(maximum)
    reflections = 0
    for importances in steps:
        trigger, reflects = trigger.step(importances)
        reflections += reflects
        assert 0 < trigger.left <= maximum
        assert trigger == ReflectionTrigger.fresh(maximum) if reflects else True
    assert reflections * maximum <= sum(map(sum, steps))


def test_recorded_reflections_are_reproduced(recordings: Path) -> None:
    runs = load_runs(recordings)
    recorded = [(run, record) for run in runs for record in run.reflections]
    assert recorded, "the recordings hold no reflection times"
    for run, record in recorded:
        agent = next(a for a in run.agents if a.name == record.agent)
        times, left = replay(agent, record.trigger)
        assert tuple(times) == record.times, f"{run.name}, {record.agent}"
        assert record.final_counter in (None, left), f"{run.name}, {record.agent}"


def test_the_usual_trigger_is_that_of_generative_agents() -> None:
    assert ReflectionTrigger() == ReflectionTrigger.fresh(150)
