"""Reading a view changes no memory, and costs as much as its result."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from cogitate.memory.entry import Character, Entry
from cogitate.memory.errors import UsageError
from cogitate.memory.stream import Stream
from cogitate.memory.view import MemoryView
from tests.unit.memory.view.day_case import PLAN, seen, stream_of
from tests.unit.memory.view.view_case import ADA, BEN, view_of

# -- what is handed out ------------------------------------------------------------------------------


def test_nothing_that_is_returned_can_change_the_memory(stream: Stream, view: MemoryView) -> None:
    stream.head.character = Character(relationships={"Ben Cole": "a friend"})
    before = stream.seal()
    (entry,) = view.recent(1)
    with pytest.raises(AttributeError):
        entry.text = "Nothing happened."  # type: ignore[misc]
    view.character.relationships["Ben Cole"] = "a foe"
    view.character.relationships.clear()
    plan, recalled, (other, *_) = view.plan(), view.recall("bellows"), view.relationships()
    assert plan is not None
    for frozen, field in (
        (plan, "items"),
        (plan.items[0], "status"),
        (recalled[0], "score"),
        (other, "words"),
        (recalled[0].parts[0], "value"),
        (view.conversations()[0], "entries"),
    ):
        with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
            setattr(frozen, field, None)
    for held in (
        view.recent(),
        view.by_type("plan"),
        view.about(BEN),
        view.between(0, 999),
        recalled,
        plan.items,
        view.reflections(),
        view.conversations(),
        view.relationships(),
    ):
        assert isinstance(held, tuple)
    for name in ("owner", "minute", "summary", "character"):
        with pytest.raises(AttributeError):
            setattr(view, name, "mine")
    again = Stream(ADA, entries=stream.entries.values(), archived=stream.archived, marks=stream.marks, head=stream.head)
    assert stream.seal() == before == again.seal()
    assert stream.head.character.relationships == {"Ben Cole": "a friend"}


def test_reading_notes_no_change(stream: Stream, view: MemoryView) -> None:
    stream.take_changes()
    view.recall("bellows")
    view.context("bellows")
    view.relationships()
    view.conversations()
    view.plan()
    assert not stream.take_changes()
    assert stream.marks == {}


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_view_is_neither_copied_nor_pickled(view: MemoryView, duplicate: Any) -> None:
    with pytest.raises(UsageError, match="cannot be pickled or copied"):
        duplicate(view)


class Counted(dict[int, Entry]):
    """Live entries that count how many of them are looked at."""

    looked = 0

    def values(self) -> Any:
        return CountedValues(self)


class CountedValues:
    def __init__(self, owner: Counted) -> None:
        self.owner = owner

    def __reversed__(self) -> Iterator[Entry]:
        for entry in reversed(dict.values(self.owner)):
            self.owner.looked += 1
            yield entry

    def __iter__(self) -> Iterator[Entry]:
        for entry in dict.values(self.owner):
            self.owner.looked += 1
            yield entry


def test_the_cost_of_reading_follows_the_result() -> None:
    stream = stream_of(*(seen(f"Cart {n} went by.", n, BEN) for n in range(10_000)))
    live = stream._live = Counted(stream._live)
    view = view_of(stream, 10_000)
    for read, most in (
        (lambda: view.recent(5), 5),
        (lambda: view.about(BEN, limit=7), 7),
        (lambda: view.by_type("observation", 9), 9),
        (lambda: len(view), 0),
        (lambda: view.context(tokens=100), 50),
        (lambda: view.plan(), 0),
    ):
        live.looked = 0
        read()
        assert live.looked <= most


def test_a_plan_is_found_without_reading_earlier_entries() -> None:
    stream = stream_of(*(seen(f"Cart {n} went by.", n) for n in range(500)), PLAN, seen("Rain.", 501))
    live = stream._live = Counted(stream._live)
    assert view_of(stream).plan() is not None
    assert live.looked <= 2
