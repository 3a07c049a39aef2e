"""A stream read as of any tick, and the note of its changes."""

from __future__ import annotations

import sys

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from scheduler_case import ANN, seen

from memory.entry import Entry, Marks, PlanItem
from memory.stream import Stream

steps = st.lists(st.tuples(st.sampled_from(["append", "archive", "next"]), st.integers(0, 99)), max_size=60)


@given(steps)
def test_the_past_reads_the_same_for_ever(steps: list[tuple[str, int]]) -> None:
    """What was live at the end of a tick is found later from numbers and archive ticks alone."""
    stream, tick = Stream(ANN), 1
    past: dict[int, tuple[int, list[int]]] = {}
    for what, which in steps:
        live = [entry.number for entry in stream.live()]
        if what == "append":
            stream.append(seen(f"{which}"), tick)
        elif what == "archive" and live:
            stream.archive(live[which % len(live)], tick)
        else:
            past[tick] = (stream.head.last_number, live)
            tick += 1
    for then, (upto, live) in past.items():
        assert [entry.number for entry in stream.as_of(upto, then)] == live
    again = Stream(ANN, entries=stream.entries.values(), archived=stream.archived, head=stream.head)
    assert again.live() == stream.live()
    assert again.count() == stream.count() == len(stream.live())


def test_numbers_are_never_given_twice() -> None:
    stream = Stream(ANN)
    for i in range(3):
        stream.append(seen(f"{i}"), 1)
    stream.archive(3, 2)
    stream.delete([3])
    assert stream.append(seen("new"), 3).number == 4
    assert [e.number for e in stream.entries.values()] == [1, 2, 4]


def test_a_stream_that_forgets_what_it_takes_in_takes_no_more_room_in_the_end() -> None:
    stream = Stream(ANN)
    for tick in range(1, 200):
        for _ in range(10):
            number = stream.append(seen("the same"), tick).number
            stream.archive(number, tick)
            stream.mark(number, Marks(repeats=1))
        stream.delete([n for n, archived in stream.archived.items() if archived.tick <= tick - 75])
    for held in (stream.entries, stream.archived, stream.marks):
        assert len(held) == 750
        assert sys.getsizeof(held) == sys.getsizeof(dict.fromkeys(held))


def test_entries_are_numbered_and_dated_by_the_stream() -> None:
    entry = Stream(ANN).append(Entry(type="observation", text="saw", minute=5, number=77, tick=9), 3)
    assert (entry.number, entry.tick) == (1, 3)


def test_counts_follow_types() -> None:
    stream = Stream(ANN)
    for kind in ("observation", "message", "summary", "reflection", "plan"):
        stream.append(Entry(type=kind, text=kind, minute=0), 1)  # type: ignore[arg-type]
    assert (stream.observed(), stream.count("reflection"), stream.count()) == (3, 1, 5)
    stream.archive(2, 2)
    assert (stream.observed(), stream.count("message"), stream.count()) == (2, 0, 4)
    assert stream.latest("message") is None


def test_the_status_of_an_archived_plan_is_forgotten() -> None:
    stream = Stream(ANN)
    items = (PlanItem(id="1-0", description="eat"), PlanItem(id="1-1", description="sleep"))
    plan = stream.append(Entry(type="plan", text="day", minute=0, items=items, valid_until=100), 1)
    stream.set_plan_status("1-0", "active")
    assert [item.status for item in stream.plan_items(plan)] == ["active", "pending"]
    assert stream.current_plan(99) == plan
    assert stream.current_plan(100) is None
    stream.archive(plan.number, 2)
    assert stream.head.plan_status == {}


def test_changes_are_taken_once() -> None:
    stream = Stream(ANN)
    stream.append(seen("one"), 1)
    stream.append(seen("two"), 1)
    stream.archive(1, 1, into=2)
    stream.mark(2, Marks(accesses=1))
    changes = stream.take_changes()
    assert (changes.appended, changes.archived, changes.marked, changes.head) == ([1, 2], [1], {2}, True)
    assert not stream.take_changes()
    stream.set_counter("n", 1)
    assert stream.take_changes().head
    stream.set_counter("n", 1)
    assert not stream.changes


def test_strings_that_entries_have_in_common_are_held_once() -> None:
    """Entries come from JSON, each with strings of its own; both sides of a conversation keep its every line."""
    said = msgspec.json.encode(Entry(type="message", text="Good morning.", minute=0, location="cafe", subjects=(ANN,)))
    ann, ben = (Stream(owner).append(msgspec.json.decode(said, type=Entry), 1) for owner in ("agent:ann", "agent:ben"))
    read = Stream(ANN, entries=[msgspec.json.decode(said, type=Entry)]).live()[0]
    for other in (ben, read):
        assert other.text is ann.text
        assert other.location is ann.location
        assert other.subjects is ann.subjects
