"""The view of an owner's memory: what each call returns, that it is safe to hand out, and what it costs."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import Character, Entry, PlanItem
from cogitate.memory.errors import InputError, UsageError
from cogitate.memory.retrieval.candidates import Query
from cogitate.memory.retrieval.profiles import MEASURES, PROFILES, profile_of
from cogitate.memory.retrieval.retrieval import retrieve
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import estimate_tokens
from cogitate.memory.view import MemoryView
from tests.unit.memory.view_case import ADA, BEN, CY, view_of


def stream_of(*entries: Entry) -> Stream:
    stream = Stream(ADA)
    for number, entry in enumerate(entries, start=1):
        stream.append(entry, number)
    return stream


def seen(text: str, minute: int, *subjects: str, **fields: Any) -> Entry:
    return Entry(
        **{"type": "observation", "text": text, "minute": minute, "subjects": subjects, "importance": 3} | fields
    )


def said(text: str, minute: int, *subjects: str) -> Entry:
    return seen(text, minute, *subjects, type="message", source="dialogue")


ITEMS = (
    PlanItem(id="1-0", description="Light the forge", minute=420),
    PlanItem(id="1-1", description="Mend the bellows", minute=900, location="inn"),
    PlanItem(id="1-2", description="Have supper", minute=1_080),
    PlanItem(id="1-3", description="Go to bed", minute=1_320),
)
PLAN = Entry(type="plan", text="Plan for day 1.", minute=360, importance=6, items=ITEMS, valid_until=1_800)
DAY = (
    seen("The bellows of the forge are torn.", 480, importance=6),
    PLAN,
    said("Ben: Lend me a hammer.", 600, BEN, ADA),
    said("Ada: Take this one.", 605, ADA, BEN),
    seen("Ben Cole lent a pair of bellows.", 840, BEN, importance=8),
    said("Cy: The inn burned.", 850, CY, ADA),
    Entry(type="reflection", text="Ben can be relied on.", minute=900, subjects=(BEN,), evidence=(3, 5), importance=6),
    Entry(
        type="summary", text="Ada and Cy talked of rain.", minute=300, subjects=(CY,), source="dialogue", importance=4
    ),
)


@pytest.fixture
def stream() -> Stream:
    return stream_of(*DAY)


@pytest.fixture
def view(stream: Stream) -> MemoryView:
    return view_of(stream)


def numbers(entries: Sequence[Entry]) -> list[int]:
    return [entry.number for entry in entries]


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


def test_recall_explains_each_score(view: MemoryView) -> None:
    found = view.recall("Who has bellows?", limit=3)
    assert found[0].entry.number in (1, 5)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        assert one.score == pytest.approx(sum(part.weight * part.value for part in one.parts))
        assert all((f"{part.name} {part.weight:g}×" in one.why) == bool(part.value) for part in one.parts)


@pytest.mark.parametrize("name", PROFILES)
def test_recall_scores_as_the_profile_of_that_name(stream: Stream, name: str) -> None:
    asked = {"minute": 1_000, "text": "Who has bellows?", "limit": 5}
    expected = tuple(retrieve(stream.live(), Query(**asked), PROFILES[name]))
    assert view_of(stream).recall("Who has bellows?", limit=5, profile=name) == expected
    assert view_of(stream, choice=name).recall("Who has bellows?", limit=5) == expected, (
        "the run's own, if none is given"
    )


def test_a_table_of_weights_is_a_profile(stream: Stream) -> None:
    (first, *_) = view_of(stream).recall("bellows", profile={"recency": 1, "relevance": 0.5})
    assert [(part.name, part.weight) for part in first.parts] == [("relevance", 0.5), ("recency", 1.0)]
    weights = {part.name: part.weight for part in PROFILES["default"].components}
    as_default = view_of(stream).recall("bellows", profile=weights)
    assert {one.entry.number: pytest.approx(one.score) for one in as_default} == {
        one.entry.number: one.score for one in view_of(stream).recall("bellows")
    }
    assert view_of(stream, choice={"recency": 1.0}).recall("bellows")[0].entry.minute == 900


@pytest.mark.parametrize("name", MEASURES)
def test_every_component_can_be_weighed_alone(stream: Stream, name: str) -> None:
    for one in retrieve(stream.live(), Query(minute=1_000, text="When did Ben speak?"), profile_of({name: 2.0})):
        assert one.score == 2.0 * one.parts[0].value
        assert one.parts[0].name == name


def test_recall_filters(view: MemoryView) -> None:
    def found(**filters: Any) -> list[int]:
        return sorted(numbers([one.entry for one in view.recall("bellows", limit=20, **filters)]))

    assert found(about=CY) == found(about=["Cy Dale"]) == [6, 8]
    assert found(about=[BEN, CY], types="message") == [3, 4, 6]
    assert found(types=["reflection", "plan"]) == [2, 7]
    assert found(since=850) == [6, 7]
    assert found() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_similarity_of_the_hosts_own_counts(stream: Stream) -> None:
    asked: list[tuple[str, list[int]]] = []

    def nearest_is_the_fire(query: str, entries: Sequence[Entry]) -> Iterator[float]:
        asked.append((query, numbers(entries)))
        return (1.0 if "burned" in entry.text else 0.0 for entry in entries)

    view = view_of(stream, similarity=nearest_is_the_fire)
    assert view.recall("A catastrophe")[0].entry.number == 6
    assert view.recall("A catastrophe", types="message", profile={"similarity": 1.0})[0].entry.number == 6
    assert asked == [("A catastrophe", [1, 2, 3, 4, 5, 6, 7, 8]), ("A catastrophe", [3, 4, 6])]
    assert view.recall("A catastrophe", profile="spec") == view_of(stream).recall("A catastrophe", profile="spec")
    assert len(asked) == 2, "the profile spec has no use for it"
    plain = view_of(stream).recall("A catastrophe")
    assert all(part.name != "similarity" or not part.value for one in plain for part in one.parts)


@pytest.mark.parametrize(
    ("similarity", "says"),
    [
        (lambda query, entries: [1.0], "similarity returned 1 values for 8 entries"),
        (lambda query, entries: [1.0] * 99, "similarity returned too many values for 8 entries"),
        (lambda query, entries: "near", "similarity returned 'near': return a list"),
        (lambda query, entries: [float("nan")] * 8, "similarity returned nan for an entry"),
        (lambda query, entries: ["1"] * 8, "similarity returned '1' for an entry"),
        (lambda query: [], "similarity failed: TypeError: "),
    ],
)
def test_a_similarity_that_cannot_be_used_is_named(stream: Stream, similarity: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        view_of(stream, similarity=similarity).recall("bellows")
    assert says in str(refused.value)


def test_a_long_error_of_a_similarity_is_cut(stream: Stream) -> None:
    def fails(query: str, entries: Sequence[Entry]) -> list[float]:
        raise ValueError("x" * 5_000)

    with pytest.raises(InputError) as refused:
        view_of(stream, similarity=fails).recall("bellows")
    assert str(refused.value) == f"similarity failed: ValueError: {'x' * 300}"


def test_a_context_shows_profile_plan_and_memories(stream: Stream, view: MemoryView) -> None:
    stream.head.character = Character(objectives=("win the fair",), relationships={"Ben Cole": "a friend"})
    stream.head.summary = "Ada came to the valley as a child. She took over the forge."
    assert view.context("Who has bellows?", tokens=1_000).splitlines() == [
        "Known: Objectives: win the fair",
        "Known: Relationships: Ben Cole (a friend)",
        "Earlier: Ada came to the valley as a child. She took over the forge.",
        "Now: 3:00 PM Mend the bellows (The Inn)",
        "Next: 6:00 PM Have supper",
        "- day 1, 5:00 AM: Ada and Cy talked of rain.",
        "- day 1, 8:00 AM: The bellows of the forge are torn.",
        "- day 1, 10:00 AM: Ben: Lend me a hammer.",
        "- day 1, 10:05 AM: Ada: Take this one.",
        "- day 1, 2:00 PM: Ben Cole lent a pair of bellows.",
        "- day 1, 2:10 PM: Cy: The inn burned.",
        "- day 1, 3:00 PM: Ben can be relied on.",
    ]
    assert "Cy: The inn burned." not in view.context("Who has bellows?", about=BEN)
    assert view.context(about="Cy Dale").splitlines()[-2:] == [
        "- day 1, 5:00 AM: Ada and Cy talked of rain.",
        "- day 1, 2:10 PM: Cy: The inn burned.",
    ]


def test_a_context_selects_by_query_when_room_is_short(view: MemoryView) -> None:
    asked = view.context("torn bellows of the forge", tokens=45)
    assert "The bellows of the forge are torn." in asked
    assert "Cy: The inn burned." not in asked
    assert "The bellows of the forge are torn." not in view.context(tokens=45)


@pytest.mark.parametrize("query", ["", "bellows"])
def test_a_context_includes_the_first_minute(query: str) -> None:
    context = view_of(stream_of(seen("The bellows of the forge are torn.", 0))).context(query)
    assert context == "- day 1, 12:00 AM: The bellows of the forge are torn."


@given(st.integers(1, 200), st.sampled_from(["", "bellows"]), st.text(max_size=400))
def test_a_context_never_exceeds_its_room(tokens: int, query: str, summary: str) -> None:
    stream = stream_of(*DAY, seen("one two three\nfour " * 20, 950), seen("The bellows of the forge are torn.", 960))
    stream.head.summary = summary
    context = view_of(stream).context(query, tokens=tokens)
    assert estimate_tokens(context) <= tokens
    lines = context.splitlines()
    shown = [line.partition(": ")[2] for line in lines if line.startswith("- ")]
    whole = {" ".join(entry.text.split()) for entry in stream.live()}
    assert set(shown) <= whole, "each in full"
    assert len(shown) == len(set(shown)), "once"


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


# -- what cannot be used -----------------------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    (lambda view: view.recall(5), "query is 5: give a string"),
    (lambda view: view.recall("x" * 4_001), "query has 4,001 characters, at most 4,000 fit"),
    (lambda view: view.recall("x", limit=-1), "limit is -1: give an integer from 0"),
    (lambda view: view.recall("x", limit="all"), "limit is 'all'"),
    (lambda view: view.recall("x", profile="best"), "profile: unknown profile 'best'; use one of default, dialogue"),
    (
        lambda view: view.recall("x", profile=5),
        "profile is 5: give 'default', 'dialogue', 'spec' or a table",
    ),
    (lambda view: view.recall("x", profile={"charm": 1}), "components are relevance, importance"),
    (lambda view: view.recall("x", profile={"recency": "much"}), "profile: recency is 'much': give a number from 0"),
    (lambda view: view.recall("x", profile={"recency": -1}), "profile: recency is -1"),
    (lambda view: view.recall("x", profile={"recency": 0}), "give at least one weight above 0"),
    (lambda view: view.recall("x", profile={}), "give at least one weight above 0"),
    (lambda view: view.recall("x", about=5), "about are 5: give a list of strings"),
    (lambda view: view.recall("x", about=[" "]), "one of about is ' '"),
    (lambda view: view.recall("x", types="dream"), "types: unknown type 'dream'; use one of observation, message"),
    (lambda view: view.recall("x", types=["plan", "dream"]), "unknown type 'dream'"),
    (lambda view: view.recall("x", since="noon"), "since is 'noon'"),
    (lambda view: view.recent(None), "limit is None"),
    (lambda view: view.recent(1.5), "limit is 1.5"),
    (lambda view: view.by_type("dream"), "unknown type 'dream'"),
    (lambda view: view.by_type(5), "type is 5"),
    (lambda view: view.about(""), "subject is ''"),
    (lambda view: view.about([BEN]), "subject is ['agent:ben']"),
    (lambda view: view.between(5, 4), "end is 4: give an integer from 5"),
    (lambda view: view.between("noon", 4), "start is 'noon'"),
    (lambda view: view.reflections(limit=-1), "limit is -1"),
    (lambda view: view.conversations(limit=True), "limit is True"),
    (lambda view: view.context(5), "query is 5"),
    (lambda view: view.context(tokens=0), "tokens is 0: give an integer from 1"),
    (lambda view: view.context(profile="best"), "unknown profile 'best'"),
    (lambda view: view.context(about={}), "about are {}"),
]


@pytest.mark.parametrize(("call", "says"), WRONG, ids=[row[1][:60] for row in WRONG])
def test_an_argument_that_cannot_be_used_is_named(view: MemoryView, call: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        call(view)
    assert says in str(refused.value)


def test_a_view_accepts_times_within_json_and_at_most_a_million_memories(view: MemoryView) -> None:
    assert view.recall("fair", since=2**53 - 1, limit=1_000_000) == ()
    assert view.between(2**53 - 1, 2**53 - 1) == ()
    for ask in (
        lambda: view.recall("fair", since=2**53),
        lambda: view.recall("fair", limit=1_000_001),
        lambda: view.between(2**53, 2**53),
        lambda: view.between(0, 2**53),
        lambda: view.between(5, 4),
        lambda: view.between(-1, 4),
    ):
        with pytest.raises(InputError, match="give an integer from"):
            ask()
