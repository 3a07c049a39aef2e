"""A stream read as of any tick, and the note of its changes."""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory import typed_json
from cogitate.memory.entry import ENTRY_TYPES, Entry, Marks, PlanItem, as_known, is_dialogue
from cogitate.memory.stream import Changes, OlderChanges, Stream
from tests.unit.scheduler.scheduler_case import ANN, seen

steps = st.lists(st.tuples(st.sampled_from(["append", "archive", "next"]), st.integers(0, 99)), max_size=60)


@given(steps)
def test_past_states_of_a_stream_never_change(steps: list[tuple[str, int]]) -> None:
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


def test_numbers_are_never_reused() -> None:
    stream = Stream(ANN)
    for i in range(3):
        stream.append(seen(f"{i}"), 1)
    stream.archive(3, 2)
    stream.delete([3])
    assert stream.append(seen("new"), 3).number == 4
    assert [e.number for e in stream.entries.values()] == [1, 2, 4]


def test_a_stream_of_constant_size_uses_constant_memory() -> None:
    stream = Stream(ANN)
    for tick in range(1, 200):
        for _ in range(10):
            number = stream.append(seen("the same"), tick).number
            stream.archive(number, tick)
            stream.mark(number, Marks(repeats=1))
        stream.delete([n for n, archived in stream.archived.items() if archived.tick <= tick - 75])
    assert [len(held) for held in (stream.entries, stream.archived, stream.marks, stream._live)] == [750, 750, 750, 0]
    for held in (stream.entries, stream.archived, stream.marks, stream._live):
        assert sys.getsizeof(held) == sys.getsizeof(dict.fromkeys(held))


def test_entries_are_numbered_and_dated_by_the_stream() -> None:
    entry = Stream(ANN).append(Entry(type="observation", text="saw", minute=5, number=77, tick=9), 3)
    assert (entry.number, entry.tick) == (1, 3)


def test_the_rating_that_an_entry_comes_with_holds_from_the_start() -> None:
    entry = Stream(ANN).append(Entry(type="observation", text="saw", minute=5, importance=7, rated=9), 3)
    known = [as_known(entry, tick).importance for tick in (0, 3, 9)]
    assert known == [7, 7, 7], "whatever its maker says of when it was rated"


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
    assert ([*changes.appended], bool(changes.head)) == ([1, 2], True)
    assert changes.older == OlderChanges(archived=[1], marked={2})
    assert not stream.take_changes()
    stream.set_counter("n", 1)
    assert stream.take_changes().head
    stream.set_counter("n", 1)
    assert not stream.take_changes()


def test_strings_that_entries_have_in_common_are_held_once() -> None:
    """Entries come from JSON, each with strings of its own; both sides of a conversation keep its every line."""
    said = msgspec.json.encode(Entry(type="message", text="Good morning.", minute=0, location="cafe", subjects=(ANN,)))
    ann, ben = (Stream(owner).append(typed_json.decode(said, Entry), 1) for owner in ("agent:ann", "agent:ben"))
    read = Stream(ANN, entries=[typed_json.decode(said, Entry)]).live()[0]
    for other in (ben, read):
        assert other.text is ann.text
        assert other.location is ann.location
        assert other.subjects is ann.subjects


def held(stream: Stream) -> dict[str, object]:
    """All that a stream says of itself."""
    kinds = ("observation", "message", "summary", "reflection", "plan")
    return {
        "live": stream.live(),
        "by type": [stream.live(kind) for kind in kinds],
        "stats": stream.stats(),
        "counts": [stream.count(kind) for kind in kinds],
        "all": stream.count(),
        "observed": stream.observed(),
        "latest": [stream.latest(kind) for kind in kinds],
        "unrated": stream.unrated(),
        "guesses": stream.provisional(),
        "flags": [(stream.is_live(n), stream.is_unrated(n), stream.is_provisional(n)) for n in range(40)],
        "seal": stream.seal(),
        "past": [stream.as_of(40, tick) for tick in range(9)],
    }


@st.composite
def lived(draw: st.DrawFn) -> Stream:
    stream = Stream(ANN)
    if draw(st.booleans()):
        stream.seal()  # from here on it is kept up with every change
    for tick in range(1, 8):
        for _ in range(draw(st.integers(0, 3))):
            entry = Entry(
                type=draw(st.sampled_from(["observation", "message", "summary", "reflection", "plan"])),
                text="seen",
                minute=draw(st.integers(0, 5)),
                importance=draw(st.integers(0, 2)),
                provisional=draw(st.booleans()),
            )
            stream.append(entry, tick)
        for entry in stream.live():
            match draw(st.integers(0, 5)):
                case 0:
                    stream.archive(entry.number, tick, draw(st.integers(0, 1)))
                case 1 | 3:  # some more than once
                    stream.mark(entry.number, Marks(accesses=tick))
                case 2 if stream.is_unrated(entry.number):
                    stream.rate(entry.number, 4, tick)
        if draw(st.booleans()):
            stream.delete([number for number, record in stream.archived.items() if record.tick < tick - 1])
    return stream


@given(lived())
def test_a_stream_read_back_describes_itself_equally(stream: Stream) -> None:
    again = Stream(ANN, entries=stream.entries.values(), archived=stream.archived, marks=stream.marks, head=stream.head)
    assert held(again) == held(stream)
    again.note_all()
    changes = again.take_changes()
    assert [*changes.appended] == [*stream.entries]
    assert changes.older == OlderChanges(archived=sorted(stream.archived), marked=set(stream.marks))
    assert changes.head


def test_each_change_is_noted_for_the_ledger() -> None:
    stream = Stream(ANN)
    for minute in range(4):
        stream.append(Entry(type="observation", text="seen", minute=minute), 1)
    stream.archive(1, 2, into=4)
    stream.archive(2, 2)
    stream.mark(1, Marks(accesses=1))
    stream.take_changes()
    stream.delete([1, 2])
    assert stream.take_changes().older == OlderChanges(deleted=[1, 2], deleted_into=[1], deleted_marks=[1])
    stream.rate(3, 7, 3)
    assert stream.take_changes().older == OlderChanges(rated={3})
    assert (stream.entries[3].importance, stream.entries[3].rated, stream.live()[0]) == (7, 3, stream.entries[3])
    stream.archive(3, 4, into=4)
    stream.take_changes()
    stream.forget_target(3)
    assert stream.take_changes().older == OlderChanges(deleted_into=[3])
    assert (stream.archived[3].tick, stream.archived[3].into) == (4, 0)
    stream.wait(seen("later"))
    assert stream.take_changes().head
    stream.forget_waiting(0, 1)
    assert stream.take_changes().head
    assert stream.head.waiting == []


def test_a_time_range_includes_its_start_and_excludes_its_end() -> None:
    stream = Stream(ANN)
    for minute in (9, 10, 19, 20):
        stream.append(seen("seen", minute), 1)
    assert [entry.minute for entry in stream.between(10, 20)] == [10, 19]


def test_the_seal_is_kept_up_with_every_change() -> None:
    """A seal that is summed up anew says what the kept one says, whatever was done in between."""
    stream = Stream(ANN)
    stream.seal()

    def agrees() -> bool:
        anew = Stream(
            ANN,
            entries=list(stream.entries.values()),
            archived=dict(stream.archived),
            marks=dict(stream.marks),
            head=stream.head,
        )
        return anew.seal() == stream.seal()

    steps: list[Callable[[], object]] = [
        lambda: [stream.append(seen(f"Event {n}"), n) for n in range(1, 6)],
        lambda: stream.mark(1, Marks(accesses=1)),
        lambda: stream.mark(1, Marks(accesses=2)),
        lambda: stream.mark(2, Marks(repeats=1)),
        lambda: stream.forget_marks(2),
        lambda: stream.archive(1, 7, 5),
        lambda: stream.archive(3, 7),
        lambda: stream.forget_target(1),
        lambda: stream.rate(4, 7, 8),
        lambda: stream.rate(3, 6, 8),
        lambda: stream.wait(seen("Later")),
        lambda: stream.take_waiting(1, 9),
        lambda: stream.set_counter("x", 3),
        lambda: stream.set_plan_status("1-0", "active"),
        lambda: stream.delete((1,)),
        lambda: stream.delete((3,)),
    ]
    before = stream.seal()
    for number, change in enumerate(steps):
        change()
        assert agrees(), number
        assert stream.seal() != before, number
        before = stream.seal()


def test_only_changes_of_older_entries_are_kept_apart() -> None:
    stream = Stream(ANN)
    stream.append(seen("one"), 1)
    stream.rate(1, 6, 1)
    assert (stream.new, stream.newly_archived) == ({1}, ())
    assert stream.take_changes().older is None
    for change in (lambda: stream.archive(1, 2), lambda: stream.mark(1, Marks(accesses=1)), lambda: stream.delete([1])):
        change()
        changes = stream.take_changes()
        assert changes
        assert not changes.appended
        assert changes.older is not None


@pytest.mark.parametrize("sealed", [False, True])
def test_new_entries_are_given_as_the_ledger_stores_them(sealed: bool) -> None:
    stream = Stream(ANN)
    stream.append(seen("one"), 1)
    if sealed:
        stream.seal()
    stream.append(seen("two"), 1)
    stream.append(seen("three"), 1)
    stream.rate(2, 6, 1)
    expected = {number: msgspec.json.encode(entry) for number, entry in stream.entries.items()}
    head = msgspec.json.encode(stream.head)
    assert stream.take_changes() == Changes(expected, head, None)
    assert not stream.new
    stream.set_counter("x", 1)
    assert stream.take_changes() == Changes({}, msgspec.json.encode(stream.head), None)
    assert stream.take_changes() == Changes({}, b"", None)


def test_an_entry_is_unrated_until_it_is_rated_or_archived() -> None:
    stream = Stream(ANN)
    for entry in (seen("one"), seen("two"), Entry(type="observation", text="rated", minute=1, importance=3)):
        stream.append(entry, 1)
    assert [stream.is_unrated(number) for number in (1, 2, 3)] == [True, True, False]
    stream.rate(1, 5, 2)
    stream.archive(2, 2)
    assert [stream.is_unrated(number) for number in (1, 2)] == [False, False]


def test_the_status_of_an_item_is_in_the_head_which_changes_with_it() -> None:
    stream = Stream(ANN)
    stream.set_plan_status("1-0", "active")
    assert stream.take_changes().head


def test_watchers_of_streams_hear_of_every_change() -> None:
    changed = set[str]()
    stream = Stream(ANN)
    stream.report_to(changed)
    assert changed == set()
    stream.append(seen("one"), 1)
    assert changed == {ANN}
    later = Stream("agent:later")
    later.append(seen("one"), 1)
    later.report_to(changed)
    assert changed == {ANN, "agent:later"}, "it has changes that nobody took"


def test_waiting_entries_are_taken_and_forgotten_by_position() -> None:
    stream = Stream(ANN)
    for n in range(6):
        stream.wait(seen(f"Event {n}"))
    stream.take_changes()
    stream.forget_waiting(1, 2)
    assert [entry.text for entry in stream.head.waiting] == ["Event 0", "Event 3", "Event 4", "Event 5"]
    assert stream.take_changes().head
    stream.take_waiting(2, 7)
    assert [(entry.text, entry.tick) for entry in stream.live()] == [("Event 0", 7), ("Event 3", 7)]
    assert [entry.text for entry in stream.head.waiting] == ["Event 4", "Event 5"]


def test_an_unchanged_counter_is_not_a_change() -> None:
    stream = Stream(ANN)
    stream.set_counter("x", 0)
    assert stream.take_changes().head
    stream.set_counter("x", 0)
    assert not stream.take_changes()
    stream.set_counter("x", 1)
    assert stream.take_changes().head


def test_the_whole_stream_can_be_noted_as_new() -> None:
    stream = Stream(ANN)
    for n in range(3):
        stream.append(seen(f"Event {n}"), 1)
    stream.archive(3, 2)
    stream.archive(1, 2)
    stream.mark(2, Marks(accesses=1))
    stream.take_changes()
    stream.note_all()
    changes = stream.take_changes()
    assert ([*changes.appended], bool(changes.head)) == ([1, 2, 3], True)
    assert changes.older == OlderChanges(archived=[1, 3], marked={2})
    stream.mark(1, Marks(accesses=2))
    stream.forget_marks(1)
    stream.rate(2, 7, 3)
    stream.delete([3])
    stream.note_all()
    changes = stream.take_changes()
    assert [*changes.appended] == [1, 2]
    assert changes.older == OlderChanges(archived=[1], marked={2}), "the rest never came to that ledger"


def test_forgotten_marks_are_not_written() -> None:
    stream = Stream(ANN)
    stream.append(seen("Tea."), 1)
    stream.take_changes()
    stream.mark(1, Marks(accesses=1))
    stream.forget_marks(1)
    assert stream.take_changes().older == OlderChanges(deleted_marks=[1])


@given(st.lists(st.tuples(st.sampled_from(["say", "see", "archive"]), st.integers(0, 50)), max_size=40))
def test_the_oldest_line_is_the_earliest_live_one(steps: list[tuple[str, int]]) -> None:
    stream = Stream(ANN)
    for what, number in steps:
        live = stream.live()
        if what == "archive" and live:
            stream.archive(live[number % len(live)].number, 1)
        elif what != "archive":
            said = {"type": "message"} if number % 2 else {"source": "dialogue"}
            stream.append(msgspec.structs.replace(seen("Hm.", number), **(said if what == "say" else {})), 1)
        lines = [entry.minute for entry in stream.live() if is_dialogue(entry)]
        assert stream.oldest_line() == (min(lines) if lines else None)
        again = Stream(ANN, entries=stream.entries.values(), archived=stream.archived)
        assert again.oldest_line() == stream.oldest_line()


def test_changes_are_true_if_any_part_is_set() -> None:
    assert not Changes({}, b"", None)
    assert Changes({1: b"{}"}, b"", None)
    assert Changes({}, b"{}", None)
    assert Changes({}, b"", OlderChanges(marked={1}))


def test_live_entries_are_filtered_by_type_and_subject() -> None:
    stream = Stream("agent:a")
    for text, fields in (
        ("Tea.", {"subjects": ("agent:a", "agent:b"), "importance": 3}),
        ("Cake.", {"provisional": True}),
        ("Soup.", {"subjects": ("agent:b",), "importance": 1}),
    ):
        stream.append(msgspec.structs.replace(Entry(type="observation", text=text, minute=1), **fields), 1)
    stream.append(Entry(type="plan", text="Eat.", minute=1, importance=5, provisional=True), 1)
    stream.archive(3, 2)
    assert [e.number for e in stream.about("agent:b")] == [1]
    assert stream.about("agent:c") == []
    assert [e.number for e in stream.live("plan")] == [4]
    assert [e.number for e in stream.live("observation", "plan")] == [1, 2, 4]
    assert [e.number for e in stream.provisional()] == [2, 4]
    assert [stream.is_provisional(n) for n in range(1, 6)] == [False, True, False, True, False]
    assert [stream.is_live(n) for n in range(1, 6)] == [True, True, False, True, False]
    assert (stream.unrated(), [stream.is_unrated(n) for n in (1, 2)]) == ([2], [False, True])
    assert {name: count for name, count in stream.stats().items() if count} == {
        "observation": 2,
        "plan": 1,
        "archived": 1,
        "unrated": 1,
        "provisional": 2,
    }
    assert set(stream.stats()) == {*ENTRY_TYPES, "archived", "unrated", "provisional"}
    assert (stream.latest("plan"), stream.latest("message")) == (stream.entries[4], None)
