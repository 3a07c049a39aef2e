"""The slots of a day's plan without a model: their minutes, and the words of an item."""

from __future__ import annotations

import pytest

from cogitate.tasks.heuristics.plans.day_plan import Slot, _free, _sentence, _spread


def slot(minute: int, text: str = "x") -> Slot:
    return Slot(minute, text, None, 3, 2)


def test_items_are_spread_within_their_window(subtests: pytest.Subtests) -> None:
    cases: list[tuple[list[int], int, int, list[int]]] = [
        ([], 0, 100, []),
        ([50], 0, 100, [50]),
        ([50], 60, 100, [60]),
        ([100], 0, 100, [99]),
        ([10, 10, 10], 0, 100, [10, 25, 40]),
        ([10, 24, 40], 0, 100, [10, 25, 40]),
        ([10, 90, 95], 0, 100, [10, 84, 99]),
        ([95, 96, 97], 0, 100, [69, 84, 99]),
        ([5, 5, 5], 0, 31, [5, 15, 25]),
        ([5, 5, 5], 0, 4, [1, 2, 3]),
        ([5, 5, 5], 0, 1, [0, 0, 0]),
        ([7, 7], 7, 7, [7, 7]),
        ([1_005, 1_005, 1_005], 1_000, 1_031, [1_005, 1_015, 1_025]),
    ]
    for minutes, start, end, spread in cases:
        with subtests.test(minutes=minutes):
            slots = [slot(minute, str(at)) for at, minute in enumerate(minutes)]
            found = _spread(slots, start, end)
            assert [one.minute for one in found] == spread
            assert [one.text for one in found] == [one.text for one in slots]


def test_a_free_minute_is_the_wanted_one_or_in_the_largest_gap(subtests: pytest.Subtests) -> None:
    cases: list[tuple[list[int], int | None, int, int, int]] = [
        ([], 50, 0, 100, 50),
        ([], 0, 0, 100, 0),
        ([], 100, 0, 100, 45),  # the middle of the largest gap, on a quarter of an hour
        ([], None, 0, 100, 45),
        ([5], 50, 0, 100, 50),
        ([6], 50, 0, 100, 45),
        ([95], 50, 0, 100, 50),
        ([94], 50, 0, 100, 45),
        ([50], None, 0, 100, 15),  # of gaps as large the first
        ([40], None, 0, 100, 60),
        ([40, 200], None, 0, 100, 60),
        ([], None, 7, 15, 7),
    ]
    for taken, wanted, start, end, free in cases:
        with subtests.test(taken=taken):
            assert _free([slot(minute) for minute in reversed(taken)], wanted, start, end) == free


def test_a_habit_becomes_something_to_do(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("takes a walk", "Take a walk"),
        ("goes home", "Go home"),
        ("Does the dishes", "Do the dishes"),
        ("has tea", "Have tea"),
        ("watches birds", "Watch birds"),
        ("press flowers", "Press flowers"),
        ("swim", "Swim"),
        ("гуляет", "Гуляет"),
        ("ēdas mājās", "Ēdas mājās"),  # only English verbs end so
        ("", ""),
    ]
    for habit, sentence in cases:
        with subtests.test(habit=habit):
            assert _sentence(habit) == sentence
