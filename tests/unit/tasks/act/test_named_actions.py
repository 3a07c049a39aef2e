"""Actions that the host names: which are offered, accepted, and chosen without a model."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Tell
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.profile import Profile
from cogitate.prompts.answers import ActionAnswer
from cogitate.tasks.meters import Meter
from cogitate.workers.llm.requests.schema import full_schema
from tests.unit.tasks.act.act_case import KIND, act, answer, lived, plan, turn
from tests.unit.tasks.kind_cases import case_of, stream_of


def test_where_actions_are_named_one_is_chosen() -> None:
    asked = act(lived(plan()), actions=["read", "sleep on the desk", "read"])
    choices = {one.field: one.choices for one in KIND.prompt(asked).constraints}
    assert choices["doing"] == ("read", "sleep on the desk")
    assert choices.keys() == {"location", "doing"}, "the reason is in the character's own words"
    free = {one.field for one in KIND.prompt(act(lived(plan()))).constraints}
    assert free == {"location"}, "without named actions the deed is free text"


def test_no_place_is_asked_for_where_each_action_determines_its_own() -> None:
    item = {"id": "1-0", "description": "Write the paper", "location": "library", "minute": 600}
    placed = ["having tea at Hobbs Cafe", "reading at home", "Write the paper"]
    asked = KIND.prompt(act(lived(plan()), actions=placed, item=item, location="park"))
    assert "location" not in full_schema(asked.answer)["properties"]
    assert "Places:" not in asked.user
    assert '"location"' not in asked.system
    assert [one.field for one in asked.constraints] == ["doing"]
    open_to_choice = KIND.prompt(act(lived(plan()), actions=[*placed, "humming"], item=item, location="park"))
    assert "location" in full_schema(open_to_choice.answer)["properties"]
    assert "Places:\n- " in open_to_choice.user
    assert '"location"' in open_to_choice.system


def test_an_action_that_is_not_available_is_refused_and_a_free_deed_is_not() -> None:
    asked = act(lived(plan()), actions=["Read <all> day", "sleep"], location="library")
    read = answer(doing="read ‹all› day", location="here")
    (told,) = (e for e in KIND.effects(asked, read, ()) if isinstance(e, Tell))
    assert told.data["doing"] == "Read <all> day"
    assert KIND.effects(asked, answer(doing="Sleep in the chair", location="here"), ()), "it means one action alone"
    with pytest.raises(ValueError, match="'explore the forest' is not available"):
        KIND.effects(act(lived(plan()), actions=["rest"]), answer(doing="explore the forest", location="here"), ())
    with pytest.raises(ValueError, match=r"'dance' is not available; choose one of: Read <all> day; sleep"):
        KIND.effects(asked, answer(doing="dance", location="here"), ())
    (told,) = (
        e for e in KIND.effects(act(lived(plan())), answer(doing="dance", location="here"), ()) if isinstance(e, Tell)
    )
    assert told.data["doing"] == "dance"


def test_a_long_action_is_known_by_its_beginning() -> None:
    long = f"read {'the old letters in the archive, ' * 9}and rest"
    asked = act(lived(plan()), actions=[long, "sleep"])
    said = ActionAnswer(reason="It is late.", location="here", doing=long)
    assert len(said.doing) < len(long)
    (told,) = (e for e in KIND.effects(asked, said, ()) if isinstance(e, Tell))
    assert told.data["doing"] == long


@pytest.mark.parametrize(
    ("doing", "place"),
    [
        ("having tea at Hobbs Cafe", "cafe"),  # where it says
        ("reading at home", "dorm"),  # the agent's own
        ("humming", "library"),  # where the answer says
    ],
)
def test_an_action_is_done_where_it_says(doing: str, place: str) -> None:
    asked = act(lived(plan()), actions=["having tea at Hobbs Cafe", "reading at home", "humming"], location="park")
    (told,) = (e for e in KIND.effects(asked, answer(doing=doing, location="library"), ()) if isinstance(e, Tell))
    assert (told.data["type"], told.data["location"]) == ("move_to", place)


def test_without_a_model_a_named_action_is_chosen() -> None:
    asked = act(stream_of(), actions=["humming", "having tea at Hobbs Cafe"], location="library")
    (told,) = (e for e in KIND.heuristic(asked) if isinstance(e, Tell))
    assert (told.data["doing"], told.data["location"]) == ("having tea at Hobbs Cafe", "cafe")
    alone = act(stream_of(), actions=["humming"], location="library")
    (told,) = (e for e in KIND.heuristic(alone) if isinstance(e, Tell))
    assert (told.data["type"], told.data["doing"]) == ("stay", "humming")


SHIP = ["repair the hull", "eat a ration", "run diagnostics"]


@pytest.mark.parametrize(
    ("params", "chosen"),
    [
        ({}, "run diagnostics"),  # the plan's item
        ({"status": {"hunger": Meter(95, low="sated", high="starving", need="high")}}, "eat a ration"),
        ({"status": {"hunger": 95}}, "run diagnostics"),  # nobody said what 95 means
        ({"status": {"hunger": Meter(3, low="sated", high="starving", need="high")}}, "run diagnostics"),
    ],
)
def test_a_need_and_then_the_plan_choose_among_named_actions(params: dict[str, Any], chosen: str) -> None:
    items = (PlanItem(id="1-0", description="Run the diagnostics of module B", minute=600),)
    stream = lived(Entry(type="plan", text="Plan.", minute=360, items=items, valid_until=DAY + 360))
    ((_, situation),) = turn(stream)
    (tell, *_) = KIND.heuristic(act(stream, **{**situation, "actions": SHIP, **params}))
    assert isinstance(tell, Tell)
    assert tell.data["doing"] == chosen


@pytest.mark.parametrize(
    ("routine", "minute", "chosen"),
    [
        ("18:00 cook supper", 19 * 60, "cook a meal"),
        ("18:00 cook supper", 23 * 60, "sleep"),
        ("18:00–23:30 cook supper", 23 * 60, "cook a meal"),
    ],
)
def test_no_deed_of_the_evening_goes_on_all_night(routine: str, minute: int, chosen: str) -> None:
    items = (PlanItem(id="1-0", description="cook supper", minute=18 * 60),)
    stream = lived(Entry(type="plan", text="Plan.", minute=360, items=items, valid_until=DAY + 360))
    params = {
        "actions": ["read", "cook a meal", "sleep"],
        "item": {"id": "1-0", "description": "cook supper", "minute": 18 * 60},
    }
    pip = Profile(name="Pip", routine=routine)
    (tell, *_) = KIND.heuristic(case_of(KIND, stream, minute, params=params, profile=pip))
    assert isinstance(tell, Tell)
    assert tell.data["doing"] == chosen


@pytest.mark.parametrize(
    ("profile", "actions", "chosen"),
    [
        (Profile(name="Nuria", language="es"), ["vender pescado", "dormir"], "dormir"),
        (Profile(name="Greta", language="de"), ["die Halle fegen", "schlafen"], "schlafen"),
        (Profile(name="سالم"), ["بيع الحرير", "النوم"], "النوم"),
        (Profile(name="Nuria", language="es"), ["vender pescado", "remendar las redes"], "vender pescado"),
    ],
)
def test_at_night_one_sleeps_in_any_language(profile: Profile, actions: list[str], chosen: str) -> None:
    case = case_of(KIND, stream_of(), 2 * 60, params={"actions": actions}, profile=profile)
    (tell, *_) = KIND.heuristic(case)
    assert isinstance(tell, Tell)
    assert tell.data["doing"] == chosen


@pytest.mark.parametrize(
    ("language", "actions", "eats", "sleeps"),
    [
        ("ja", ["畑を耕す", "眠る", "食べる"], "食べる", "眠る"),
        ("de", ["die Halle fegen", "schlafen", "Brot essen"], "Brot essen", "schlafen"),
        ("es", ["vender pescado", "dormir", "comer pan"], "comer pan", "dormir"),
        ("zh", ["种地", "睡觉", "吃饭"], "吃饭", "睡觉"),
        ("en", ["sweep the hall", "sleep", "eat bread"], "eat bread", "sleep"),
    ],
)
def test_a_hungry_or_tired_agent_eats_or_sleeps_in_any_language(
    language: str, actions: list[str], eats: str, sleeps: str
) -> None:
    for name, value, need, chosen in (("hunger", 95, "high", eats), ("energy", 5, "low", sleeps)):
        params = {"actions": actions, "status": {name: {"value": value, "need": need}}}
        case = case_of(KIND, stream_of(), 15 * 60, params=params, profile=Profile(name="Kai", language=language))
        (tell, *_) = KIND.heuristic(case)
        assert isinstance(tell, Tell)
        assert tell.data["doing"] == chosen


def test_where_nothing_calls_for_any_the_first_named_action_is_chosen_at_any_hour() -> None:
    for minute in range(0, DAY, 60):
        case = case_of(KIND, stream_of(), minute, params={"actions": SHIP, "location": "library"})
        (tell, *_) = KIND.heuristic(case)
        assert isinstance(tell, Tell)
        assert tell.data["doing"] == SHIP[0]
