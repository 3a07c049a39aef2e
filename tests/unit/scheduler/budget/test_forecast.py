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
    (line,) = lines_of(
        accounts, LimitTable({f"{window.partition(':')[0]}.{next(iter(accounts))[2]}": limit}).limit_of, pools
    )
    found = forecast(line, **times)
    assert found is not None
    return found


def test_half_the_limit_at_half_a_day_is_pace_one() -> None:
    found = of("day:0", 50, 100)
    assert (found.share, found.pace, found.rate) == (0.5, 1.0, 4.17)
    assert (found.outlook, found.out_at) == ("lasts", None)


def test_pace_above_one_runs_out_within_the_day() -> None:
    found = of("day:0", 75, 100)
    assert (found.pace, found.outlook, found.out_at) == (1.5, "runs out", 960)  # a hundred at 75 in 720 minutes


def test_room_excludes_the_retry_pool() -> None:
    found = of("day:0", 80, 100, retry_share=0.2)
    assert (found.room, found.share, found.outlook) == (80, 0.8, "full")
    assert of("day:0", 80, 100, retry_share=0.2, unit="jobs").room == 100, "limits of jobs have no retry pool"


def test_retries_do_not_use_room() -> None:
    found = of("day:0", 85, 100, retry_share=0.2, pool=10)
    assert (found.share, found.outlook) == (0.85, "runs out")
    assert of("day:0", 85, 100, retry_share=0.2, pool=5).outlook == "full"


def test_shares_have_four_digits_and_paces_and_rates_two() -> None:
    found = of("day:0", 200, 300, minute=700)
    assert (found.share, found.pace, found.rate) == (0.6667, 1.37, 17.14)


def test_first_day_counts_from_the_start_of_the_run() -> None:
    assert of("day:0", 50, 100, start=600).out_at == NOON + 120
    assert (of("day:0", 50, 100, start=600).pace, of("day:0", 50, 100, start=600).rate) == (3.5, 25.0)
    assert of("day:2", 50, 100, minute=2 * DAY + NOON).pace == 1.0
    assert of("day:2", 10, 100, minute=2 * DAY + 60, start=600).out_at == 2 * DAY + 600


def test_run_window_has_no_pace() -> None:
    found = of("run:0", 10, 1000, minute=DAY)
    assert (found.pace, found.outlook, found.out_at) == (None, "runs out", 100 * DAY)
    assert of("run:0", 0, 1000).outlook == "lasts"


def test_a_tick_is_full_or_not() -> None:
    assert of("tick:9", 3, 4).outlook == "lasts"
    assert of("tick:9", 4, 4).outlook == "full"


def test_limit_of_zero_is_full() -> None:
    assert (of("day:0", 0, 0).outlook, of("day:0", 0, 0).share) == ("full", 0.0)


@pytest.mark.parametrize("period", ["day", "run"])
@settings(deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10 * DAY), st.floats(0, 0.9))
def test_out_at_is_in_the_future_and_within_the_window(
    period: str, used: int, limit: int, minute: int, retry_share: float
) -> None:
    index = minute // DAY if period == "day" else 0
    found = of(f"{period}:{index}", used, limit, minute=minute, retry_share=retry_share)
    assert (found.out_at is not None) == (found.outlook == "runs out")
    assert (found.outlook == "full") == (used >= found.room)
    if found.out_at is not None:
        assert found.out_at >= minute
        assert period == "run" or found.out_at < (index + 1) * DAY
