"""The curve of quality against calls: which of the recorded calls admission makes."""

from __future__ import annotations

import pytest

from bench.curve import Call, Day, made, point

CALLS = [Call(f"agent:a{at % 4}", 30 * at, 40 * (at % 4), 250 * (at % 4), 100) for at in range(48)]


@pytest.mark.parametrize("limit", [5, 10, 24])
def test_fair_takes_the_first_calls_and_value_spreads_them(limit: int) -> None:
    assert made(CALLS, limit, by_value=False) == [at < limit for at in range(len(CALLS))]
    by_value = made(CALLS, limit, by_value=True)
    assert limit / 2 <= sum(by_value) <= limit
    assert any(by_value[len(CALLS) // 2 :])


def test_a_curve_runs_from_no_calls_to_all() -> None:
    day = Day("day", CALLS, lambda answered: 0.5 + sum(answered) / len(CALLS) / 2, 1.0)
    assert point([day], 0.0, by_value=True) == (0.5, 0, 0)
    assert point([day], 1.0, by_value=True) == (1.0, 48, 4_800)
    fair = point([day], 0.25, by_value=False)
    assert (fair.quality, fair.calls, fair.tokens) == (pytest.approx(0.625), 12, 1_200)
