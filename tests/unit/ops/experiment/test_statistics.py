"""Means, paired differences and their intervals."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cogitate.ops.experiment.statistics import bootstrap, compare, pairs_needed, sentences


def rows(**conditions: list[float]) -> list[dict[str, Any]]:
    """Rows of one measure; the condition "base" is the base."""
    return [
        {"measure": "votes", "condition": name, "base": name == "base", "replicate": number, "value": value}
        for name, values in conditions.items()
        for number, value in enumerate(values, 1)
    ]


def test_an_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    chance = Random(4)
    covered = sum(
        one.low <= 10 <= one.high
        for one in (bootstrap([chance.gauss(10, 3) for _ in range(20)], str(n)) for n in range(150))
    )
    assert 0.87 * 150 <= covered <= 150


def test_the_same_values_and_seed_give_the_same_interval() -> None:
    values = [1.0, 4.0, 2.0, 8.0]
    assert bootstrap(values, "a") == bootstrap(values, "a")
    assert bootstrap(values, "a").mean == 3.75


def test_pairs_of_a_replicate_are_told_apart_where_the_conditions_alone_are_not() -> None:
    base = [10.0, 50.0, 90.0, 20.0, 70.0, 40.0]
    plain, other = compare(rows(base=base, rain=[value + 2 + n % 2 for n, value in enumerate(base)]))
    assert (plain.base, plain.difference) == (True, None)
    assert other.difference is not None
    assert (other.difference.n, other.difference.mean) == (6, 2.5)
    assert 2 <= other.difference.low < 2.5 < other.difference.high <= 3
    assert other.told
    assert other.value.width > 10 * other.difference.width


def test_only_replicates_that_both_have_are_pairs() -> None:
    _, other = compare(rows(base=[1.0, 2.0, 3.0], rain=[5.0]))
    assert other.difference is not None
    assert (other.difference.n, other.difference.mean) == (1, 4.0)
    assert other.value.n == 1


def test_a_measure_without_a_base_has_no_difference() -> None:
    (other,) = compare(rows(rain=[5.0, 6.0]))
    assert other.difference is None
    assert sentences([other]) == []


def test_too_few_replicates_are_named_with_how_many_would_do() -> None:
    spread = [9.0, -7.0, 8.0, -6.0, 1.0, 3.0]
    comparisons = compare(rows(base=[0.0] * 6, rain=spread))
    needed = pairs_needed(spread)
    assert needed is not None
    assert needed > 6
    assert any(f"about {needed} would" in line for line in sentences(comparisons))
    few = compare(rows(base=[0.0, 0.0], rain=[5.0, 6.0]))
    assert any("2 pairs are too few" in line for line in sentences(few))


@pytest.mark.parametrize("pairs", [[], [3.0], [0.0, 0.0], [5.0, 5.1, 4.9]])
def test_no_number_is_named_where_none_would_help_or_these_are_enough(pairs: list[float]) -> None:
    assert pairs_needed(pairs) is None


def test_a_measure_that_is_zero_everywhere_has_no_interval() -> None:
    comparisons = compare(rows(base=[0.0] * 6, rain=[0.0] * 6, snow=[0.0] * 6))
    assert all(one.empty for one in comparisons)
    assert sentences(comparisons) == []
