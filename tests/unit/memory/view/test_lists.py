"""What a view lists: memories, conversations, relationships, the plan."""

from __future__ import annotations

import dataclasses

from cogitate.memory.entry import Character
from cogitate.memory.stream import Stream
from cogitate.memory.view import MemoryView
from tests.unit.memory.view.day_case import numbers
from tests.unit.memory.view.view_case import ADA, BEN, CY, view_of


def test_lists_hold_their_entries_newest_last(view: MemoryView) -> None:
    assert (view.owner, view.minute, len(view)) == (ADA, 1_000, 8)
    assert numbers(view.recent(3)) == [6, 7, 8]
    assert numbers(view.recent()) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert view.recent(0) == ()
    assert numbers(view.by_type("message")) == [3, 4, 6]
    assert numbers(view.by_type("message", limit=2)) == [4, 6]
    assert numbers(view.reflections()) == [7]
    assert numbers(view.between(600, 850)) == [3, 4, 5]
    assert numbers(view.about(BEN)) == [3, 4, 5, 7]
    assert view.about("Ben Cole", limit=2) == view.about(BEN, limit=2)
    assert numbers(view.about(BEN, limit=2)) == [5, 7]
    assert view.about("Ben") == ()


def test_archived_entries_are_not_remembered(stream: Stream, view: MemoryView) -> None:
    stream.archive(8, 20)
    stream.archive(5, 20)
    assert numbers(view.recent(3)) == [4, 6, 7]
    assert numbers(view.about(BEN)) == [3, 4, 7]
    assert 5 not in numbers([one.entry for one in view.recall("bellows", limit=20)])
    assert len(view) == 6


def test_conversations_are_told_line_by_line_or_summarised(view: MemoryView) -> None:
    talks = view.conversations()
    assert [(talk.participants, numbers(talk.entries)) for talk in talks] == [
        ((ADA, CY), [8]),
        ((ADA, BEN), [3, 4]),
        ((ADA, CY), [6]),
    ]
    assert view.conversations(limit=1) == talks[-1:]
    assert view.conversations(limit=99) == talks


def test_relationships_join_stated_and_remembered_facts(stream: Stream, view: MemoryView) -> None:
    stream.head.character = Character(relationships={"Ben Cole": "a friend", "Dot": "her aunt"})
    relationships = view.relationships()
    assert [one.name for one in relationships] == ["Ben Cole", "Cy Dale", "Dot"]
    found = {one.name: one for one in relationships}
    assert dataclasses.astuple(found["Ben Cole"]) == (BEN, "Ben Cole", "a friend", 4, 900)
    assert dataclasses.astuple(found["Cy Dale"]) == (CY, "Cy Dale", "", 2, 850)
    assert dataclasses.astuple(found["Dot"]) == ("Dot", "Dot", "her aunt", 0, None)


def test_a_relationship_may_be_stated_by_id(stream: Stream, view: MemoryView) -> None:
    stream.head.character = Character(relationships={BEN: "a friend"})
    assert [(one.who, one.name, one.words) for one in view.relationships()] == [
        (BEN, "Ben Cole", "a friend"),
        (CY, "Cy Dale", ""),
    ]


def test_the_plan_shows_done_current_and_next_items(stream: Stream) -> None:
    stream.set_plan_status("1-0", "completed")
    stream.set_plan_status("1-2", "cancelled")
    plan = view_of(stream, 1_000).plan()
    assert plan is not None
    assert (plan.number, plan.valid_until) == (2, 1_800)
    assert [item.status for item in plan.items] == ["completed", "pending", "cancelled", "pending"]
    assert (plan.now, plan.next) == (plan.items[1], plan.items[3])
    early, done = view_of(stream, 400).plan(), view_of(stream, 500).plan()
    assert early is not None
    assert (early.now, early.next) == (None, plan.items[1])
    assert done is not None
    assert (done.now, done.next) == (None, plan.items[1])
    assert view_of(stream, 1_800).plan() is None
