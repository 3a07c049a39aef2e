"""Choosing an action: the rules, when a job is made, what its prompt shows and what its answer does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.clock import DAY
from cogitate.memory.effects import MarkAccessed, SetPlanStatus, Tell
from cogitate.memory.entry import Entry, PlanItem, PlanStatus
from cogitate.memory.profile import Location, Profile
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import ActionAnswer
from cogitate.prompts.render import Templates
from cogitate.simulation.world import energy, fed
from cogitate.tasks.act import Act
from cogitate.tasks.heuristics.action import by_rule
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.meters import Meter
from cogitate.tasks.situation import MOST_ACTIONS, MOST_NEAR
from cogitate.workers.llm.requests.schema import full_schema
from tests.unit.tasks.kind_cases import KLAUS, MARIA, WORLD, case_of, message, moment_of, observation, stream_of

KIND = Act(Templates())
ACTING = replace(WORLD, act_interval=30)
NOON = 720
FREE: dict[str, Any] = {"free": True, "location": "library", "activity": "Write the paper"}


def plan(status: PlanStatus = "active", location: str = "library") -> Entry:
    items = (
        PlanItem(id="1-0", description="Write the paper", location=location, minute=600, status=status),
        PlanItem(id="1-1", description="Have lunch with Maria", location="cafe", minute=780),
    )
    return Entry(type="plan", text="Plan.", minute=360, importance=6, items=items, valid_until=1800)


def lived(*entries: Entry) -> Stream:
    return stream_of(
        observation("Found a source on rents in the archive.", 640, importance=6),
        message("Maria: See you at lunch, bring the paper!", 650, importance=7),
        *entries,
    )


def turn(stream: Stream, world: WorldFacts = ACTING, **brief: Any) -> list[tuple[int, dict[str, Any]]]:
    """Tick and parameters of what is due from noon to half past."""
    return [
        (tick, request.params)
        for tick in range(NOON, NOON + 30)
        for request in KIND.due(moment_of(stream, tick, world=world, **{**FREE, **brief}))
    ]


def act(stream: Stream, **params: Any) -> Any:
    return case_of(KIND, stream, NOON, params=params, world=ACTING)


def answer(**fields: Any) -> ActionAnswer:
    values = {"location": "", "doing": "reading", "reason": "to learn", "completing_plan_item": False} | fields
    return ActionAnswer.model_validate(values)


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
def test_where_no_rule_decides_there_is_something_to_choose(situation: dict[str, Any]) -> None:
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


def test_the_prompt_shows_the_present_plan_item_and_memories() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    prompt = KIND.prompt(case_of(KIND, stream, tick, params=params, world=ACTING))
    assert "Present plan item: 10:00 AM Write the paper (Oak Hill Library)" in prompt.user
    assert "Next: 1:00 PM Have lunch with Maria (Hobbs Cafe)" in prompt.user
    assert "bring the paper!" in prompt.user
    assert "- Hobbs Cafe (cafe)" in prompt.user
    assert set(prompt.used) == {1, 2}
    assert len(KIND.prompt(act(stream_of(*(observation(f"Saw {i}.", i) for i in range(30))))).used) == 8


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


def test_the_prompt_shows_neighbours_actions_and_the_meaning_of_marks() -> None:
    asked = act(lived(plan()), near=["agent:maria", "a stranger"], actions=["read", "sleep on the desk"])
    prompt = KIND.prompt(asked)
    assert "Near: Maria Lopez, a stranger\n" in prompt.user
    assert "Available actions: read; sleep on the desk\n" in prompt.user
    assert "[known] marks facts that are always true" in prompt.system
    situation = prompt.user.partition("<situation>\n")[2].partition("</situation>")[0]
    assert "Near: " in situation
    assert "Available actions: " in situation, "what the host tells is data"
    bare = KIND.prompt(act(lived(plan()))).user
    assert "Available actions" not in bare
    assert "Near" not in bare
    assert bare.endswith("What does Klaus Mueller do next?")


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


def test_the_present_plan_item_is_told_once() -> None:
    item = {"id": "1-0", "description": "Write the paper", "location": "library", "minute": 600}
    user = KIND.prompt(act(lived(plan()), item=item, activity="Write the paper")).user
    assert user.partition("<memories>")[0].count("Write the paper") == 1
    assert "\nDoing: the present plan item\n" in user
    assert "\nDoing: Write a letter\n" in KIND.prompt(act(lived(plan()), item=item, activity="Write a letter")).user


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


def test_a_request_carries_neighbours_and_actions() -> None:
    ((_, params),) = turn(lived(plan()), near=("agent:maria",), actions=["read"])
    assert (params["near"], params["actions"]) == (["agent:maria"], ["read"])
    crowd, choices = [f"agent:{n}" for n in range(MOST_NEAR + 1)], [f"do {n}" for n in range(MOST_ACTIONS + 1)]
    ((_, params),) = turn(lived(plan()), near=crowd, actions=choices)
    assert (params["near"], params["actions"]) == (crowd[:-1], choices[:-1]), "as many as a request may name"


def test_a_request_carries_numeric_meters_in_a_fixed_order() -> None:
    ((_, params),) = turn(lived(plan()), status={"mood": 50, "name": "Bo", "hunger": 60.5, "energy": 70})
    assert list(params["status"].items()) == [("energy", 70), ("hunger", 60.5), ("mood", 50)]


def test_the_prompt_shows_meters_with_unit_and_direction_and_the_stage_of_the_story() -> None:
    vote = replace_tags(observation("Voting initiated.", 700), ("phase:council", "stage:voting", "round:2"))
    user = KIND.prompt(act(lived(plan(), vote), status={"hunger": fed(12), "gold": 3_000})).user
    assert "Condition: hunger: starving; gold 3000\n" in user
    assert "Under way: phase council, stage voting, round 2\n" in user


def replace_tags(entry: Entry, tags: tuple[str, ...]) -> Entry:
    return msgspec.structs.replace(entry, tags=tags)


@pytest.mark.parametrize(
    ("situation", "remembered"),
    [
        ({"item": {"id": "1", "description": "Mend the lighthouse"}}, "lighthouse"),
        ({"later": {"id": "2", "description": "Feed the donkeys"}}, "donkeys"),
        (
            {
                "item": {"id": "1", "description": "Mend the lighthouse"},
                "later": {"id": "2", "description": "Feed the donkeys"},
            },
            "lighthouse",
        ),
    ],
)
def test_the_prompt_recalls_the_present_item_or_else_the_next(situation: dict[str, Any], remembered: str) -> None:
    others = [observation(f"Saw page {i} of the book.", 700 + i % 10) for i in range(30)]
    stream = stream_of(observation("The lighthouse is dark.", 1), observation("The donkeys are hungry.", 2), *others)
    user = KIND.prompt(act(stream, **situation)).user
    assert [word for word in ("lighthouse", "donkeys") if f"The {word} " in user] == [remembered]


def test_a_prompt_shows_eight_memories() -> None:
    stream = stream_of(*(observation(f"Saw heron number {i}.", 600 + i) for i in range(12)))
    assert KIND.prompt(act(stream)).user.count("Saw heron") == 8
