"""Effects: each states what it expects, and a job is applied whole or not at all."""

from __future__ import annotations

import copy

import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    ForgetWaiting,
    MarkAccessed,
    Rate,
    ReplaceSummary,
    SetCounter,
    SetPlanStatus,
    TakeWaiting,
    Tell,
)
from cogitate.memory.entry import INTO_SUMMARY, Archived, Entry, Marks, PlanItem, PlanStatus
from cogitate.memory.stream import Stream
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen


@pytest.fixture
def streams() -> dict[str, Stream]:
    """Ann has observations 1 to 3 (3 is archived), a provisional reflection 4 and a plan 5."""
    stream = Stream(ANN)
    for i in range(3):
        stream.append(seen(f"{i}"), 1)
    stream.append(Entry(type="reflection", text="a guess", minute=0, provisional=True), 1)
    stream.append(Entry(type="plan", text="day", minute=0, items=(PlanItem(id="1-0", description="eat"),)), 1)
    stream.archive(3, 1)
    return {ANN: stream, BOB: Stream(BOB)}


def state(streams: dict[str, Stream]) -> object:
    return copy.deepcopy({o: (s.entries, s.archived, s.marks, s.head, s.live()) for o, s in streams.items()})


GOOD = Append(owner=ANN, entry=seen("new"))
REFUSED: list[tuple[str, tuple[Effect, ...]]] = [
    ("has left", (Append(owner="agent:gone", entry=seen("x")),)),
    ("has left", (Tell(owner="agent:gone", topic="t", data={}),)),
    ("entry 3 is not live", (Archive(owner=ANN, numbers=(1, 3)),)),
    ("entry 9 is not live", (Archive(owner=ANN, numbers=(9,)),)),
    ("entry 1 is not live", (Archive(owner=ANN, numbers=(1, 1)),)),
    ("entry 1 is not live", (Archive(owner=ANN, numbers=(1,)), Archive(owner=ANN, numbers=(2, 1)))),
    ("entry 6 is not live", (GOOD, Archive(owner=ANN, numbers=(6,)))),
    ("entry 1 to be replaced is not provisional", (Append(owner=ANN, entry=seen("x"), replaces=1),)),
    ("entry 3 to be replaced is not live", (Append(owner=ANN, entry=seen("x"), replaces=3),)),
    ("entry 4 to be replaced is not live", (Append(owner=ANN, entry=seen("x"), replaces=4),) * 2),
    ("entry 4 is not live", (Append(owner=ANN, entry=seen("x"), replaces=4), Archive(owner=ANN, numbers=(4,)))),
    ("summary is at version 0", (ReplaceSummary(owner=ANN, text="s", version=1),)),
    ("plan item 1-0 is pending", (SetPlanStatus(owner=ANN, item="1-0", status="completed", expects="active"),)),
    ("plan item 9-9 is gone", (SetPlanStatus(owner=ANN, item="9-9", status="active", expects="pending"),)),
    ("cursor c is at 0", (AdvanceCursor(owner=ANN, name="c", start=1, end=2),)),
    ("cursor c is at 0", (AdvanceCursor(owner=ANN, name="c", start=0, end=-1),)),
    ("cursor c is at 2", (AdvanceCursor(owner=ANN, name="c", start=0, end=2),) * 2),
]


@pytest.mark.parametrize(("why", "effects"), REFUSED)
def test_nothing_is_applied_when_one_precondition_fails(
    streams: dict[str, Stream], why: str, effects: tuple[Effect, ...]
) -> None:
    before = state(streams)
    found = unmet(streams, (SetCounter(owner=BOB, name="n", value=1), GOOD, *effects))
    assert found is not None
    assert why in found
    assert state(streams) == before


def test_everything_is_applied_when_all_hold(streams: dict[str, Stream]) -> None:
    effects: tuple[Effect, ...] = (
        Append(owner=ANN, entry=seen("summary")),
        Archive(owner=ANN, numbers=(1, 2), into_appended=True),
        Append(owner=ANN, entry=seen("insight"), replaces=4),
        ReplaceSummary(owner=ANN, text="s", version=0),
        SetPlanStatus(owner=ANN, item="1-0", status="active", expects="pending"),
        AdvanceCursor(owner=ANN, name="c", start=0, end=2),
        AdvanceCursor(owner=ANN, name="c", start=2, end=3),
        MarkAccessed(owner=ANN, numbers=(2, 5, 99), minute=8),
        SetCounter(owner=BOB, name="n", value=1),
        Tell(owner=BOB, topic="action", data={"a": 1}),
    )
    assert unmet(streams, effects) is None
    appended = apply(streams, effects, 7)
    ann = streams[ANN]
    assert [(entry.number, entry.tick) for entry in appended] == [(6, 7), (7, 7)]
    assert {n: (a.tick, a.into) for n, a in ann.archived.items()} == {3: (1, 0), 1: (7, 6), 2: (7, 6), 4: (7, 7)}
    assert (ann.head.summary, ann.head.summary_version, ann.head.cursors) == ("s", 1, {"c": 3})
    assert ann.head.plan_status == {"1-0": "active"}
    assert {n: m.accesses for n, m in ann.marks.items()} == {2: 1, 5: 1}
    assert streams[BOB].head.counters == {"n": 1}


def test_a_summary_is_replaced_once_per_version(streams: dict[str, Stream]) -> None:
    twice = (ReplaceSummary(owner=ANN, text="one", version=0), ReplaceSummary(owner=ANN, text="two", version=0))
    assert unmet(streams, twice) == "summary is at version 1, not 0"


def test_a_plan_item_moves_on_within_one_job(streams: dict[str, Stream]) -> None:
    steps = (
        SetPlanStatus(owner=ANN, item="1-0", status="active", expects="pending"),
        SetPlanStatus(owner=ANN, item="1-0", status="completed", expects="active"),
    )
    assert unmet(streams, steps) is None


def test_an_unchanged_plan_item_is_not_an_obstacle(streams: dict[str, Stream]) -> None:
    """An agent's decision of an hour ago holds although the world has completed the item meanwhile."""
    streams[ANN].set_plan_status("1-0", "completed")
    assert unmet(streams, (SetPlanStatus(owner=ANN, item="1-0", status="completed", expects="active"),)) is None
    assert unmet(streams, (SetPlanStatus(owner=ANN, item="1-0", status="active", expects="pending"),)) is not None


def waiting(streams: dict[str, Stream], count: int) -> None:
    for i in range(count):
        streams[ANN].wait(seen(f"waits {i}"))


@pytest.mark.parametrize(
    ("why", "effects"),
    [
        ("3 entries wait, not 4", (TakeWaiting(ANN, 4),)),
        ("1 entries wait, not 2", (TakeWaiting(ANN, 2), TakeWaiting(ANN, 2))),
        ("1 entries wait, not 2", (TakeWaiting(ANN, 2), ForgetWaiting(ANN, 1, start=1))),
        ("1 entries wait, not 2", (ForgetWaiting(ANN, 2, start=0), TakeWaiting(ANN, 2))),
        ("3 entries wait, not 4", (ForgetWaiting(ANN, 3, start=1),)),
        ("3 entries wait", (TakeWaiting(ANN, -1),)),
        ("3 entries wait", (ForgetWaiting(ANN, 1, start=-1),)),
        ("entry 8 is not live", (TakeWaiting(ANN, 2), Archive(owner=ANN, numbers=(8,)))),
        ("entry 6 is not live", (Archive(owner=ANN, numbers=(6,)), TakeWaiting(ANN, 2))),
        ("entry 6 is not live", (TakeWaiting(ANN, 2), Archive(owner=ANN, numbers=(6, 6)))),
        ("entry 6 is not live", (TakeWaiting(BOB, 0), Archive(owner=ANN, numbers=(6,)))),
    ],
)
def test_effects_on_more_entries_than_wait_are_refused(
    streams: dict[str, Stream], why: str, effects: tuple[Effect, ...]
) -> None:
    waiting(streams, 3)
    assert why in (unmet(streams, effects) or "")


def test_waiting_entries_are_appended_in_order_and_may_be_archived_at_once(streams: dict[str, Stream]) -> None:
    waiting(streams, 4)
    effects: tuple[Effect, ...] = (
        TakeWaiting(ANN, 2),
        Archive(owner=ANN, numbers=(1, 7), into_summary=True),
        ForgetWaiting(ANN, 1, start=1),
    )
    assert unmet(streams, effects) is None
    assert apply(streams, effects, 9) == []
    stream = streams[ANN]
    assert [(stream.entries[n].text, stream.entries[n].tick, stream.is_live(n)) for n in (6, 7)] == [
        ("waits 0", 9, True),
        ("waits 1", 9, False),
    ]
    assert {number: stream.archived[number] for number in (1, 7)} == {
        1: Archived(9, INTO_SUMMARY),
        7: Archived(9, INTO_SUMMARY),
    }
    assert [entry.text for entry in stream.head.waiting] == ["waits 2"]


@pytest.mark.parametrize(
    ("numbers", "ratings", "good"),
    [
        ((1,), (1,), True),
        ((1,), (10,), True),
        ((1,), (0,), False),
        ((1,), (11,), False),
        ((1, 2), (5, 11), False),
        ((1, 2), (5,), False),
        ((1,), (5, 5), False),
        ((), (), True),
    ],
)
def test_a_rating_is_of_one_entry_each_and_from_1_to_10(
    streams: dict[str, Stream], numbers: tuple[int, ...], ratings: tuple[int, ...], good: bool
) -> None:
    rated = (Rate(owner=ANN, numbers=numbers, ratings=ratings),)
    assert (unmet(streams, rated) is None) is good


def test_archived_entries_go_where_their_effect_says(streams: dict[str, Stream]) -> None:
    """Into the entry that was appended last for its owner, into the summary, or into nothing."""
    effects: tuple[Effect, ...] = (
        GOOD,
        Append(owner=BOB, entry=seen("another's")),
        Archive(owner=ANN, numbers=(1,), into_appended=True),
        Archive(owner=ANN, numbers=(2,)),
        ReplaceSummary(owner=ANN, text="all that was", version=0),
        Archive(owner=BOB, numbers=(), into_appended=True),
    )
    assert unmet(streams, effects) is None
    apply(streams, effects, 7)
    archived = streams[ANN].archived
    assert (archived[1], archived[2]) == (Archived(7, 6), Archived(7, 0))
    head = streams[ANN].head
    assert (head.summary, head.summary_version) == ("all that was", 1)
    assert streams[ANN].take_changes().head is not None
    nothing = "no entry was appended"
    assert nothing in (unmet(streams, (GOOD, Archive(owner=BOB, numbers=(1,), into_appended=True))) or "")
    replaced = (
        Append(owner=ANN, entry=seen("better"), replaces=4),
        Archive(owner=ANN, numbers=(2,), into_appended=True),
    )
    assert nothing in (unmet(streams, replaced[1:]) or "")
    streams[ANN] = Stream(ANN, entries=[e for n, e in streams[ANN].entries.items() if n in (2, 4)])
    assert unmet(streams, replaced) is None, "what replaces another is appended as well"


def test_a_repeated_recall_counts_twice(streams: dict[str, Stream]) -> None:
    for minute in (30, 90):
        apply(streams, (MarkAccessed(owner=ANN, numbers=(1, 99), minute=minute),), 2)
    assert streams[ANN].marks == {1: Marks(accesses=2, last_accessed=90)}


def test_only_unrated_entries_are_rated(streams: dict[str, Stream]) -> None:
    apply(streams, (Rate(owner=ANN, numbers=(1, 99), ratings=(4, 5)),), 2)
    apply(streams, (Rate(owner=ANN, numbers=(1, 2), ratings=(9, 8)),), 3)
    assert [(streams[ANN].entries[n].importance, streams[ANN].entries[n].rated) for n in (1, 2)] == [(4, 2), (8, 3)]


@pytest.mark.parametrize("present", ["pending", "active"])
def test_a_plan_item_may_be_given_the_status_it_has(streams: dict[str, Stream], present: PlanStatus) -> None:
    start = SetPlanStatus(owner=ANN, item="1-0", expects="pending", status="active")
    if present == "active":
        apply(streams, [start], 2)
    assert unmet(streams, [start]) is None
