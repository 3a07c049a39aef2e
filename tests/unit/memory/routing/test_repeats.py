"""Repeats of observations."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import Entry, Marks
from cogitate.memory.routing.repeats import RepeatIndex, count_repeat, repeat_key
from cogitate.memory.stream import Stream


def seen(text: str, minute: int = 0, **other: object) -> Entry:
    return msgspec.structs.replace(Entry(type="observation", text=text, minute=minute), **other)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The stove is idle", "the  stove is idle"),
        ("The gate is open.", "the gate is open"),
        ("Мария читает книгу", "мария читает книгу."),
        ("🎉", "🎉"),
    ],
)
def test_repeats_are_found(earlier: str, later: str) -> None:
    stream = Stream("agent:a")
    stream.append(seen(earlier), 1)
    assert RepeatIndex(stream).find(seen(later, 9)) == 1


def test_texts_that_differ_in_content_are_new(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("Maria is in room 3", "Maria is in room 4"),
        ("Tom is turning on the TV", "Tom is turning off the TV"),
        ("Ann likes Ben", "Ben likes Ann"),
        ("The shop is open", "The shop is not open"),
        ("Tom stretches before the run", "Tom stretches after the run"),
        ("Maria is invited by Tom", "Maria invited Tom"),
        ("Ada took her purse.", "Ada took his purse."),
        ("Tom kissed his wife.", "Tom kissed my wife."),
        ("Ben promises to pay.", "Ben promised to pay."),
        ("A guard stood at the gate.", "The guards stood at the gate."),
    ]
    for earlier, later in cases:
        with subtests.test(earlier=earlier):
            stream = Stream("agent:a")
            stream.append(seen(earlier), 1)
            assert RepeatIndex(stream).find(seen(later)) is None


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("The gate is open.", "The gate is closed."),
        ("Ada came in.", "Ada left."),
        ("门开着。", "门关着。"),
        ("El farol está encendido.", "El farol está apagado."),
        ("ドアが開いている。", "ドアが閉まっている。"),
    ],
)
def test_a_state_that_came_back_is_news(first: str, other: str) -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    for number, text in enumerate((first, other, first), start=1):
        assert index.find(seen(text)) is None
        stream.append(seen(text), number)
        index.note_appended()
    assert index.find(seen(first)) == 3


def test_an_observation_of_another_subject_does_not_end_a_repeat() -> None:
    stream = Stream("agent:a")
    stream.append(seen("The stove is idle"), 1)
    stream.append(seen("The sink is idle"), 1)
    assert RepeatIndex(stream).find(seen("The stove is idle")) == 1


def test_the_same_words_about_others_are_another_memory() -> None:
    stream = Stream("agent:a")
    stream.append(seen("She votes yes", subjects=("agent:ann", "agent:cy")), 1)
    assert RepeatIndex(stream).find(seen("She votes yes", subjects=("agent:cy", "agent:ann"))) == 1
    assert RepeatIndex(stream).find(seen("She votes yes", subjects=("agent:ben",))) is None
    assert RepeatIndex(stream).find(seen("She votes yes")) is None


def test_place_quest_and_tags_must_agree() -> None:
    stream = Stream("agent:a")
    stream.append(seen("The door is open", location="cafe", tags=("night",)), 1)
    assert RepeatIndex(stream).find(seen("The door is open", location="cafe", tags=("night",))) == 1
    assert RepeatIndex(stream).find(seen("The door is open", location="home", tags=("night",))) is None
    assert RepeatIndex(stream).find(seen("The door is open", location="cafe")) is None
    assert RepeatIndex(stream).find(seen("The door is open", location="cafe", tags=("night",), quest_id="q")) is None


def test_only_observations_outside_dialogue_are_coalesced() -> None:
    stream = Stream("agent:a")
    for entry in (
        Entry(type="message", text="Yes.", minute=1),
        Entry(type="reflection", text="Yes.", minute=1),
        Entry(type="observation", text="Yes.", minute=1, source="dialogue"),
        Entry(type="summary", text="Yes.", minute=1, since_minute=0),
    ):
        assert repeat_key(entry) is None
        stream.append(entry, 1)
        assert RepeatIndex(stream).find(entry) is None


def test_the_index_follows_appends_and_archives() -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    assert index.find(seen("Tom sings")) is None
    stream.append(seen("Tom sings"), 1)
    stream.append(seen("Tom sings"), 2)
    assert index.find(seen("Tom sings")) == 2
    stream.archive(2, 3)
    assert index.find(seen("Tom sings")) == 1
    stream.archive(1, 3)
    assert index.find(seen("Tom sings")) is None
    stream.append(seen("Tom sings"), 4)
    assert index.find(seen("Tom sings")) == 3


@given(
    texts=st.lists(
        st.tuples(st.sampled_from(["Tom sings", "Tom sang", "It rains", "Hi"]), st.booleans(), st.booleans()),
        max_size=30,
    )
)
def test_an_updated_index_equals_a_new_one(texts: list[tuple[str, bool, bool]]) -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    for tick, (text, is_line, archives) in enumerate(texts):
        entry = msgspec.structs.replace(seen(text), source="dialogue" if is_line else "perception")
        assert index.find(entry) == RepeatIndex(stream).find(entry)
        stream.append(entry, tick)
        index.note_appended()
        if archives:
            stream.archive(stream.head.last_number, tick)
    for text, *_ in texts:
        assert index.find(seen(text)) == RepeatIndex(stream).find(seen(text))


def test_an_index_does_not_grow_with_entries_that_are_gone() -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    for n in range(500):
        assert index.find(seen(f"Event{n} began")) is None
        stream.append(seen(f"Event{n} began"), n)
        index.note_appended()
        assert index.find(seen(f"Event{n} began")) == n + 1
        if n >= 10:
            stream.archive(n - 9, n)
            stream.delete([n - 9])
    assert max(len(index._newest), len(index._texts)) < 120
    assert index.find(seen("Event499 began")) == 500


@pytest.mark.parametrize(
    ("minute", "importance", "number"),
    [(600, 3, 1), (1_439, 3, 1), (0, 3, 1), (1_440, 3, None), (600, 2, 1), (600, 4, None)],
)
def test_a_repeat_is_counted_on_its_own_day_unless_it_matters_more(
    minute: int, importance: int, number: int | None
) -> None:
    stream = Stream("agent:a")
    earlier = Entry(type="observation", text="Tom sings", minute=600, importance=3)
    stream.append(earlier, 1)
    again = msgspec.structs.replace(earlier, minute=minute, importance=importance)
    assert RepeatIndex(stream).repeated(again) == number
    assert RepeatIndex(stream).repeated(msgspec.structs.replace(earlier, text="Ann sings")) is None


def test_a_repeat_counts_occurrences_latest_time_and_importance() -> None:
    stream = Stream("agent:a")
    stream.append(seen("Tom sings"), 1)
    stream.mark(1, Marks(accesses=5, last_accessed=7))
    for minute, importance in ((8, 3), (9, 4)):
        count_repeat(stream, 1, minute, importance)
    assert stream.marks[1] == Marks(accesses=5, last_accessed=7, repeats=2, last_repeat=9)
    assert stream.head.counters == {"repeated": 7}


def test_entries_appended_after_a_lookup_are_found() -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    assert index.find(seen("Tom sings")) is None
    stream.append(seen("Ann dances"), 1)
    stream.append(seen("Tom sings"), 1)
    index.note_appended()
    assert [index.find(seen(text)) for text in ("Ann dances", "Tom sings")] == [1, 2]
    assert index.find(Entry(type="message", text="Hi.", minute=1)) is None, "it is never a repeat"
    stream.append(Entry(type="message", text="Hi.", minute=1), 1)
    index.note_appended()
    stream.append(seen("Bo sleeps"), 1)
    assert index.find(seen("Bo sleeps")) == 4


def test_an_event_to_integrate_is_never_a_repeat() -> None:
    assert repeat_key(msgspec.structs.replace(seen("Tom sings"), tags=("integrate",))) is None


def test_a_text_of_small_words_alone_repeats_itself() -> None:
    stream = Stream("agent:a")
    stream.append(seen("His is the."), 1)
    assert RepeatIndex(stream).find(seen("his  IS the.")) == 1
    assert RepeatIndex(stream).find(seen("Hers is an.")) is None
    assert RepeatIndex(stream).find(Entry(type="message", text="His is the.", minute=1)) is None


@pytest.mark.parametrize(
    "entry",
    [
        seen("Tea.", source="dialogue"),
        seen("Tea.", source="social"),
        seen("Tea.", since_minute=0),
        seen("Tea.", tags=("integrate",)),
        Entry(type="message", text="Tea.", minute=0),
        Entry(type="reflection", text="Tea.", minute=0),
    ],
)
def test_statements_and_recounts_are_never_repeats(entry: Entry) -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    assert repeat_key(entry) is None
    for _ in range(2):
        assert index.find(entry) is None
        stream.append(entry, 1)
        index.note_appended()


def test_an_index_of_many_archived_subjects_is_rebuilt() -> None:
    stream = Stream("agent:a")
    index = RepeatIndex(stream)
    for n in range(200):
        stream.append(seen(f"Guest{n} came"), 1)
        assert index.find(seen(f"Guest{n} came")) == n + 1
    for n in range(1, 199):
        stream.archive(n, 2)
    for _ in range(3):
        assert index.find(seen("Guest198 came")) == 199
        assert index.find(seen("Guest199 came")) == 200
        assert index.find(seen("Guest5 came")) is None
    assert len(index._newest) <= 2 * 2 + 64, "subjects of archived entries are not kept for ever"
    stream.append(seen("Guest5 came"), 3)
    assert index.find(seen("Guest5 came")) == 201
