"""Asking a stream, and its round trip through JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory import snapshot, typed_json
from cogitate.memory.entry import ENTRY_TYPES, Entry, Marks, PlanItem
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import UnreadableEntry
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, message, observation, stream_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    stream = Stream(draw(st.sampled_from([KLAUS, "group:café", "world"])))
    for number in range(1, draw(st.integers(0, 12)) + 1):
        entry_type = draw(st.sampled_from(ENTRY_TYPES))
        items = (PlanItem(id=f"{number}-0", description=draw(texts), minute=9),) if entry_type == "plan" else ()
        entry = Entry(
            type=entry_type,
            text=draw(texts),
            minute=draw(st.integers(0, 10_000)),
            tags=tuple(draw(st.lists(texts))),
            importance=draw(st.integers(0, 10)),
            subjects=tuple(draw(st.lists(texts, max_size=3))),
            items=items,
        )
        stream.append(entry, number)
        match draw(st.integers(0, 4)):
            case 0:
                stream.archive(number, number + 1, draw(st.integers(0, number)))
            case 1:
                stream.mark(number, Marks(accesses=2, last_accessed=7, repeats=1))
            case 2 if stream.is_unrated(number):
                stream.rate(number, 4, number + 2)
    stream.set_counter("reflect.minute", draw(st.integers(0, 9)))
    return stream


@given(streams())
def test_a_stream_goes_through_json_without_loss(stream: Stream) -> None:
    again = snapshot.load(snapshot.dump(stream))
    assert (again.owner, again.entries, again.archived, again.marks) == (
        stream.owner,
        stream.entries,
        stream.archived,
        stream.marks,
    )
    assert again.head == stream.head
    assert again.live() == stream.live()
    assert again.stats() == stream.stats()
    assert again.unrated() == stream.unrated()
    assert [again.as_of(12, tick) for tick in range(15)] == [stream.as_of(12, tick) for tick in range(15)]
    assert snapshot.dump(again) == snapshot.dump(stream)


def test_an_invalid_snapshot_is_refused() -> None:
    with pytest.raises(ValueError, match="not a snapshot of a stream"):
        snapshot.load(b'{"owner": 3}')


def test_a_stream_is_filtered_by_type_time_and_subject() -> None:
    stream = stream_of(
        observation("Read.", 600),
        message("Hello.", 610, speaker=MARIA),
        message("Yes.", 620, speaker=ISABELLA),
        Entry(type="reflection", text="A good day.", minute=630, provisional=True, importance=6),
        observation("Slept.", 700, importance=0),
    )
    assert [e.number for e in stream.live("message")] == [2, 3]
    assert [e.number for e in stream.between(610, 630)] == [2, 3]
    assert [e.number for e in stream.about(MARIA)] == [2]
    stream.archive(2, 9)
    assert [e.number for e in stream.between(0, 2000)] == [1, 3, 4, 5]
    assert stream.about(MARIA) == []
    assert stream.stats() == {
        "observation": 2,
        "message": 1,
        "reflection": 1,
        "plan": 0,
        "summary": 0,
        "archived": 1,
        "unrated": 1,
        "provisional": 1,
    }


def test_an_unreadable_entry_leaves_the_rest_of_the_stream_readable() -> None:
    stream = stream_of(observation("Read.", 600), observation("Wrote.", 610), observation("Slept.", 620))
    stream.archive(1, 5, 2)
    stream.mark(2, Marks(accesses=2, last_accessed=7))
    stream.set_counter("reflect.minute", 9)
    document = typed_json.decode(snapshot.dump(stream))
    document["entries"][2]["minute"] = "noon"
    again = snapshot.load(msgspec.json.encode(document))
    assert (again.owner, again.archived, again.marks, again.head) == (
        stream.owner,
        stream.archived,
        stream.marks,
        stream.head,
    )
    assert [again.entries[n] for n in (1, 2)] == [stream.entries[n] for n in (1, 2)]
    assert isinstance(again.entries[3], UnreadableEntry)


def test_the_order_of_archiving_and_recall_is_invisible() -> None:
    one, other = (stream_of(observation("Read.", 600), observation("Wrote.", 610)) for _ in range(2))
    for stream, numbers in ((one, (1, 2)), (other, (2, 1))):
        for number in numbers:
            stream.mark(number, Marks(accesses=number))
            stream.archive(number, 5, number - 1)
    assert snapshot.dump(one) == snapshot.dump(other)
    assert one.seal() == other.seal()
