"""Choosing an action: the rules, when a job is made, and what its answer does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import MarkAccessed, SetPlanStatus, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location
from cogitate.simulation.world import energy, fed
from cogitate.tasks.heuristics.action import by_rule
from tests.unit.tasks.act.act_case import ACTING, KIND, NOON, act, answer, lived, plan, turn
from tests.unit.tasks.kind_cases import KLAUS, MARIA, WORLD, case_of, message, moment_of, observation, stream_of


@pytest.mark.parametrize(
    ("situation", "minute", "kind", "location"),
    [
        ({"status": {"energy": energy(19)}, "location": "cafe"}, NOON, "move_to", "dorm"),
        ({"status": {"energy": energy(19)}, "location": "dorm"}, NOON, "sleep", "dorm"),
        ({"status": {"hunger": fed(19)}, "location": "dorm"}, NOON, "move_to", "cafe"),
        ({"status": {"hunger": fed(19), "energy": energy(5)}, "location": "cafe"}, NOON, "move_to", "dorm"),
        ({"item": {"id": "1", "location": "library"}, "location": "cafe"}, NOON, "move_to", "library"),
        ({"item": {"id": "1", "location": "cafe"}, "location": "dorm"}, 1380, "move_to", "cafe"),
        ({"location": "cafe"}, 1320, "move_to", "dorm"),
        ({"location": "dorm"}, 1440 + 359, "sleep", "dorm"),
    ],
)
def test_rules_come_first(situation: dict[str, Any], minute: int, kind: str, location: str) -> None:
    action = by_rule(situation, minute, home="dorm", food="cafe")
    assert action is not None
    assert (action["type"], action["location"]) == (kind, location)
    assert action["reason"] or "item" in situation


@pytest.mark.parametrize(
    ("situation", "minute", "kind", "location"),
    [
        ({"location": "park"}, 1380, "sleep", "park"),
        ({}, 1380, "sleep", ""),
        ({"status": {"energy": energy(5)}, "location": "park"}, NOON, "sleep", "park"),
        ({"status": {"hunger": fed(5)}, "location": "park"}, NOON, "stay", "park"),
    ],
)
def test_an_agent_without_home_and_eatery_stays(
    situation: dict[str, Any], minute: int, kind: str, location: str
) -> None:
    action = by_rule(situation, minute, home="", food="")
    assert action is not None
    assert (action["type"], action["location"]) == (kind, location)


@pytest.mark.parametrize(
    "situation",
    [
        {},
        {"status": {"energy": energy(20), "hunger": fed(20)}, "location": "cafe"},
        {"item": {"id": "1", "location": "cafe"}, "location": "cafe"},
        {"item": {"id": "1"}, "location": "cafe"},
    ],
)
def test_without_a_matching_rule_no_action_is_decided(situation: dict[str, Any]) -> None:
    assert by_rule(situation, NOON, home="dorm", food="cafe") is None


def test_a_status_that_is_not_a_number_is_ignored() -> None:
    for status in ({"hunger": "low"}, {"energy": None}, {"hunger": [1]}, {}, "low", 3, None, [1]):
        assert by_rule({"status": status, "location": "cafe"}, NOON, home="dorm", food="cafe") is None


def test_an_agent_is_evaluated_only_at_its_turns() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    assert params["item"] == {
        "id": "1-0",
        "description": "Write the paper",
        "minute": 600,
        "status": "active",
        "location": "library",
    }
    assert params["later"]["description"] == "Have lunch with Maria"
    wake = KIND.wake(moment_of(stream, tick, world=ACTING))
    assert wake == tick + 30
    ticks = {t for name in range(40) for t, _ in turn(stream_of(owner=f"agent:{name}"), activity="", location="")}
    assert len(ticks) > 15, "not all in one tick"


@pytest.mark.parametrize(
    "brief",
    [{"free": False}, {"free": None}, {"status": {"energy": energy(3)}}, {"location": "cafe"}],
    ids=["busy", "not offered", "a need decides", "the plan decides"],
)
def test_no_job_is_requested_where_a_rule_decides(brief: dict[str, Any]) -> None:
    assert turn(lived(plan()), **brief) == []


def test_it_is_off_without_an_interval_and_for_places() -> None:
    assert turn(lived(plan()), WORLD) == []
    assert KIND.wake(moment_of(lived(), NOON)) is None
    assert turn(stream_of(owner="location:cafe")) == []


def test_an_answer_becomes_an_action_and_completes_the_item() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    case = case_of(KIND, stream, tick, params=params, world=ACTING)
    effects = KIND.effects(case, answer(location="Hobbs Cafe", completing_plan_item=True), (1, 2))
    assert effects == (
        SetPlanStatus(owner=KLAUS, item="1-0", status="completed", expects="active"),
        Tell(
            owner=KLAUS,
            topic="action",
            data={"type": "move_to", "location": "cafe", "doing": "reading", "reason": "to learn"},
        ),
        MarkAccessed(owner=KLAUS, numbers=(1, 2), minute=tick),
    )
    assert unmet({KLAUS: stream}, effects) is None
    apply({KLAUS: stream}, effects, tick + 3)
    ((_, after),) = turn(stream)
    assert "item" not in after, "what is completed is not the present item any more"


def test_an_answer_that_came_after_the_item_moved_on_is_stale() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    effects = KIND.effects(
        case_of(KIND, stream, tick, params=params, world=ACTING), answer(completing_plan_item=True), ()
    )
    stream.set_plan_status("1-0", "cancelled")
    assert "cancelled, not active" in (unmet({KLAUS: stream}, effects) or "")


def test_staying_is_an_action_and_an_unknown_place_is_not() -> None:
    case = act(lived(), location="library")
    (told,) = KIND.effects(case, answer(), ())
    assert isinstance(told, Tell)
    assert (told.data["type"], told.data["location"]) == ("stay", "library")
    with pytest.raises(ValueError, match="no place is called 'the moon'"):
        KIND.effects(case, answer(location="the moon"), ())


def test_without_a_model_the_plan_continues() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    (told,) = KIND.heuristic(case_of(KIND, stream, tick, params=params, world=ACTING))
    assert isinstance(told, Tell)
    assert told.data == {
        "type": "stay",
        "location": "library",
        "doing": "Write the paper",
        "reason": "Going on with the plan",
    }


def test_without_a_model_a_rule_precedes_the_plan() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    hungry = {**params, "status": {"hunger": fed(5), "energy": energy(90), "mood": "glad"}}
    (told,) = KIND.heuristic(case_of(KIND, stream, tick, params=hungry, world=ACTING))
    assert isinstance(told, Tell)
    assert (told.data["type"], told.data["location"]) == ("move_to", "cafe")


def test_without_a_plan_company_is_sought_where_remembered() -> None:
    stream = stream_of(message("Maria: Hello!", 650, speaker=MARIA))
    told, marked = KIND.heuristic(act(stream, location="library"))
    assert isinstance(told, Tell)
    assert (told.data["type"], told.data["location"]) == ("move_to", "cafe")
    assert marked == MarkAccessed(owner=KLAUS, numbers=(1,), minute=NOON)


def test_company_is_sought_at_another_social_place_where_most_is_remembered() -> None:
    places = tuple(
        Location(id=place, name=place.title(), tags=("social",) if place != "yard" else ())
        for place in ("bar", "cafe", "hall", "yard")
    )
    stream = stream_of(
        observation("Fell asleep in the yard.", 600, location="yard", importance=9),
        observation("Sang in the hall.", 610, location="hall", importance=9),
        *(observation(f"Had tea {i}.", 620 + i, location="cafe", importance=2 + i) for i in range(5)),
        Entry(type="reflection", text="The bar is dear.", minute=630, location="bar", importance=9),
    )
    world = replace(ACTING, locations=places)
    told, marked = KIND.heuristic(case_of(KIND, stream, NOON, params={"location": "hall"}, world=world))
    assert isinstance(told, Tell)
    assert (told.data["type"], told.data["location"]) == ("move_to", "cafe")
    assert isinstance(marked, MarkAccessed)
    assert marked.numbers == tuple(sorted(marked.numbers))
    assert set(marked.numbers) <= {3, 4, 5, 6, 7}
    nowhere = case_of(KIND, stream_of(), NOON, params={"location": "hall"}, world=replace(world, locations=places[2:]))
    (idle,) = KIND.heuristic(nowhere)
    assert isinstance(idle, Tell)
    assert idle.data["type"] == "idle", "the only social place is here"


def test_without_plan_or_company_an_agent_idles() -> None:
    bare = case_of(KIND, stream_of(), NOON, world=replace(ACTING, locations=()))
    (told,) = KIND.heuristic(bare)
    assert isinstance(told, Tell)
    assert told.data["type"] == "idle"
    assert told.data["reason"] == "Deciding what to do"
