"""The choice of a retrieval profile: by name, or as a table of weights."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.errors import InputError
from cogitate.memory.retrieval.profiles import (
    CUSTOM,
    MAX_WEIGHT,
    MEASURES,
    PROFILES,
    check_choice,
    profile_of,
)
from cogitate.memory.retrieval.retrieval import DEFAULT, DIALOGUE, SPEC


class Name(str):
    """A string of somebody's own."""


def test_a_profile_is_chosen_by_its_name() -> None:
    assert {name: profile_of(name) for name in PROFILES} == {one.name: one for one in (DEFAULT, DIALOGUE, SPEC)}
    for name in PROFILES:
        assert check_choice("profile", name) == name
    assert type(check_choice("profile", Name(DEFAULT.name))) is str, "what is kept is plain"


def test_a_table_names_measures_and_is_kept_in_their_order() -> None:
    whole = check_choice("profile", {name: float(n) for n, name in enumerate(reversed(tuple(MEASURES)))})
    assert isinstance(whole, dict)
    assert list(whole) == list(MEASURES)
    assert whole[tuple(MEASURES)[-1]] == 0.0
    given = {"recency": 1, "relevance": 0.5}
    kept = check_choice("profile", given)
    assert kept == {"relevance": 0.5, "recency": 1.0}
    assert [type(weight) for weight in kept.values()] == [float, float]  # type: ignore[union-attr]
    profile = profile_of(kept)
    assert [(c.name, c.weight, c.measure) for c in profile.components] == [
        ("relevance", 0.5, MEASURES["relevance"]),
        ("recency", 1.0, MEASURES["recency"]),
    ]
    assert (profile.name, profile.matching) == (CUSTOM, DEFAULT.matching)


@pytest.mark.parametrize("weight", [0, 0.0, 0.5, 1, MAX_WEIGHT])
def test_a_weight_is_a_number_from_0_to_1000(weight: float) -> None:
    assert check_choice("profile", {"relevance": weight, "recency": 1}) == {"relevance": weight, "recency": 1.0}


def test_an_invalid_weight_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[Any] = [-0.1, MAX_WEIGHT + 1, float("nan"), float("inf"), True, "1", None, [1]]
    for weight in cases:
        refused = pytest.raises(InputError, match=r"profile: relevance is .*: give a number from 0 to 1,000")
        with subtests.test(weight=weight), refused:
            check_choice("profile", {"relevance": weight, "recency": 1})


def test_an_invalid_choice_is_refused_with_a_reason(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str]] = [
        ("best", "unknown profile 'best'; use one of default, "),
        (None, "profile is None: give 'default'"),
        (["relevance"], "give 'default'"),
        ({}, "give at least one weight above 0"),
        ({"relevance": 0}, "give at least one weight above 0"),
        ({"beauty": 1}, "components are relevance, importance"),
        ({"relevance": 1, "beauty": 1}, "components are"),
        ({1: 1}, "components are"),
        ({"relevance": 1, 1: 1}, "components are"),
        ({f"measure {n}": 1 for n in range(len(MEASURES) + 1)}, "components are"),
    ]
    for value, why in cases:
        with subtests.test(value=value), pytest.raises(InputError, match=why):
            check_choice("profile", value)
