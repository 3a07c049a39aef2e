"""Effects: each states what it expects, and a job is applied whole or not at all."""

from __future__ import annotations

import copy

import pytest
from scheduler_case import ANN, BOB, seen

from memory.apply import apply, unmet
from memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    MarkAccessed,
    ReplaceSummary,
    SetCounter,
    SetPlanStatus,
    Tell,
)
from memory.entry import Entry, PlanItem
from memory.stream import Stream


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


def test_a_plan_item_that_is_as_wanted_already_is_no_obstacle(streams: dict[str, Stream]) -> None:
    """What an agent decided an hour ago is not lost because the world has completed the item meanwhile."""
    streams[ANN].set_plan_status("1-0", "completed")
    assert unmet(streams, (SetPlanStatus(owner=ANN, item="1-0", status="completed", expects="active"),)) is None
    assert unmet(streams, (SetPlanStatus(owner=ANN, item="1-0", status="active", expects="pending"),)) is not None
