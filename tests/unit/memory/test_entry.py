"""The items of a plan that count now: the one under way, and the next."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.entry import INTO_SUMMARY, PlanItem, present_items
from cogitate.memory.policies.compaction import Cut

NOON = 720


def item(name: str, minute: int | None, status: Any = "pending") -> PlanItem:
    return PlanItem(id=name, description=name, minute=minute, status=status)


def test_the_item_whose_time_came_last_is_under_way_and_the_first_pending_one_is_next(
    subtests: pytest.Subtests,
) -> None:
    cases: list[tuple[list[PlanItem], str | None, str | None]] = [
        ([], None, None),
        ([item("a", NOON)], "a", None),
        ([item("a", NOON + 1)], None, "a"),
        ([item("a", NOON - 1)], "a", None),
        ([item("a", None)], "a", None),
        ([item("a", NOON, "active")], "a", None),
        ([item("a", NOON, "done")], None, None),
        ([item("a", NOON, "cancelled")], None, None),
        ([item("a", 600), item("b", 700)], "b", None),
        ([item("b", 700), item("a", 600)], "b", None),
        ([item("a", 600), item("b", 700, "done")], None, None),
        ([item("c", 900), item("b", 800), item("a", 721)], None, "a"),
        ([item("a", 721, "active"), item("b", 800, "done"), item("c", 900)], None, "c"),
        ([item("a", 600), item("b", 800)], "a", "b"),
    ]
    for items, now, later in cases:
        with subtests.test(items=items):
            found = present_items(iter(items), NOON)
            assert [None if one is None else one.id for one in found] == [now, later]


def test_an_item_without_a_time_has_begun_at_the_first_minute() -> None:
    assert present_items([item("a", None)], 0).now == item("a", None)


def test_entries_taken_by_pruning_are_named_in_order_of_number() -> None:
    cut = Cut(routine=(40, 9), talks=((17, 33), (8,)), reflections=(100, 1), plans=(64,))
    assert cut.numbers == (1, 8, 9, 17, 33, 40, 64, 100)
    assert Cut().numbers == ()


def test_summarised_entries_are_marked_as_in_every_version() -> None:
    """Numbers of entries begin with 1; 0 stands for nothing. Readers of a kept run know no other mark."""
    assert INTO_SUMMARY == -1
