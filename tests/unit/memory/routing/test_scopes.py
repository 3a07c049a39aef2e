"""Scoped memories: which messages each scope tells, and each of them once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.entry import Entry
from cogitate.memory.routing.scopes import (
    WORLD,
    around_mentions,
    cursor_of,
    is_about,
    mentions,
    messages_since,
    place_of,
)
from cogitate.scheduler.engine.triggers import location_left, story_event
from tests.unit.memory.scope_case import ANSWER, BOB, EVE, INN, PROFILES, TALK, Realm

# -- the cases of the scopes design ----------------------------------------------------------------


def test_memory_service_location_exit_creates_entries_and_updates_cursors() -> None:
    realm = Realm()
    realm.say(*TALK)
    realm.say("Elsewhere.", location="road")
    assert realm.leave() == [INN]
    realm.settle(INN)
    (memory,) = realm.memories(INN)
    assert memory.text == ANSWER.summary
    assert memory.tags == ("session", INN)
    assert (memory.since_minute, memory.since_number, memory.location) == (1, 5, "inn")
    assert (memory.importance, memory.source) == (5, "internal"), "no limit drops it without a summary"
    assert realm.cursor(INN) == 6
    assert realm.cursor(BOB) == realm.cursor(WORLD) == 0


def test_memory_service_npc_entries_only_for_present_and_mentioned() -> None:
    realm = Realm()
    realm.say(*TALK)
    assert realm.leave(BOB, EVE) == [INN, BOB]  # Eve is present, nobody mentions her
    realm.settle(BOB)
    (memory,) = realm.memories(BOB)
    assert memory.tags == ("npc-session", INN, BOB)
    assert memory.subjects == (BOB,)
    assert (memory.since_minute, memory.since_number) == (1, 3)  # one message before and one after the mention
    assert realm.memories(EVE) == []
    realm = Realm()
    realm.say(*TALK)
    assert realm.leave(EVE) == [INN]  # Bob is mentioned, but not there


def test_memory_service_world_event_creates_world_memory() -> None:
    realm = Realm()
    realm.say(*TALK)
    realm.say("The gate opens.", location="road")
    related = {"quest_id": "q7", "encounter_id": "e2", "objective_id": "o1", "location_id": "road", "npc_ids": [BOB]}
    assert realm.trigger(story_event("quest_completed", ["main"], related, 6)) == [WORLD]
    realm.settle(WORLD)
    (memory,) = realm.memories(WORLD)
    assert memory.tags == ("world:quest_completed", "main", "objective:o1")
    assert (memory.quest_id, memory.encounter_id, memory.location) == ("q7", "e2", "road")
    assert memory.subjects == (BOB,)
    assert (memory.since_minute, memory.since_number, realm.cursor(WORLD)) == (1, 6, 6)


@pytest.mark.parametrize(
    "kind",
    ["objective_completed", "quest_completed", "act_progressed", "location_cleared", "encounter_completed", "eclipse"],
)
def test_story_events_are_an_open_set(kind: str) -> None:
    realm = Realm()
    realm.say("It is done.")
    assert realm.trigger(story_event(kind, [], {}, 1)) == [WORLD]
    realm.settle(WORLD)
    assert realm.memories(WORLD)[0].tags == (f"world:{kind}",)


# -- cursors ---------------------------------------------------------------------------------------


def test_no_messages_after_the_cursor_make_no_memory() -> None:
    realm = Realm()
    assert realm.leave(BOB) == []
    assert realm.trigger(story_event("quest_completed", [], {}, 0)) == []
    realm.say(*TALK)
    realm.leave()
    realm.settle(INN)
    realm.say("On the way.", location="road")
    assert realm.leave() == []
    assert len(realm.memories(INN)) == 1


def test_memories_of_the_world_are_not_messages() -> None:
    realm = Realm()
    realm.say("The quest is done.")
    realm.trigger(story_event("quest_completed", [], {}, 1))
    realm.settle(WORLD)
    assert realm.trigger(story_event("act_progressed", [], {}, 2)) == []


def test_two_exits_in_a_row_tell_each_message_once() -> None:
    realm = Realm()
    realm.say("First visit.")
    assert realm.leave() == [INN]
    assert realm.leave() == []  # the first is open: this one waits
    realm.settle(INN)
    assert realm.trigger() == []  # nothing is left for it
    assert realm.waiting == []
    assert realm.told == {INN: [1]}


def test_an_exit_during_an_open_job_is_told_after_it_without_later_visits() -> None:
    realm = Realm()
    realm.say("First visit.")
    realm.leave()
    realm.say("Second visit.")
    assert realm.leave() == []
    realm.say("Third visit, not over.")
    realm.settle(INN)
    assert realm.trigger() == [INN]
    realm.settle(INN)
    assert realm.told == {INN: [1, 2]}
    assert realm.cursor(INN) == 2
    assert realm.leave() == [INN]


def test_events_of_one_tick_become_one_memory_that_names_them_all() -> None:
    realm = Realm()
    realm.say("The dragon falls.")
    done = story_event("encounter_completed", [], {"encounter_id": "e1"}, 1)
    assert realm.trigger(done, story_event("quest_completed", [], {"quest_id": "q1"}, 1)) == [WORLD]
    realm.settle(WORLD)
    (memory,) = realm.memories(WORLD)
    assert memory.tags == ("world:encounter_completed", "world:quest_completed")
    assert (memory.quest_id, memory.encounter_id) == ("q1", "e1")


def test_each_scope_tells_the_same_messages_once() -> None:
    realm = Realm()
    realm.say(*TALK)
    scopes = realm.trigger(*location_left("inn", [BOB], 5), story_event("quest_completed", [], {}, 5))
    assert scopes == [INN, BOB, WORLD]
    for scope in scopes:
        realm.settle(scope)
    assert realm.told == {INN: [1, 2, 3, 4, 5], BOB: [1, 2, 3], WORLD: [1, 2, 3, 4, 5]}


def test_an_npc_met_at_two_places_waits_for_each() -> None:
    realm = Realm()
    realm.say("Bob waves.")
    realm.leave(BOB)
    realm.say("Bob follows.", location="road")
    assert realm.leave(BOB, location="road") == ["location:road"]
    realm.settle(BOB)
    assert realm.trigger() == [BOB]
    assert realm.open[BOB].job.params["location"] == "road"


def test_an_npc_left_at_two_places_in_one_tick_tells_both() -> None:
    realm = Realm()
    realm.say("Bob swears an oath.")
    realm.say("Bob pays 500 crowns.", location="road")
    realm.trigger(*location_left("road", [BOB], 2), *location_left("inn", [BOB], 2))
    while realm.open:
        realm.settle(min(realm.open))
        realm.trigger()
    assert realm.told[BOB] == [2, 1]
    assert (realm.cursor(BOB), realm.cursor(BOB, "road")) == (2, 2)


def test_a_failed_recount_of_one_place_keeps_progress_at_another() -> None:
    realm = Realm()
    realm.say("Bob saw the mill burn. " * 150)
    realm.leave(BOB)
    realm.settle(BOB, share=0.5)
    assert realm.trigger() == [BOB]
    realm.settle(BOB, fails=True)
    realm.say("Bob counts his crowns. " * 150, location="road")
    realm.leave(BOB, location="road")
    realm.settle(BOB, share=0.3)
    assert realm.trigger(*location_left("inn", [BOB], realm.minute)) == [BOB]
    realm.settle(BOB)
    assert realm.trigger() == [BOB]
    begun = realm.open[BOB].job.params["begun"]
    assert (begun[0], begun[1] > 1_000) == (1, True)


def test_an_npc_of_an_older_versions_run_repeats_nothing() -> None:
    realm = Realm()
    realm.say("Bob swears an oath.", "Bob pays 500 crowns.")
    realm.streams[BOB].head.cursors[WORLD] = 1  # its one cursor for all places
    realm.leave(BOB)
    realm.settle(BOB)
    assert (realm.told[BOB], realm.cursor(BOB)) == ([2], 2)
    assert realm.leave(BOB) == []


def test_messages_cut_from_the_history_are_told_while_stored() -> None:
    realm = Realm()
    realm.say(*TALK)
    realm.streams[WORLD].archive(1, 5)
    assert [e.number for e in messages_since(realm.streams[WORLD], 0, 5, "inn")] == [1, 2, 3, 4, 5]


def test_a_scope_that_left_or_never_was_gets_nothing() -> None:
    realm = Realm()
    realm.say("Hello.")
    del realm.streams[INN]
    assert realm.leave() == []
    assert realm.waiting == []


PLACES = st.sampled_from(["inn", "road"])
STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["Bob is here.", "Eve and Bob talk.", "Rain."]), PLACES),
    st.tuples(st.just("leave"), st.sampled_from([(), (BOB,), (EVE,), (BOB, EVE)]), PLACES),
    st.tuples(st.just("story"), st.sampled_from(["quest_completed", "act_progressed"]), st.none()),
    st.tuples(st.just("settle"), st.integers(0, 9), st.booleans()),
)


# -- any interleaving ------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_no_interleaving_tells_a_message_twice_or_loses_one(steps: list[tuple[str, Any, Any]]) -> None:
    realm = Realm()
    said: dict[str, list[int]] = {"inn": [], "road": []}
    for what, one, other in steps:
        if what == "say":
            realm.say(one, location=other)
            said[other].append(realm.streams[WORLD].head.last_number)
        elif what == "leave":
            realm.leave(*one, location=other)
        elif what == "story":
            realm.trigger(story_event(one, [], {}, realm.minute))
        elif realm.open:
            realm.settle(sorted(realm.open)[one % len(realm.open)], fails=other)
            realm.trigger()
        assert len(realm.waiting) <= 2 * len(PROFILES)
    for location in ("inn", "road"):  # in the end everybody leaves, and no model fails
        realm.leave(BOB, EVE, location=location)
    realm.trigger(story_event("the_end", [], {}, realm.minute))
    while realm.open:
        realm.settle(min(realm.open))
        realm.trigger()
    for numbers in realm.told.values():
        assert len(numbers) == len(set(numbers))
    everything = sorted(said["inn"] + said["road"])
    assert sorted(realm.told.get(INN, [])) == said["inn"]
    assert sorted(realm.told.get("location:road", [])) == said["road"]
    assert sorted(realm.told.get(WORLD, [])) == everything
    for npc in (BOB, EVE):
        told = set(realm.told.get(npc, []))
        about = {n for n in everything if is_about(realm.streams[WORLD].entries[n], npc, PROFILES[npc].name)}
        assert about <= told <= set(everything)
        for place in said:
            last = [m.since_number or 0 for m in realm.memories(npc) if m.location == place]
            assert last == sorted(last)


def test_names_are_found_as_whole_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, bool]] = [
        ("J ran home.", "J", True),
        ("Jack ran home.", "J", False),
        ("Go, j!", "J", True),
        ("王先生来了", "王", True),
        ("Borin Stone slept.", "Borin", True),
        ("Borinson slept.", "Borin", False),
        ("Borin saw a stone.", "Borin Stone", False),
        ("Nobody.", "", False),
        ("Nobody.", "!", False),
    ]
    for text, name, found in cases:
        with subtests.test(text=text):
            assert mentions(text, name) is found


def test_each_mention_includes_the_messages_before_and_after() -> None:
    def told(*named: int) -> list[int]:
        texts = ["Borin slept." if number in named else "It rained." for number in range(7)]
        messages = [Entry(type="message", text=text, minute=0, number=number) for number, text in enumerate(texts)]
        return [message.number for message in around_mentions(messages, "npc:borin", "Borin")]

    assert [told(), told(0), told(3), told(6), told(1, 3), told(0, 6)] == [
        [],
        [0, 1],
        [2, 3, 4],
        [5, 6],
        [0, 1, 2, 3, 4],
        [0, 1, 5, 6],
    ]


@pytest.mark.parametrize(
    ("scope", "location", "cursor", "place"),
    [
        ("world", "", "world", ""),
        ("world", "inn", "world", ""),  # the world's one cursor passes all places
        ("location:inn", "inn", "world", ""),
        ("npc:bob", "inn", "world:inn", "inn"),
        ("npc:bob", "", "world", ""),
        ("location:road", "inn", "world:inn", "inn"),
    ],
)
def test_a_cursor_covers_all_places_or_one(scope: str, location: str, cursor: str, place: str) -> None:
    assert cursor_of(scope, location) == cursor
    assert place_of(cursor) == place


def test_an_invalid_cursor_has_no_place() -> None:
    assert place_of("reflect:inn") == ""


@pytest.mark.parametrize("name", ["", "…", " "])
def test_a_name_without_words_is_never_mentioned(name: str) -> None:
    assert not mentions("Bob sang … in the inn.", name)
    assert not mentions("", name)
