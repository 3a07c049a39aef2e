"""What a prompt shows narrows the schema of its answer, and the answer is checked all the same."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location
from cogitate.prompts.answers import ActionAnswer, DailyPlan, RatingsAnswer, ReflectionAnswer
from cogitate.prompts.constraints import MOST_CHOICES, Constraint
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.kind import Kind, Prompt, WorldFacts
from cogitate.tasks.places import MOST
from cogitate.tasks.plan import Plan
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.reflect import Reflect
from cogitate.workers.llm.requests.prompt_check import WrongPrompt, check_prompt
from cogitate.workers.llm.requests.schema import full_schema
from tests.unit.tasks.kind_cases import MARIA, WORLD, case_of, message, observation, stream_of

NOON = 720
LIVED = (observation("Found a source on rents.", 640), message("Maria: See you at lunch!", 650))


def schema_of(kind: Kind, *entries: Entry, world: WorldFacts = WORLD) -> Any:
    prompt = check_prompt(kind.prompt(case_of(kind, stream_of(*(entries or LIVED)), NOON, world=world)))
    return full_schema(prompt.answer, prompt.constraints)["properties"]


def test_a_plan_is_held_to_the_places_of_its_prompt_or_none_of_them() -> None:
    item = schema_of(Plan(Templates()))["activities"]["items"]["properties"]
    assert item["location"] == {"type": "string", "enum": ["cafe", "library", "dorm", "anywhere"]}
    placeless = schema_of(Plan(Templates()), world=replace(WORLD, locations=()))["activities"]["items"]["properties"]
    assert "enum" not in placeless["location"]
    many = tuple(Location(id=f"p{n}", name=f"Place {n}") for n in range(2 * MOST))
    shown = schema_of(Plan(Templates()), world=replace(WORLD, locations=many))["activities"]["items"]["properties"]
    assert shown["location"]["enum"] == [f"p{n}" for n in range(MOST)] + ["anywhere"]


def test_an_action_names_a_place_of_its_prompt_or_staying_after_its_reason() -> None:
    fields = schema_of(Act(Templates()))
    assert fields["location"] == {"type": "string", "enum": ["cafe", "library", "dorm", "here"]}
    assert [*fields] == ["reason", "location", "doing", "completing_plan_item"]


def test_a_reflection_may_name_only_persons_in_its_prompt() -> None:
    def person(*entries: Entry) -> Any:
        return schema_of(Reflect(Templates()), *entries)["relationship_changes"]["items"]["properties"]["agent_id"]

    assert person(*LIVED) == {"type": "string", "enum": [MARIA]}
    assert "enum" not in person(LIVED[0])


def test_ratings_match_the_shown_memories_by_number() -> None:
    seen = [observation(f"Saw the number {n} on a door.", 600 + n) for n in range(7)]
    ratings = schema_of(RateImportance(Templates()), *seen)["ratings"]
    assert (ratings["minItems"], ratings["maxItems"]) == (7, 7)
    assert ratings["items"]["properties"]["number"] == {"type": "integer", "minimum": 1, "maximum": 7}


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


def test_bounds_are_of_the_number_the_list_or_the_text() -> None:
    bounded = full_schema(
        ReflectionAnswer,
        (
            Constraint(field="significance", least=2),
            Constraint(field="relationship_changes", most=1),
            Constraint(field="insight", least=3, most=90),
        ),
    )["properties"]
    assert bounded["significance"] == {"type": "integer", "minimum": 2, "maximum": 10}
    assert bounded["relationship_changes"]["maxItems"] == 1
    assert bounded["insight"] == {"type": "string", "minLength": 3, "maxLength": 90}
    assert full_schema(ReflectionAnswer)["properties"]["significance"]["minimum"] == 1, "the shared one is unchanged"
