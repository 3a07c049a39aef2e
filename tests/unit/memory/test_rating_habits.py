"""The ratings expected of a rater, before and after its first ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import Entry
from cogitate.memory.importance import Ratings
from cogitate.memory.rating_habits import RATINGS, expected_shares, posterior, uncertainty

GROUPS = ("seen0", "seen3", "seen6", "thought1", "grave", "talk")


def median(group: str, ratings: dict[str, list[int]]) -> int:
    """Return the median of what a class is expected to get after these ratings of classes."""
    counts = {name: [given.count(rating) for rating in range(1, RATINGS + 1)] for name, given in ratings.items()}
    total = 0.0
    for rating, share in enumerate(expected_shares(group, posterior(counts)), start=1):
        total += share
        if total >= 0.5:
            return rating
    raise AssertionError("shares add up to less than a half")


def test_a_rater_without_ratings_counts_as_usual() -> None:
    assert [median(group, {}) for group in GROUPS] == [2, 3, 6, 6, 7, 5]


def test_a_rater_that_rates_one_higher_is_expected_to_in_unrated_classes_too() -> None:
    usual, higher = {"seen4": [3] * 8 + [5, 6] * 4}, {"seen4": [4] * 8 + [6, 7] * 4}
    assert median("seen0", usual) == 2
    assert median("seen0", higher) == 3


def test_a_rater_that_keeps_to_the_low_end_is_expected_to_do_so() -> None:
    low = {"seen4": [2] * 8 + [4] * 8, "talk": [4] * 8}
    assert median("thought1", low) < median("thought1", {})


def test_a_usual_rater_stays_usual() -> None:
    ratings = {"seen2": [2] * 3 + [3] * 6 + [4], "talk": [3] * 3 + [5] * 3 + [6] * 4}
    assert [median(group, ratings) for group in GROUPS] == [median(group, {}) for group in GROUPS]


@given(
    st.sampled_from(GROUPS),
    st.dictionaries(st.sampled_from(GROUPS), st.lists(st.integers(0, 40), min_size=10, max_size=10)),
)
def test_shares_are_all_possible_and_add_up(group: str, counts: dict[str, list[int]]) -> None:
    habits = posterior(counts)
    shares = expected_shares(group, habits)
    assert sum(habits) == pytest.approx(1)
    assert sum(shares) == pytest.approx(1)
    assert len(shares) == RATINGS
    assert min(shares) > 0
    assert uncertainty(group) > 0


def test_the_learner_expects_new_classes_to_follow_the_rater() -> None:
    def idle() -> Entry:
        return Entry(type="observation", text="The bed is idle", minute=1)

    ratings = Ratings()
    before = ratings.estimate("agent:ann", idle()).rating
    for number in range(30):
        argued = Entry(type="observation", text=f"Ann and Bob discuss the election of mayor{number}", minute=number)
        ratings.learn("agent:ann", argued, 9)
    assert ratings.estimate("agent:ann", idle()).rating > before
