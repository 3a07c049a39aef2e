"""Values that entries, heads, marks and effects cannot have are read as they are, told, and removed on demand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.effects import Archive, Effect, SetCounter
from cogitate.memory.entry import Entry, Head, Marks, PlanItem
from cogitate.memory.unreadable import (
    LeftOut,
    UnreadableEntry,
    UnreadableItem,
    as_it_is,
    effect_as_it_is,
    leave_out,
    read_entry,
    read_head,
    read_marks,
    unreadable,
    why_unreadable,
)
from tests.unit.tasks.kind_cases import KLAUS, observation, stream_of

ODD = {"type": "poem", "text": "Roses.", "minute": 3}


def read(fields: Any) -> Entry:
    return read_entry(msgspec.json.encode(fields))


def test_an_entry_that_can_be_read_is_an_ordinary_one() -> None:
    entry = read({"type": "plan", "text": "Walk.", "minute": 3})
    assert type(entry) is Entry
    assert why_unreadable(entry) == ""


def test_an_odd_value_is_kept_and_the_others_are_read() -> None:
    entry = read({**ODD, "subjects": ["a", "b"], "evidence": [1], "importance": "high", "number": 4})
    assert type(entry) is UnreadableEntry
    assert (entry.type, entry.importance) == ("poem", "high")
    assert (entry.text, entry.minute, entry.number) == ("Roses.", 3, 4)
    assert (entry.subjects, entry.evidence) == (("a", "b"), (1,))
    assert why_unreadable(entry) == "Invalid enum value 'poem' - at `$.type`"
    assert why_unreadable(UnreadableEntry(type="plan", text="x", minute=1)) == "all its values are valid"


def test_items_are_read_one_by_one() -> None:
    good, odd, none = {"id": "1", "description": "x"}, {"id": "2", "description": 3}, {"id": "3"}
    further = {"id": "4", "description": 3, "colour": "red"}
    entry = read({"type": "plan", "text": "x", "minute": 3, "items": [good, odd, none, further, "tea"]})
    assert entry.items == (
        PlanItem(id="1", description="x"),
        UnreadableItem(id="2", description=3),  # type: ignore[arg-type]
        none,
        further,
        "tea",
    )
    assert [type(item).__name__ for item in entry.items] == ["PlanItem", "UnreadableItem", "dict", "dict", "str"]


def test_anything_but_an_entry_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[Any] = [
        [1],
        "x",
        {},
        {"type": "poem", "text": "x"},
        {"type": "poem", "minute": 1},
        {"text": "x", "minute": 1},
        {**ODD, "colour": "red"},
        {**ODD, "number": "1"},
        {**ODD, "tick": None},
        {**ODD, "rated": 1.5},
    ]
    for fields in cases:
        with subtests.test(fields=fields):
            with pytest.raises(msgspec.ValidationError):
                read(fields)
            with pytest.raises(msgspec.ValidationError, match="as was said"):
                as_it_is(fields, msgspec.ValidationError("as was said"))


@pytest.mark.parametrize(
    ("fields", "marks"),
    [({"accesses": 2}, Marks(accesses=2)), ({"accesses": "two"}, Marks(accesses="two"))],  # type: ignore[arg-type]
)
def test_marks_are_read_with_the_values_that_they_have(fields: Any, marks: Marks) -> None:
    assert read_marks(msgspec.json.encode(fields)) == marks


@pytest.mark.parametrize("fields", [[1], 3, {"accesses": 1, "colour": "red", "repeats": "x"}])
def test_invalid_marks_are_refused(fields: Any) -> None:
    if isinstance(fields, dict):
        with pytest.raises(msgspec.ValidationError, match="repeats"):
            read_marks(msgspec.json.encode(fields))
    else:
        with pytest.raises(msgspec.ValidationError, match="object"):
            read_marks(msgspec.json.encode(fields))


def test_only_counters_and_statuses_of_a_head_may_be_invalid() -> None:
    fields = {"last_number": 3, "counters": {"a": 1, "b": "x"}, "plan_status": {"1-0": "lost", "1-1": "pending"}}
    head = read_head(msgspec.json.encode(fields))
    assert (head.last_number, head.counters, head.plan_status) == (3, fields["counters"], fields["plan_status"])
    assert read_head(msgspec.json.encode({"last_number": 3})) == Head(last_number=3)
    assert read_head(msgspec.json.encode({"counters": {"b": "x"}})).plan_status == {}
    for wrong in ({"counters": 3}, {"counters": {"a": "x"}, "plan_status": []}, {"last_number": "x"}, [1]):
        with pytest.raises(msgspec.ValidationError):
            read_head(msgspec.json.encode(wrong))


WRONG = msgspec.ValidationError("as was said")


@pytest.mark.parametrize(
    ("fields", "effect"),
    [
        ({"type": "counter", "owner": "a", "name": "x", "value": "y"}, SetCounter("a", "x", "y")),  # type: ignore[arg-type]
        ({"type": "archive", "owner": 3, "numbers": [1, 2]}, Archive(3, (1, 2))),  # type: ignore[arg-type]
        (
            {"type": "archive", "owner": 3, "numbers": [1], "into_appended": True, "into_summary": False},
            Archive(3, (1,), into_appended=True),
        ),  # type: ignore[arg-type]
    ],
)
def test_an_effect_is_read_with_the_values_that_it_has(fields: Any, effect: Effect) -> None:
    assert effect_as_it_is(fields, WRONG) == effect


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "append", "owner": "a", "entry": {}},
        {"type": "poem", "owner": "a"},
        {"owner": "a"},
        [1],
        None,
        {"type": "counter", "owner": "a", "name": "x", "value": 1, "colour": "red"},
        {"type": "counter", "owner": "a", "name": "x"},
    ],
)
def test_an_invalid_effect_is_refused_with_the_reason(fields: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match="as was said"):
        effect_as_it_is(fields, WRONG)


def test_unreadable_values_are_reported_and_skipped_on_demand() -> None:
    odd = UnreadableEntry(type="poem", text="Roses.", minute=3)  # type: ignore[arg-type]
    stream = stream_of(observation("Tea.", 1), odd, observation("Rain.", 4), observation("Sun.", 5))
    stream.archive(1, 2, 2)  # into the odd one
    stream.archive(3, 2, 4)
    stream.mark(4, Marks(accesses="often"))  # type: ignore[arg-type]
    stream.mark(3, Marks(accesses=1))
    stream.head.counters |= {"a": 1, "b": "x", "c": True}  # type: ignore[dict-item]
    stream.head.plan_status |= {"1-0": "lost", "1-1": "pending"}  # type: ignore[dict-item]
    stream.take_changes()
    assert list(unreadable([stream_of(observation("Tea.", 1)), stream])) == [
        LeftOut(KLAUS, 2, "Invalid enum value 'poem' - at `$.type`"),
        LeftOut(KLAUS, 0, "counter 'b' is 'x', counter 'c' is True, plan item '1-0' is 'lost', marks of entry 4"),
    ]

    leave_out(stream, [], 9)
    assert len(list(unreadable([stream]))) == 2
    leave_out(stream, [2], 9)
    assert sorted(stream.entries) == [1, 3, 4]
    assert (stream.archived[1].into, stream.archived[3].into) == (0, 4)
    assert [left.number for left in unreadable([stream])] == [0]
    assert stream.head.counters.keys() == {"a", "b", "c"}

    leave_out(stream, [0, 3], 9)
    assert list(unreadable([stream])) == []
    assert (stream.head.counters, stream.head.plan_status) == ({"a": 1}, {"1-1": "pending"})
    assert sorted(stream.entries) == [1, 4]
    assert stream.marks == {}
    assert stream.take_changes().head


def test_skipped_values_are_described() -> None:
    assert str(LeftOut("agent:a", 3, "why")) == "entry 3 of agent:a cannot be read and is left out: why"
    assert str(LeftOut("agent:a", 0, "why")) == "a value of agent:a cannot be read and is left out: why"


def test_a_long_reason_is_cut() -> None:
    odd = UnreadableEntry(type="x" * 500, text="", minute=3)  # type: ignore[arg-type]
    stream = stream_of(odd)
    stream.head.counters |= {"y" * 500: "x"}  # type: ignore[dict-item]
    assert [len(left.why) for left in unreadable([stream])] == [200, 200]
