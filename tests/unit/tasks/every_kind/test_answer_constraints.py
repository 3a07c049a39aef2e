"""What a prompt shows bounds its answer, which is checked by it; the schema is the same for each job of a kind."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location
from cogitate.prompts.answers import ActionAnswer, DailyPlan, RatingsAnswer, ReflectionAnswer
from cogitate.prompts.constraints import MOST_CHOICES, Constraint
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.kind import Kind, Prompt, WorldFacts
from cogitate.tasks.places import MOST
from cogitate.tasks.plan import Plan
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.recount import Recount
from cogitate.tasks.reflect import Reflect
from cogitate.tasks.summarise import Summarise
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.jobs.fitting import WrongPrompt, check_prompt
from cogitate.workers.llm.requests.dialect import Dialect
from cogitate.workers.llm.requests.schema import full_schema
from tests.unit.tasks.kind_cases import WORLD, case_of, message, observation, stream_of

NOON = 720
LIVED = (observation("Found a source on rents.", 640), message("Maria: See you at lunch!", 650))


def choices_of(kind: Kind, *entries: Entry, world: WorldFacts = WORLD) -> dict[str, tuple[str, ...]]:
    prompt = check_prompt(kind.prompt(case_of(kind, stream_of(*(entries or LIVED)), NOON, world=world)))
    return {one.field: one.choices for one in prompt.constraints}


def test_a_plan_names_the_places_of_its_prompt_or_none_of_them() -> None:
    places = ("Hobbs Cafe", "Oak Hill Library", "Dorm", "cafe", "library", "dorm", "anywhere")
    assert choices_of(Plan(Templates())) == {"activities.location": places}
    assert choices_of(Plan(Templates()), world=replace(WORLD, locations=())) == {}
    many = tuple(Location(id=f"p{n}", name=f"Place {n}") for n in range(2 * MOST))
    (shown,) = choices_of(Plan(Templates()), world=replace(WORLD, locations=many)).values()
    assert shown == (*(f"Place {n}" for n in range(MOST)), *(f"p{n}" for n in range(MOST)), "anywhere")


def test_a_reflection_may_name_only_persons_in_its_prompt() -> None:
    assert choices_of(Reflect(Templates())) == {"relationship_changes.agent_id": ("Maria Lopez",)}
    assert choices_of(Reflect(Templates()), LIVED[0]) == {}


def test_reasons_come_before_what_they_are_for() -> None:
    assert [*full_schema(ActionAnswer)["properties"]] == ["reason", "location", "doing", "completing_plan_item"]


@pytest.mark.parametrize("kind", [Plan, Act, Reflect, RateImportance, Summarise, Integrate, Recount])
def test_the_schema_of_a_kind_is_the_same_for_each_job(kind: type[Any]) -> None:
    def schema(*entries: Entry, **params: object) -> object:
        case = case_of(kind(Templates()), stream_of(*entries), NOON, params=params)
        return Dialect().body(check_prompt(kind(Templates()).prompt(case)), 300)["response_format"]

    assert schema(*LIVED) == schema(observation("Saw a boat.", 600), actions=["row", "swim"], near=["Ben"])


@pytest.mark.parametrize("said", ["anywhere", "Here", "", "N/A"])
def test_the_word_for_no_place_is_not_a_place(said: str) -> None:
    case = case_of(Act(Templates()), stream_of(*LIVED), NOON, params={"location": "library"})
    answer = ActionAnswer(reason="to learn", location=said, doing="reading")
    (told,) = (e for e in Act(Templates()).effects(case, answer, ()) if hasattr(e, "topic"))
    assert told.data["location"] == "library"
    assert told.data["type"] == "stay"


@pytest.mark.parametrize("time", ["7:00 AM", "12:59 PM", "10:30 AM"])
def test_the_pattern_of_a_time_takes_clock_times_and_nothing_else(time: str) -> None:
    pattern = full_schema(DailyPlan)["properties"]["activities"]["items"]["properties"]["time"]["pattern"]
    assert re.search(pattern, time)
    for other in ("0:00 AM", "13:00 PM", "7:60 AM", "7 AM", "7:00 AM go", "..."):
        assert not re.search(pattern, other)


def prompt(answer: Any, *constraints: Any) -> Prompt:
    return Prompt(system="s", user="u", answer=answer, version="v", constraints=constraints)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (prompt(RatingsAnswer, Constraint(field="rating")), "no field 'rating'"),
        (prompt(RatingsAnswer, Constraint(field="ratings.number.x")), "no field 'ratings.number.x'"),
        (prompt(RatingsAnswer, Constraint(field="ratings.number", choices=("1",))), "only a text can have choices"),
        (prompt(ReflectionAnswer, Constraint(field="insight", choices=("",))), "none of them empty"),
        (prompt(ReflectionAnswer, Constraint(field="insight", choices=("a",) * (MOST_CHOICES + 1))), "at most"),
        (prompt(ReflectionAnswer, Constraint(field="insight", choices=(1,))), "a choice is a int"),  # type: ignore[arg-type]
        (prompt(ReflectionAnswer, {"field": "insight"}), "must be a tuple of Constraint"),
    ],
)
def test_constraints_that_fit_no_field_are_refused_before_anything_is_spent(wrong: Prompt, told: str) -> None:
    with pytest.raises(WrongPrompt, match=told):
        check_prompt(wrong)


class Vote(BaseModel):
    """An answer of a host's own class."""

    place: str | None
    strength: int
    voters: list[str]


@pytest.mark.parametrize(
    ("place", "strength", "voters", "told"),
    [
        ("cafe", 2, ["ann"], None),
        (None, 2, ["ann"], None),
        ("moon", 2, ["ann"], "place is 'moon': choose one of cafe, dorm"),
        ("dorm", 1, ["ann"], "strength is 1: at least 2 is required"),
        ("dorm", 2, ["ann", "ben"], "voters has 2: at most 1 is allowed"),
        ("dorm", 2, ["annabel"], None),
    ],
)
def test_an_answer_of_a_hosts_class_is_checked_by_the_constraints_of_its_prompt(
    place: str | None, strength: int, voters: list[str], told: str | None
) -> None:
    bounds = (
        Constraint(field="place", choices=("cafe", "dorm")),
        Constraint(field="strength", least=2),
        Constraint(field="voters", most=1),
    )
    asked = Prompt(system="s", user="u", answer=Vote, version="v", constraints=bounds)
    assert fault_of(Vote(place=place, strength=strength, voters=voters), asked) == told
