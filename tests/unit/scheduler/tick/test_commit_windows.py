"""When the accounts of a window are deleted: after its last tick, and never while a job may name it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.clock import DAY, day_of
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.tick.commit import KEPT_DAYS, ticks_of_ended_window


def over(facts: Facts, window: str, number: int, *named: int) -> tuple[int, int] | None:
    return ticks_of_ended_window(facts, window, number, named)


@given(st.integers(1, 200), st.integers(0, 3 * DAY), st.integers(0, 12))
def test_a_days_window_is_that_of_all_ticks_of_the_day_from_its_first_to_its_last(
    minutes_per_tick: int, start_minute: int, day: int
) -> None:
    facts = Facts(minutes_per_tick=minutes_per_tick, start_minute=start_minute)
    number = -(-max(1, (day + KEPT_DAYS + 1) * DAY - start_minute) // minutes_per_tick)  # the first tick after that day
    assert day_of(facts.minute(number)) > day + KEPT_DAYS
    found = over(facts, f"day:{day}", number)
    around = (day * DAY - start_minute) // minutes_per_tick
    ticks = [tick for tick in range(around - 2, around + DAY + 2) if day_of(facts.minute(tick)) == day]
    ticks = [tick for tick in ticks if tick < number]
    if not ticks:  # a tick is longer than what is left of the day
        return
    assert found == (ticks[0], ticks[-1])
    for named in (ticks[0], ticks[-1]):
        assert over(facts, f"day:{day}", number, named) is None, "a job that is open was admitted in it"
    assert over(facts, f"day:{day}", number, ticks[0] - 1, ticks[-1] + 1) == found


def test_a_days_accounts_are_kept_for_seven_days_after_it() -> None:
    facts = Facts(minutes_per_tick=60)
    last_kept = (3 + 7) * 24 + 23
    assert over(facts, "day:3", last_kept) is None
    assert over(facts, "day:3", last_kept + 1) == (72, 95)


@pytest.mark.parametrize(
    ("window", "number", "named", "found"),
    [
        ("tick:7", 7, (), None),
        ("tick:7", 8, (), (7, 7)),
        ("tick:7", 8, (6, 8), (7, 7)),
        ("tick:7", 99, (7,), None),
        ("run:0", 99_999, (), None),
    ],
)
def test_a_ticks_window_goes_with_the_next_tick_and_the_runs_never(
    window: str, number: int, named: tuple[int, ...], found: tuple[int, int] | None
) -> None:
    assert over(Facts(), window, number, *named) == found
