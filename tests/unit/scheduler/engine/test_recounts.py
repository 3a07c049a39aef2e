"""Triggers of scopes: what they join to, which of them wait, and what is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routing.scopes import CURSOR, WORLD
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.triggers import ScopeTrigger, location_left, recounts, story_event
from cogitate.tasks.job import Reads, Request

INN, CY = "location:inn", "npc:cy"


def said(text: str, location: str = "inn") -> Entry:
    return Entry(type="message", text=text, minute=5, importance=3, location=location)


def streams(*entries: Entry) -> dict[str, Stream]:
    made = {owner: Stream(owner) for owner in (WORLD, INN, CY)}
    for entry in entries or (said("Cy, the ale!"), said("Here it is."), said("Fog again.", "quay"), said("Thanks.")):
        made[WORLD].append(entry, 1)
    return made


def asked(*triggers: ScopeTrigger, on: dict[str, Stream] | None = None, busy: str = "") -> Any:
    """The requests, and the triggers that wait for another job of their scope."""
    requests, waiting = recounts(
        triggers, on or streams(), {CY: Profile(name="Cy")}, lambda kind, owner: (kind, owner) == ("recount", busy)
    )
    assert len([trigger for trigger in waiting if trigger.asked]) == len(requests), "each is seen through"
    return requests, [trigger for trigger in waiting if not trigger.asked]


def told(request: Request) -> tuple[int, ...]:
    """The numbers of the messages that a request is about."""
    return (request.numbers if request.owner == WORLD else request.reads[0].numbers) or ()


def test_a_location_recounts_its_messages_and_an_npc_those_around_its_name() -> None:
    requests, waiting = asked(*location_left("inn", [CY, CY], 9))
    assert [(request.owner, told(request)) for request in requests] == [(INN, (1, 2, 4)), (CY, (1, 2))]
    assert requests[0].reads == (Reads(WORLD, 4, (1, 2, 4)),)
    assert waiting == []


def test_the_world_recounts_everything_with_the_events_fields() -> None:
    related: dict[str, Any] = {"quest_id": "ale", "encounter_id": "fight", "location_id": "inn", "npc_ids": [CY]}
    related["objective_ids"] = ["a", "b"]
    trigger = story_event("quest_completed", ["act-2"], related, 9)
    ((request,), _) = asked(trigger)
    assert (request.owner, told(request)) == (WORLD, (1, 2, 3, 4))
    found = request.params
    assert (found["quest_id"], found["encounter_id"], found["location"]) == ("ale", "fight", "inn")
    assert list(found["subjects"]) == [CY]
    assert list(found["tags"]) == ["world:quest_completed", "act-2", "objective:a", "objective:b"]
    assert (found.get("start", 0), found["end"], found["minute"]) == (0, 4, 9)


def test_only_messages_after_the_cursor_are_told() -> None:
    on = streams()
    on[INN].head.cursors[CURSOR] = 2
    ((request,), _) = asked(location_left("inn", [], 9)[0], on=on)
    assert told(request) == (4,)
    on[INN].head.cursors[CURSOR] = 4
    assert asked(location_left("inn", [], 9)[0], on=on) == ([], [])


def test_a_scope_that_recounts_already_waits_up_to_where_it_was_asked() -> None:
    requests, waiting = asked(*location_left("inn", [CY], 9), busy=INN)
    assert [request.owner for request in requests] == [CY]
    assert [(trigger.scope, trigger.upto) for trigger in waiting] == [(INN, 4)]
    on = streams()
    on[WORLD].append(said("Good night."), 2)
    ((request,), _) = asked(*waiting, on=on)
    assert told(request) == (1, 2, 4), "what was said since is for the next"


def test_a_scope_is_requested_once_in_a_tick() -> None:
    one, other = (location_left(place, [CY], 9)[1] for place in ("inn", "quay"))
    requests, waiting = asked(one, other)
    assert ([request.owner for request in requests], [trigger.location for trigger in waiting]) == ([CY], ["quay"])


def test_triggers_of_one_scope_and_place_are_merged() -> None:
    first = story_event("begun", ["a"], {"quest_id": "ale", "npc_ids": [CY]}, 8)
    second = story_event("done", ["a", "b"], {"encounter_id": "fight"}, 9)
    ((request,), _) = asked(first, second)
    assert list(request.params["events"]) == ["begun", "done"]
    assert list(request.params["tags"]) == ["world:begun", "a", "world:done", "b"]
    assert (request.params["quest_id"], request.params["encounter_id"]) == ("ale", "fight")
    assert request.params["minute"] == 9


@pytest.mark.parametrize("gone", [WORLD, INN])
def test_a_scope_that_has_left_and_a_world_without_a_stream_ask_for_nothing(gone: str) -> None:
    on = streams()
    del on[gone]
    assert asked(location_left("inn", [], 9)[0], on=on) == ([], [])


def test_an_unmentioned_npc_has_nothing_to_recount() -> None:
    assert asked(location_left("inn", [CY], 9)[1], on=streams(said("The ale!"), said("Here."))) == ([], [])


def test_a_trigger_is_completed_before_the_next_request() -> None:
    on = streams()
    _, kept = recounts(location_left("inn", [], 9), on, {}, lambda kind, owner: False)
    assert recounts(kept, on, {}, lambda kind, owner: True)[1] == kept, "its job is open"
    assert recounts(kept, on, {}, lambda kind, owner: False) == ([], []), "it changed nothing"
    on[INN].head.cursors[CURSOR] = 2
    ((request,), _) = recounts(kept, on, {}, lambda kind, owner: False)
    assert told(request) == (4,), "a part of it was told"
