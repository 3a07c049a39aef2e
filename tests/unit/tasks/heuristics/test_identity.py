"""Pursuit and place of work, read from a few words."""

from __future__ import annotations

import pytest

from cogitate.memory.profile import Location, Profile
from cogitate.tasks.heuristics.identity import pursuit_of, work_of


def test_a_current_concern_is_told_as_an_activity(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("", ""),
        ("Klaus is happy.", ""),
        ("Klaus is writing a paper on cats, and dogs.", "Spend time writing a paper on cats"),
        ("Klaus is writing a paper because he must", "Spend time writing a paper"),
        ("Klaus hopes to win the prize", "Win the prize"),
        ("Klaus is planning to go to the sea", "Go to the sea"),
        ("You want to know who took the flour, and why.", "Know who took the flour"),
        ("Klaus is being silly. Klaus wants to sing.", "Sing"),
        ("Klaus is meeting Ann at 5pm. Klaus is reading.", "Spend time reading"),
        ("Status: Klaus is busy painting the", "Spend time painting"),
        ("Status: none", ""),
        ("He is making a b c d e f g h i j k l m", "Spend time making a b c d e f g h i j k"),
        ("He is painting the and of", "Spend time painting"),
        ("He wants to of", "Of"),
    ]
    for currently, pursuit in cases:
        with subtests.test(currently=currently):
            assert pursuit_of(Profile(name="K", currently=currently)) == pursuit


def test_the_place_of_work_is_given_or_named_by_the_occupation_and_not_the_home() -> None:
    places = (Location(id="cafe", name="Hobbs Cafe"),)
    assert work_of(Profile(name="K", occupation="cook at Hobbs Cafe"), places) == "cafe"
    assert work_of(Profile(name="K", occupation="cook at Hobbs Cafe", home="cafe"), places) == ""
    assert work_of(Profile(name="K", occupation="cook at Hobbs Cafe", work="bar"), places) == "bar"
    assert work_of(Profile(name="K", occupation="cook"), places) == ""
