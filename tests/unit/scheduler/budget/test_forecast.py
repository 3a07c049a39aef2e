"""When a budget window runs out, at the rate so far."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.scheduler.budget.budget_lines import Pools, lines_of
from cogitate.scheduler.budget.forecast import Forecast, forecast
from cogitate.scheduler.config.limits import LimitTable

NOON, DAY = 720, 1440


def of(window: str, used: int, limit: int, **given: Any) -> Forecast:
    times = {name: given.pop(name, usual) for name, usual in (("minute", NOON), ("start", 0))}
    pools = Pools(given.pop("retry_share", 0.0))
    accounts = {(window, "run", given.pop("unit", "tokens")): {"spent": used} | given}
    (line,) = lines_of(accounts, LimitTable({f"{window.partition(':')[0]}.{next(iter(accounts))[2]}": limit}), pools)
    found = forecast(line, **times)
    assert found is not None
    return found


def test_half_a_day_and_half_the_limit_is_a_pace_of_one_and_lasts() -> None:
    found = of("day:0", 50, 100)
    assert (found.share, found.pace, found.rate) == (0.5, 1.0, 4.17)
    assert (found.outlook, found.out_at) == ("lasts", None)


def test_a_faster_pace_runs_out_before_the_day_does() -> None:
    found = of("day:0", 75, 100)
    assert (found.pace, found.outlook, found.out_at) == (1.5, "runs out", 960)  # a hundred at 75 in 720 minutes


def test_the_retry_pool_is_no_room_for_first_attempts() -> None:
    found = of("day:0", 80, 100, retry_share=0.2)
    assert (found.room, found.share, found.outlook) == (80, 0.8, "full")
    assert of("day:0", 80, 100, retry_share=0.2, unit="jobs").room == 100, "no attempt takes a job of it"


def test_what_retries_took_leaves_the_room_as_it_was() -> None:
    found = of("day:0", 85, 100, retry_share=0.2, pool=10)
    assert (found.share, found.outlook) == (0.85, "runs out")
    assert of("day:0", 85, 100, retry_share=0.2, pool=5).outlook == "full"


def test_shares_have_four_digits_and_paces_and_rates_two() -> None:
    found = of("day:0", 200, 300, minute=700)
    assert (found.share, found.pace, found.rate) == (0.6667, 1.37, 17.14)


def test_a_day_that_the_run_entered_late_counts_from_there() -> None:
    assert of("day:0", 50, 100, start=600).out_at == NOON + 120
    assert (of("day:0", 50, 100, start=600).pace, of("day:0", 50, 100, start=600).rate) == (3.5, 25.0)
    assert of("day:2", 50, 100, minute=2 * DAY + NOON).pace == 1.0
    assert of("day:2", 10, 100, minute=2 * DAY + 60, start=600).out_at == 2 * DAY + 600


def test_the_run_has_no_pace_since_its_end_is_not_known() -> None:
    found = of("run:0", 10, 1000, minute=DAY)
    assert (found.pace, found.outlook, found.out_at) == (None, "runs out", 100 * DAY)
    assert of("run:0", 0, 1000).outlook == "lasts"


def test_a_tick_is_full_or_not() -> None:
    assert of("tick:9", 3, 4).outlook == "lasts"
    assert of("tick:9", 4, 4).outlook == "full"


def test_a_limit_of_nothing_is_full_from_the_start() -> None:
    assert (of("day:0", 0, 0).outlook, of("day:0", 0, 0).share) == ("full", 0.0)


@pytest.mark.parametrize("period", ["day", "run"])
@settings(deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10 * DAY), st.floats(0, 0.9))
def test_what_runs_out_does_so_later_than_now_and_within_its_window(
    period: str, used: int, limit: int, minute: int, retry_share: float
) -> None:
    index = minute // DAY if period == "day" else 0
    found = of(f"{period}:{index}", used, limit, minute=minute, retry_share=retry_share)
    assert (found.out_at is not None) == (found.outlook == "runs out")
    assert (found.outlook == "full") == (used >= found.room)
    if found.out_at is not None:
        assert found.out_at >= minute
        assert period == "run" or found.out_at < (index + 1) * DAY
