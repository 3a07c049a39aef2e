"""The curve of quality against calls: which of the recorded calls admission makes."""

from __future__ import annotations

import random
from statistics import stdev

import pytest

from bench.curve import SHARES, TITLE, Day, error_by_chance, plot_of, point
from bench.recorded_admission import Call, made
from bench.table import Row, Table

CALLS = [Call(f"agent:a{at % 4}", 30 * at, 40 * (at % 4), 250 * (at % 4), 100) for at in range(48)]


@pytest.mark.parametrize("limit", [5, 10, 24])
def test_fair_takes_the_first_calls_and_value_spreads_them(limit: int) -> None:
    assert made(CALLS, limit, by_value=False) == [at < limit for at in range(len(CALLS))]
    by_value = made(CALLS, limit, by_value=True)
    assert limit / 2 <= sum(by_value) <= limit
    assert any(by_value[len(CALLS) // 2 :])


@pytest.mark.parametrize("limit", [5, 10, 24])
def test_calls_left_in_the_evening_repair_the_oldest_thoughts(limit: int) -> None:
    repaired = [call._replace(repairs=call.minute % 60 == 0) for call in CALLS]
    before, after = made(CALLS, limit, by_value=True), made(repaired, limit, by_value=True)
    added = [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if other and not one]
    possible = [at for at, call in enumerate(repaired) if call.repairs and call.minute < 1_430 and not before[at]]
    assert added, "something was left"
    assert added == possible[: len(added)]
    assert sum(after) == limit


def test_draws_of_ties_differ() -> None:
    alike = [call._replace(happened=40) for call in CALLS]
    assert len({tuple(made(alike, 10, by_value=True, draw=draw)) for draw in range(5)}) > 1


def test_a_curve_runs_from_no_calls_to_all() -> None:
    day = Day("day", CALLS, lambda answered: 0.5 + sum(answered) / len(CALLS) / 2, 1.0)
    assert point([day], 0.0, by_value=True) == (0.5, 0, 0)
    assert point([day], 1.0, by_value=True) == (1.0, 48, 4_800)
    fair = point([day], 0.25, by_value=False)
    assert (fair.quality, fair.calls, fair.tokens) == (pytest.approx(0.625), 12, 1_200)


def test_the_error_is_how_far_dealt_gains_put_value_from_fair() -> None:
    chance = random.Random(0)
    gains, differences = [chance.random() for _ in CALLS], []

    def day_of(gains: list[float]) -> Day:
        return Day("day", CALLS, lambda answered: sum(g for g, one in zip(gains, answered, strict=True) if one), 2.0)

    expected = error_by_chance([day_of(gains)], 0.25)
    (fair,), by_value = [made(CALLS, 12, by_value=False)], [made(CALLS, 12, by_value=True, draw=at) for at in range(10)]
    for _ in range(3_000):
        chance.shuffle(gains)
        quality = day_of(gains).quality
        differences.append(sum(map(quality, by_value)) / 10 - quality(fair))
    assert expected == pytest.approx(stdev(differences), rel=0.05)
    assert error_by_chance([day_of(gains)._replace(adds_up=False)], 0.25) is None


def test_only_measures_that_calls_raise_are_plotted() -> None:
    def curve(name: str, *shares: float) -> Table:
        return Table(TITLE + name, (), tuple(Row("", (0.5, share, 1, 1)) for share in shares))

    some = [0.6] * len(SHARES) + [0.7] * len(SHARES)
    shown = plot_of([curve("coverage", 0.5, *some, 1.0), curve("facts", 1.1, *some, 1.0)])
    assert ("coverage, fair" in shown, "coverage, value" in shown, "facts" in shown) == (True, True, False)
