"""An agent acts by rule at the edges of the night, eats and meets people somewhere, and reads a part of its brief."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Tell
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.profile import Location, Profile
from cogitate.prompts.render import Templates
from cogitate.simulation.world import energy, fed
from cogitate.tasks.act import SHOWN, Act
from cogitate.tasks.heuristics.action import _company, by_rule
from cogitate.tasks.situation import MOST_ACTIONS, MOST_NEAR, situation_of
from tests.unit.tasks.kind_cases import WORLD, case_of, moment_of, observation, stream_of

KIND = Act(Templates())
NOON = 720


def told(*memories: Entry, places: tuple[Location, ...] = WORLD.locations, **situation: Any) -> dict[str, Any]:
    """The action that an agent at no place in particular takes at noon."""
    case = case_of(KIND, stream_of(*memories), NOON, params=situation, world=replace(WORLD, locations=places))
    (action,) = [effect for effect in KIND.heuristic(case) if isinstance(effect, Tell)]
    return dict(action.data)


@pytest.mark.parametrize(
    ("minute", "asleep"),
    [
        (0, True),
        (359, True),
        (360, False),
        (1_319, False),
        (1_320, True),
        (DAY + 359, True),
        (DAY + 360, False),
        (DAY + 1_319, False),
        (DAY + 1_320, True),
    ],
)
def test_the_night_is_from_ten_to_six(minute: int, asleep: bool) -> None:
    action = by_rule({"location": "dorm"}, minute, home="dorm", food="")
    assert (action is not None) is asleep


def test_a_hungry_agent_goes_to_the_best_type_of_place_then_to_the_first_id() -> None:
    def eats(*places: tuple[str, str]) -> str:
        locations = tuple(Location(id=name, name=name.title(), type=kind) for name, kind in places)
        return str(told(places=locations, status={"hunger": fed(5)})["location"])

    kinds = ["restaurant", "cafe", "café", "diner", "pub"]
    for best in range(len(kinds)):
        assert eats(*((f"{len(kinds) - n}", kinds[n]) for n in range(best, len(kinds)))) == f"{len(kinds) - best}"
    assert eats(("c", "cafe"), ("b", "cafe"), ("a", "pub")) == "b"
    assert eats(("a", "library")) == "dorm", "at home where there is none"


def test_an_idle_agent_seeks_its_best_remembered_company() -> None:
    park, bar = (Location(id=name, name=name.title(), tags=("social",)) for name in ("park", "bar"))
    assert told(places=(park, bar))["location"] == "bar", "of equals the first by id"
    seen = observation("Met Bo.", 600, location="park", importance=3)
    assert told(seen, places=(bar, park))["location"] == "park"
    more = observation("Met Cy.", 610, location="bar", importance=4)
    assert told(seen, more, places=(bar, park))["location"] == "bar"
    thought = Entry(type="reflection", text="The park is good.", minute=620, location="park", importance=9)
    assert told(seen, more, thought, places=(bar, park))["location"] == "bar", "only what happened there counts"
    assert told(seen, places=(park,), location="park")["type"] == "idle", "it is there already"


@pytest.mark.parametrize("given", [[], (), "agent:maria", 7, None, {"agent:maria": 1}])
def test_only_lists_of_a_brief_name_neighbours_and_actions(given: Any) -> None:
    moments = [
        moment_of(stream_of(), tick, world=replace(WORLD, act_interval=30), free=True, near=given, actions=given)
        for tick in range(NOON, NOON + 30)
    ]
    ((request,),) = filter(None, (list(KIND.due(moment)) for moment in moments))
    assert request.params == {}


def kept(**brief: Any) -> dict[str, Any]:
    return situation_of(moment_of(stream_of(), 600, **brief))


def test_place_activity_and_meters_of_a_brief_are_kept_where_readable() -> None:
    assert kept(location="cafe", activity="reads", status={"energy": 5, 3: 1.5, "mood": "low"}) == {
        "location": "cafe",
        "activity": "reads",
        "status": {"3": 1.5, "energy": 5},
    }
    assert kept(location="", activity=None, status="tired", near="Maria", actions=[]) == {}


@pytest.mark.parametrize(("name", "most"), [("near", MOST_NEAR), ("actions", MOST_ACTIONS)])
def test_long_lists_keep_their_first_items_up_to_five_hundred_characters(name: str, most: int) -> None:
    given = ["x" * 501, 7, *(f"n{n}" for n in range(most))]
    found = kept(**{name: given})[name]
    assert found == ["x" * 500, "7", *(f"n{n}" for n in range(most - 2))]


def test_company_is_sought_where_most_is_remembered_and_shown_by_importance() -> None:
    here = [observation("Tea.", 500 + n, location="cafe", importance=1 + n % 5) for n in range(30)]
    other = observation("The mill burned.", 500, location="library", importance=10)
    thought = Entry(type="reflection", text="Hm.", minute=500, location="cafe", importance=10)
    case = case_of(KIND, stream_of(*here, other, thought), 600)
    place, numbers = _company(case, "dorm")
    assert place == "cafe"
    assert len(numbers) == SHOWN
    assert numbers == tuple(sorted(numbers))
    shown = [here[number - 1].importance for number in numbers]
    assert min(shown) >= max(e.importance for n, e in enumerate(here, 1) if n not in numbers), "what mattered most"
    assert 31 not in numbers
    assert 32 not in numbers
    assert _company(case, "cafe") == ("", ()), "whoever is there looks for company elsewhere"


HUNGRY = {"hunger": {"value": 90, "low": "sated", "high": "starving", "need": "high"}}


@pytest.mark.parametrize(
    ("noon", "brief", "chosen"),
    [
        (NOON, {"status": HUNGRY}, "eat a meal"),
        (NOON, {"status": {"energy": energy(3)}}, "take a rest"),
        (NOON, {"location": "cafe"}, "read a book"),
        (1380, {}, "take a rest"),
    ],
    ids=["hungry", "tired", "the plan's item is elsewhere", "at night"],
)
def test_with_named_actions_a_choice_is_due_at_any_hour_and_meter(
    noon: int, brief: dict[str, Any], chosen: str
) -> None:
    item = PlanItem(id="1-0", description="Read a book", location="library", minute=690, status="active")
    plan = Entry(type="plan", text="Plan.", minute=360, importance=6, items=(item,), valid_until=1300)
    stream = stream_of(plan)
    profile = Profile(name="Unit 7")  # without a home
    acting = replace(WORLD, act_interval=30)
    actions = ["polish the hull", "eat a meal", "take a rest", "read a book"]
    ((tick, request),) = (
        (tick, request)
        for tick in range(noon, noon + 30)
        for request in KIND.due(
            msgspec.structs.replace(
                moment_of(stream, tick, world=acting, free=True, actions=actions, **brief), profile=profile
            )
        )
    )
    case = case_of(KIND, stream, tick, params=dict(request.params), world=acting, profile=profile)
    (told,) = (e for e in KIND.heuristic(case) if isinstance(e, Tell))
    assert told.data["doing"] == chosen


WELD = ["wait", "check the pumps", "weld a hull plate"]


@pytest.mark.parametrize(
    ("memories", "situation", "chosen"),
    [
        ((observation("A hull plate came loose.", 700, importance=8),), {}, "weld a hull plate"),
        ((observation("I saw Bo weld a hull plate.", 700, importance=5),), {}, "wait"),
        ((), {"activity": "checking the pumps"}, "check the pumps"),
        ((), {"activity": "dancing"}, "wait"),
    ],
    ids=["a pressing matter", "what does not press", "the present activity", "nothing: the first"],
)
def test_without_a_plan_the_action_most_like_the_situation_is_chosen_or_else_the_first(
    memories: tuple[Entry, ...], situation: dict[str, Any], chosen: str
) -> None:
    action = told(*memories, places=(), actions=WELD, **situation)
    assert action["doing"] == chosen
    assert told(*memories, places=(), actions=WELD, **situation) == action


def test_a_pressing_matter_precedes_the_plan_item_and_is_the_reason_of_the_action() -> None:
    item = {"id": "1-0", "description": "check the pumps", "minute": 690, "status": "active"}
    loose = observation("A hull plate came loose.", 700, importance=8)
    action = told(loose, places=(), actions=WELD, item=item)
    assert (action["doing"], action["reason"]) == ("weld a hull plate", "A hull plate came loose")
    assert told(places=(), actions=WELD, item=item)["doing"] == "check the pumps"


def test_an_action_at_another_place_does_not_follow_the_plan() -> None:
    def chosen(*actions: str) -> tuple[str, str]:
        action = told(location="library", actions=list(actions), item=item)
        return action["doing"], action["reason"]

    item = {"id": "1-0", "description": "Rest and read about goats", "minute": 600, "location": "library"}
    assert chosen("sweep", "rest at Dorm", "read") == ("read", "Going on with the plan")
    assert chosen("sweep", "rest at Dorm")[1] != "Going on with the plan"
