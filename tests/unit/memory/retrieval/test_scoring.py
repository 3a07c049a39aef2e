"""The formulas of retrieval, against values computed by hand."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.retrieval.scoring import (
    HALF_LIFE,
    bm25,
    keyword_relevance,
    log_ages,
    normal_importance,
    recency,
    scaled,
)
from cogitate.memory.retrieval.terms import Terms

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


def test_recency_halves_with_every_half_life() -> None:
    assert recency(1000, 1000) == 1
    assert recency(1000, 1360) == 0.5
    assert recency(1000, 1720) == 0.25
    assert recency(1000, 2440, half_life=1440) == 0.5
    assert recency(1000, 900) == 1, "the future counts as now"
    assert HALF_LIFE == {"observation": 360, "message": 360, "summary": 360, "plan": 720, "reflection": 1440}


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_younger_is_never_less_recent(now: int, a: int, b: int) -> None:
    older, younger = sorted((a, b))
    assert recency(younger, now) >= recency(older, now)
    of_younger, of_older = log_ages([younger, older], now)
    assert of_younger <= of_older


@pytest.mark.parametrize(("rating", "value"), [(1, 0), (10, 1), (5.5, 0.5), (4, 1 / 3), (0, 0), (14, 1), (-3, 0)])
def test_normal_importance(rating: float, value: float) -> None:
    assert normal_importance(rating) == pytest.approx(value)


@pytest.mark.parametrize(
    ("memory", "query", "value"),
    [
        (["party", "cafe"], ["party", "valentine"], 1 / 3),
        (["Party"], ["party"], 1),
        (["party", "party"], ["party"], 1),
        ([], ["party"], 0),
        (["party"], [], 0),
        (["a"], ["b"], 0),
    ],
)
def test_keyword_relevance(memory: list[str], query: list[str], value: float) -> None:
    assert keyword_relevance(memory, query) == pytest.approx(value)


@given(st.lists(finite))
def test_scaled_is_finite_and_within_one(values: list[float]) -> None:
    result = scaled(values)
    assert len(result) == len(values)
    assert all(0 <= v <= 1 for v in result)
    if len(set(values)) > 1:
        assert min(result) == 0
        assert max(result) == 1
    else:
        assert not any(result), "equal values tell nothing apart"


def test_bm25_by_hand() -> None:
    documents = list(map(Terms, (["party", "cafe"], ["cafe", "cat"], ["party"] * 2 + ["dog"] * 4)))
    # Mean length 10/3; k1 = 1.2, b = 0.6. Party and cafe are in 2 of 3, cat in 1 of 3, king in none.
    two, one = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    first = 2.2 / (1 + 1.2 * (0.4 + 0.6 * 2 / (10 / 3)))
    third = 2 * 2.2 / (2 + 1.2 * (0.4 + 0.6 * 6 / (10 / 3)))
    assert bm25(documents, {"party": 1}) == pytest.approx([first * two, 0, third * two])
    assert bm25(documents, {"party": 1, "cat": 0.5, "king": 2}) == pytest.approx(
        [first * two, first * one / 2, third * two]
    )


@given(
    st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5)), max_size=6),
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 3)),
)
def test_bm25_is_finite_and_never_negative(documents: list[dict[str, int]], terms: dict[str, int]) -> None:
    scores = bm25([Terms(Counter(one).elements()) for one in documents], terms)
    assert len(scores) == len(documents)
    assert all(math.isfinite(s) and s >= 0 for s in scores)
    assert all((s > 0) <= bool(terms.keys() & d.keys()) for s, d in zip(scores, documents, strict=True))
