"""The turns of owners: each owner has its own ticks, and none is missed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.clock import Clock
from cogitate.memory.stream import Stream
from cogitate.tasks.kind import Moment
from cogitate.tasks.timing import is_agent, is_turn, next_turn, offset, open_numbers, tick_at
from tests.unit.tasks.kind_cases import WORLD, moment_of

owners = st.sampled_from([f"agent:{number}" for number in range(30)])


def moment(owner: str, tick: int, minute: int = 0, minutes_per_tick: int = 1, **brief: object) -> Moment:
    world = replace(WORLD, clock=Clock(seconds_per_tick=60 * minutes_per_tick))
    return moment_of(Stream(owner), minute, world=world, tick=tick, **brief)


@given(owners, st.integers(0, 500), st.integers(1, 60), st.integers(0, 600))
def test_the_next_turn_is_the_first_to_come(owner: str, tick: int, every: int, wanted: int) -> None:
    found = next_turn(moment(owner, tick), every, wanted)
    turns = [later for later in range(tick + 1, found + 1) if is_turn(moment(owner, later), every)]
    assert found > tick
    assert found >= wanted
    assert [turn for turn in turns if turn >= wanted] == [found]
    assert len(turns) == len(range(turns[0], found + 1, every)), "one in so many ticks"
    assert next_turn(moment(owner, found), every) == found + every


@given(st.integers(0, 500), st.integers(0, 5_000), st.integers(0, 6_000), st.integers(1, 90))
def test_the_tick_at_a_minute_is_the_first_that_has_come_to_it(tick: int, minute: int, wanted: int, each: int) -> None:
    found = tick_at(moment("agent:a", tick, minute, each), wanted)
    assert found > tick
    assert minute + (found - tick) * each >= wanted
    assert found == tick + 1 or minute + (found - 1 - tick) * each < wanted


def test_turns_are_spread_over_all_ticks_and_stay_the_same() -> None:
    found = {offset(f"agent:{number}", 10) for number in range(200)}
    assert found == set(range(10))
    assert offset("agent:isabella", 100) == 98
    assert (offset("agent:isabella", 1), offset("agent:isabella", 0)) == (0, 0)


@pytest.mark.parametrize(
    ("owner", "agent"), [("agent:a", True), ("npc:agent", False), ("world", False), ("location:agent:", False)]
)
def test_only_agents_plan_and_reflect(owner: str, agent: bool) -> None:
    assert is_agent(moment(owner, 1)) is agent


def test_entries_of_open_jobs_are_supplied_by_the_host() -> None:
    assert open_numbers(moment("agent:a", 1, open_numbers=(3, 4))) == {3, 4}
    assert open_numbers(moment("agent:a", 1)) == frozenset()


def test_with_one_turn_or_none_all_have_the_first() -> None:
    for number in range(30):
        assert offset(f"agent:{number}", 1) == offset(f"agent:{number}", 0) == 0
        assert offset(f"agent:{number}", 2) in (0, 1)
    assert {offset(f"agent:{number}", 2) for number in range(30)} == {0, 1}
