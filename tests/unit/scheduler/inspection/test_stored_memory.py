"""A memory that is read back from the ledger, and the auditor's look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from cogitate.memory.entry import Archived, Entry, Marks
from cogitate.memory.errors import InputError
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.inspection.audit_streams import wrong_streams
from cogitate.scheduler.inspection.snapshot import TRIES
from cogitate.scheduler.inspection.stored_memory import StoredMemory, read_memory
from cogitate.scheduler.inspection.summary import _memories
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import write_streams
from tests.unit.scheduler.run_lines_case import ANN, BOB, CY, store_of

NOW = 9  # the tick at which the run stands
FACTS = Facts(start_minute=100, minutes_per_tick=10, names={ANN: "Ann Lee", BOB: "Bob Ray"})


def remembering() -> Stream:
    """Ann's memories of three ticks; the first is archived into the fourth, the second unimportant."""
    stream = Stream(ANN)
    for text, tick, about in (("A fire.", 2, (BOB,)), ("Rain.", 2, ()), ("A feast.", 5, (BOB, CY))):
        stream.append(
            Entry(type="observation", text=text, minute=100 + 10 * tick, subjects=about, importance=tick), tick
        )
    stream.append(Entry(type="summary", text="Much happened.", minute=160), 6)
    stream.archive(1, 6, 4)
    stream.archive(2, 7, 0)
    return stream


@pytest.fixture
def store() -> RunStore:
    """A run with two owners and one that has left."""
    store = store_of([], tick=NOW)
    for owner in (ANN, BOB):
        store.client.hset(store.key("owners"), owner, msgspec.json.encode(Profile(name=owner)))
    store.client.hset(store.key("retired"), CY, 4)
    old = msgspec.structs.replace(FACTS, start_minute=0)
    store.client.hset(store.key("facts"), mapping={"2": msgspec.json.encode(old), "10": msgspec.json.encode(FACTS)})
    gone = Stream(CY)
    gone.append(Entry(type="reflection", text="I shall go.", minute=110), 1)
    write_streams(store, [remembering(), gone])
    return store


def read(store: RunStore, owner: str = ANN, tick: int | None = None) -> StoredMemory:
    return read_memory(store.client, "town", owner, tick)


# -- one memory --------------------------------------------------------------------------------------


def test_a_memory_is_read_as_of_now_by_the_newest_facts(store: RunStore) -> None:
    found = read(store)
    assert (found.run, found.owner, found.tick, found.minute, found.retired) == ("town", ANN, NOW, 190, False)
    assert found.facts == FACTS
    assert found.stream.entries.keys() == {1, 2, 3, 4}
    assert found.stream.archived == {1: Archived(6, 4), 2: Archived(7, 0)}
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("tick", "entries", "archived"),
    [
        (0, [], []),
        (1, [], []),
        (2, [1, 2], []),
        (5, [1, 2, 3], []),
        (6, [1, 2, 3, 4], [1]),
        (7, [1, 2, 3, 4], [1, 2]),
        (NOW, [1, 2, 3, 4], [1, 2]),
    ],
)
def test_a_past_memory_is_that_at_the_end_of_its_tick(
    store: RunStore, tick: int, entries: list[int], archived: list[int]
) -> None:
    found = read(store, tick=tick)
    assert (found.tick, found.minute) == (tick, 100 + 10 * tick)
    assert (sorted(found.stream.entries), sorted(found.stream.archived)) == (entries, archived)


def test_marks_and_head_are_current_at_any_tick(store: RunStore) -> None:
    stream = remembering()
    stream.mark(3, Marks(repeats=2))
    stream.set_counter("mine", 7)
    write_streams(store, [stream])
    for tick in (None, 2):
        found = read(store, tick=tick).stream
        assert (found.marks, found.head) == (stream.marks, stream.head)
        assert found.head.counters["mine"] == 7


def test_an_entry_of_then_has_the_rating_that_was_known_then(store: RunStore) -> None:
    rated = Entry(type="observation", text="A rating.", minute=120, number=5, tick=2, importance=9, rated=8)
    store.client.hset(store.owner_key("entries", ANN), "5", msgspec.json.encode(rated))
    assert read(store, tick=7).stream.entries[5].importance == 0
    assert read(store, tick=8).stream.entries[5].importance == 9
    assert read(store).stream.entries[5].importance == 9


@pytest.mark.parametrize("tick", [-1, NOW + 1])
def test_a_tick_outside_the_past_is_refused(store: RunStore, tick: int) -> None:
    with pytest.raises(InputError, match=rf"is at tick {NOW}: tick {tick} has not happened yet"):
        read(store, tick=tick)


def test_former_owners_are_remembered(store: RunStore) -> None:
    found = read(store, CY)
    assert found.retired
    assert [entry.text for entry in found.stream.entries.values()] == ["I shall go."]


def test_a_run_without_facts_has_the_default_ones(store: RunStore) -> None:
    store.client.delete(store.key("facts"))
    assert read(store).facts == Facts()


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("agent:AN", rf"did you mean {ANN}\?$"),
        ("agent:y", rf"did you mean {CY}\?$"),
        ("agent:zoe", f"there are {ANN}, {BOB}, {CY}$"),
        ("x" * 99, f"no owner '{'x' * 80}';"),
    ],
)
def test_an_unknown_owner_is_refused_with_similar_names(store: RunStore, asked: str, shown: str) -> None:
    with pytest.raises(InputError, match=shown):
        read(store, asked)


@pytest.mark.parametrize(("owners", "more"), [(10, "agent:9$"), (11, "agent:8 and 1 more$"), (12, " and 2 more$")])
def test_ten_of_many_owners_are_named(owners: int, more: str) -> None:
    store = store_of([], tick=NOW)
    names = {f"agent:{number}": msgspec.json.encode(Profile(name="x")) for number in range(owners)}
    store.client.hset(store.key("owners"), mapping=names)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=more):
        read(store, "agent:zoe")


def test_unreadable_entries_are_skipped_and_named(store: RunStore) -> None:
    wrong = {"type": "dream", "text": "I flew.", "minute": 120, "number": 5, "tick": 3}
    store.client.hset(store.owner_key("entries", ANN), "5", msgspec.json.encode(wrong))
    found = read(store)
    (left,) = found.left_out
    assert (left.owner, left.number) == (ANN, 5)
    assert 5 not in {entry.number for entry in found.stream.live()}
    assert _memories(store)[1] == 1


# -- what matches ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [1, 2, 3, 4]),
        ({"about": ["Bob Ray"]}, [1, 3]),
        ({"about": [CY]}, [3]),
        ({"types": ["summary"]}, [4]),
        ({"types": ["summary", "observation"]}, [1, 2, 3, 4]),
        ({"since": 121}, [3, 4]),
        ({"since": 120}, [1, 2, 3, 4]),
        ({"since": 0}, [1, 2, 3, 4]),
        ({"about": ["Bob Ray"], "since": 150}, [3]),
        ({"about": ["Zoe"]}, []),
    ],
)
def test_entries_are_filtered_by_subject_type_and_time(
    store: RunStore, asked: dict[str, Any], found: list[int]
) -> None:
    assert [entry.number for entry in read(store).entries(**asked)] == found


def test_an_entry_of_the_first_minute_is_among_all(store: RunStore) -> None:
    born = Entry(type="observation", text="Born.", minute=0, number=5, tick=1)
    store.client.hset(store.owner_key("entries", ANN), "5", msgspec.json.encode(born))
    assert [[e.number for e in read(store).entries(since=since)][-1:] for since in (None, 0, 1)] == [[5], [5], [4]]


def test_every_live_entry_has_its_salience(store: RunStore) -> None:
    stream = Stream(BOB)
    for number in range(30):
        stream.append(Entry(type="observation", text=f"Sheep {number}.", minute=100 + number), 1)
    write_streams(store, [stream])
    assert read(store, BOB).salience("default").keys() == set(range(1, 31))


def test_without_a_query_salience_covers_live_entries(store: RunStore) -> None:
    stream = remembering()
    stream.append(Entry(type="observation", text="A feast.", minute=180, importance=5), 8)
    write_streams(store, [stream])
    found = read(store).salience({"recency": 1.0})
    assert found.keys() == {3, 4, 5}, "all of them, also one that says the same"
    assert found[3].score < found[4].score < found[5].score
    by_importance = read(store).salience({"importance": 1.0})
    assert by_importance[3].score == by_importance[5].score


def test_a_view_reads_at_the_minute_and_by_the_names_and_the_profile_of_the_run(store: RunStore) -> None:
    facts = msgspec.structs.replace(FACTS, retrieval={"recency": 1.0})
    store.client.hset(store.key("facts"), "11", msgspec.json.encode(facts))
    view = read(store, tick=6).view
    assert (view.minute, len(view)) == (160, 3)
    assert [entry.number for entry in view.about("Bob Ray")] == [3]
    (best, *_) = view.recall("feast")
    assert [part.name for part in best.parts] == ["recency"]


# -- a run in figures --------------------------------------------------------------------------------


def test_memories_are_counted_by_type_live_and_archived(store: RunStore) -> None:
    counts, unreadable = _memories(store)
    told = {name: (of["live"], of["archived"]) for name, of in counts.items() if any(of.values())}
    assert told == {"observation": (1, 2), "summary": (1, 0), "reflection": (1, 0)}
    assert unreadable == 0
    assert {"plan", "message"} < counts.keys(), "also where there are none"


# -- the auditor -------------------------------------------------------------------------------------


def audited(store: RunStore, said: Mapping[str, Stream] | None = None) -> list[str]:
    expected = said or {ANN: remembering()}
    return wrong_streams(store, expected, lambda tick: expected)


def test_a_memory_that_matches_the_journal_has_no_findings(store: RunStore) -> None:
    assert audited(store) == []


def moved(store: RunStore, source: Any, target: Any, number: str) -> None:
    raw = store.client.hget(store.owner_key(source, ANN), number)
    store.client.hdel(store.owner_key(source, ANN), number)
    store.client.hset(store.owner_key(target, ANN), number, raw)  # type: ignore[arg-type]


def unreadable(store: RunStore) -> None:
    store.client.hset(store.owner_key("entries", ANN), "3", b"{")


MISPLACED, FOREIGN = "are wrongly stored as live or archived", "are not what the journal says"
HARM: list[tuple[Callable[[RunStore], object], str]] = [
    (lambda store: moved(store, "entries", "archive", "3"), f"entries [3] {MISPLACED}"),
    (lambda store: moved(store, "archive", "entries", "1"), f"entries [1] {MISPLACED}"),
    (
        lambda store: store.client.hset(store.owner_key("into", ANN), "3", 4),
        "`into` names [3], which are not archived",
    ),
    (lambda store: store.client.hdel(store.owner_key("into", ANN), "1"), f"archived [1] {FOREIGN}"),
    (
        lambda store: store.client.hdel(store.owner_key("entries", ANN), "3", "4"),
        f"entries [3, 4] {FOREIGN}; entries [3, 4] {MISPLACED}",
    ),
]


@pytest.mark.parametrize(("harm", "told"), HARM, ids=[row[1] for row in HARM])
def test_an_entry_in_the_wrong_place_is_found(store: RunStore, harm: Callable[[RunStore], object], told: str) -> None:
    harm(store)
    assert audited(store) == [f"{ANN}: {fault}" for fault in told.split("; ")]


def test_the_first_five_wrong_entries_are_named(store: RunStore) -> None:
    numbers = (100, 9, 64, 40, 17, 8, 33)
    for number in numbers:
        store.client.hset(store.owner_key("into", ANN), str(number), 4)
    assert audited(store) == [f"{ANN}: `into` names [8, 9, 17, 33, 40], which are not archived"]
    for number in numbers:
        entry = Entry(type="observation", text="A cow.", minute=1, number=number, tick=1)
        store.client.hset(store.owner_key("entries", ANN), str(number), msgspec.json.encode(entry))
    assert audited(store)[:2] == [f"{ANN}: entries [8, 9, 17, 33, 40] {wrong}" for wrong in (FOREIGN, MISPLACED)]


def test_an_owner_that_cannot_be_read_hides_no_other(store: RunStore) -> None:
    unreadable(store)
    store.client.hdel(store.owner_key("entries", CY), "1")
    gone = Stream(CY)
    gone.append(Entry(type="reflection", text="I shall go.", minute=110), 1)
    first, *others = audited(store, {CY: gone, ANN: remembering()})
    assert first.startswith(f"{ANN}: cannot be read: DecodeError: ")
    assert {other.partition(":")[0] + ":cy" for other in others} == {CY}
    assert len(others) == 2


def test_a_summary_that_does_not_exist_is_found() -> None:
    store, stream = store_of([], tick=NOW), remembering()
    stream.archive(3, 8, 9)
    write_streams(store, [stream])
    said = remembering()
    said.archive(3, 8, 9)
    assert audited(store, {ANN: said}) == [f"{ANN}: entry 3 was archived into 9, which does not exist"]


class Advancing:
    """A run's store whose tick goes on while the first streams are read."""

    def __init__(self, store: RunStore, times: int) -> None:
        self._store, self.left = store, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def numbers(self, *of: Any) -> Any:
        if self.left:
            self.left -= 1
            self._store.client.hincrby(self._store.key("state"), "tick", 1)
        return self._store.numbers(*of)


@pytest.mark.parametrize("times", [0, 1, 3 * (TRIES - 1), 3 * TRIES])
def test_a_live_run_is_read_up_to_the_tick_of_its_stream(store: RunStore, times: int) -> None:
    asked: list[int] = []

    def follow(tick: int) -> Mapping[str, Stream]:
        asked.append(tick)
        return {ANN: remembering()}

    going: Any = Advancing(store, times)
    if times < 3 * TRIES:
        assert wrong_streams(going, {ANN: remembering()}, follow) == []
        assert asked == [NOW + times]
    else:
        with pytest.raises(TimeoutError, match=f"the run advanced {TRIES} times .* 'agent:ann'"):
            wrong_streams(going, {ANN: remembering()}, follow)
