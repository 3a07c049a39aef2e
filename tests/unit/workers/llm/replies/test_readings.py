"""Answers in other forms than their schemas ask for: each reading in the documentation, and what is left out."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model, field_validator

from cogitate.memory.host_code import Raised
from cogitate.prompts.answers import ClockTime, DailyPlan, ReflectionAnswer
from cogitate.workers.llm.replies.reading import answer_in, read_as
from tests.repository import ROOT


class Numbered(BaseModel):
    """A number."""

    n: int


class Numbers(BaseModel):
    """Numbers."""

    numbers: list[int]


class Key(BaseModel):
    """A key of two words."""

    start_time: str


FIELDS: dict[str, Any] = {
    "any key": Key,
    "integer from 1 to 5": Annotated[int, Field(ge=1, le=5)],
    "text": str,
    'one of `"hot"`, `"cold"`': Literal["hot", "cold"],
    "list of integers": list[int],
    "list of objects": list[Numbered],
    "object with one list": Numbers,
    "time of day": ClockTime,
}
PAGE = (ROOT / "docs" / "reference" / "failures.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in row.strip("| \n").split(" | ")]
    for row in PAGE.partition("| field | a model writes |")[2].partition("\n\n")[0].splitlines()[2:]
]


def test_a_field_is_read_as_the_documentation_says(subtests: pytest.Subtests) -> None:
    for field, written, read in ROWS:
        with subtests.test(field=field, written=written):
            holder = create_model("Holder", value=(FIELDS[field], ...))
            made = read_as(holder, {"value": json.loads(written.strip("`"))})
            assert not isinstance(made, Raised)
            assert made.model_dump()["value"] == json.loads(read.strip("`"))


def test_the_documentation_has_every_kind_of_field() -> None:
    assert {row[0] for row in ROWS} == {*FIELDS}


@pytest.mark.parametrize(
    ("parts", "read"),
    [
        ({"type": "social", "text": "I can rely on Ben."}, "I can rely on Ben."),
        ({"name": "Ben", "Insight": "I can rely on Ben."}, "I can rely on Ben."),
        ({"content": "I can rely on Ben.", "significance": 3}, "I can rely on Ben."),
        ({"reason": "He helped.", "thought": "I can rely on Ben."}, None),
        ({"title": "A helper", "points": ["I can rely on Ben."]}, None),
    ],
)
def test_an_object_is_read_as_text_only_if_one_part_is_clearly_the_text(
    parts: dict[str, Any], read: str | None
) -> None:
    made = read_as(ReflectionAnswer, {"insight": parts})
    assert (made.insight if isinstance(made, ReflectionAnswer) else None) == read


def test_unreadable_optional_fields_and_list_items_are_left_out() -> None:
    items = [
        {"time": "8:00", "description": "Bake bread", "location": None, "priority": "très"},
        {"time": "9:00", "description": None},
        None,
        {"time": "10:00", "description": "7:30"},
        {"Time": "11:00", "Description": "Sell bread", "Priority": "high"},
    ]
    plan = read_as(DailyPlan, {"ACTIVITIES": items})
    assert isinstance(plan, DailyPlan)
    assert [(item.time, item.description, item.location, item.priority) for item in plan.activities] == [
        ("8:00 AM", "Bake bread", "", 3),
        ("11:00 AM", "Sell bread", "", 4),
    ]


def test_camel_case_is_read_where_the_field_has_a_default() -> None:
    changes = [{"agentId": "ben", "reason": "He helped.", "change": "+1"}, {"agentId": "cleo", "change": "better"}]
    found = read_as(ReflectionAnswer, {"insight": "I can rely on Ben.", "relationshipChanges": changes})
    assert isinstance(found, ReflectionAnswer)
    assert [(one.agent_id, one.change) for one in found.relationship_changes] == [("ben", 1)]


def test_a_list_without_a_readable_item_is_left_out_where_it_has_a_default() -> None:
    found = read_as(ReflectionAnswer, {"insight": "I can rely on Ben.", "relationship_changes": "none"})
    assert isinstance(found, ReflectionAnswer)
    assert not found.relationship_changes
    assert isinstance(read_as(DailyPlan, {"activities": "none"}), Raised)


def test_objects_instead_of_a_list_are_its_items_and_their_keys_a_first_field() -> None:
    ben = {"agent:ben": {"reason": "He helped.", "change": "−1"}}
    found = read_as(ReflectionAnswer, {"insight": "I can rely on Ben.", "relationship_changes": ben})
    assert isinstance(found, ReflectionAnswer)
    assert [(one.agent_id, one.change) for one in found.relationship_changes] == [("agent:ben", -1)]
    for listing in ({"7am": {"description": "Bake"}, "8am": {"description": "Sell"}},):
        for value in (listing, {"activities": listing}):
            plan = read_as(DailyPlan, value)
            assert isinstance(plan, DailyPlan)
            assert [item.time for item in plan.activities] == ["7:00 AM", "8:00 AM"]


class Mood(BaseModel):
    """A mood with checks."""

    word: str = "calm"
    kind: Literal["good", "bad"] = "good"
    strength: int = Field(3, ge=1, le=5)

    @field_validator("word")
    @classmethod
    def check(cls, word: str) -> str:
        if word == "furious":
            raise ValueError("no such mood")
        return word


@pytest.mark.parametrize("value", [{"word": "furious"}, {"kind": "ugly"}, {"strength": 9}, {"strength": "-1"}])
def test_a_check_of_the_class_is_not_circumvented_by_a_default(value: dict[str, Any]) -> None:
    assert isinstance(read_as(Mood, value), Raised)


def test_odd_but_good_answers_are_used(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "{'word': \"Ana's\", 'strength': 4, 'kind': None, 'sure': True}",
        '{"word": "Ana\'s", "strength": 4,}',
        '{\n  // her mood\n  "word": "Ana\'s", /* strong */\n  "strength": 4 # of 5\n}',
        '{word: "Ana\'s", strength: 4}',
        '{"word": "Ana\'s"\n"strength": 4}',
        '{"word": "Ana\'s", "strength": 4',
        '"word": "Ana\'s", "strength": 4}',
        "{“word”: “Ana's”, “strength”: 4}",
        '{"word"："Ana\'s"，"strength"：4}',
        json.dumps('{"word": "Ana\'s", "strength": 4}'),
        'Bien sûr, {voici} :\n```JSON\n{"word": "Ana\'s", "strength": 4}\n```\nVoilà !',
        '{"answer": {"word": "Ana\'s", "strength": 4}, "note": "as asked"}',
        '{"Word": "Ana\'s", "STRENGTH": "4 of 5"}',
        "{`word`: `Ana's`, `strength`: 4}",
        '{"word": """Ana\'s""", "strength": 4}',
        "{&quot;word&quot;: &quot;Ana&#x27;s&quot;, &quot;strength&quot;: 4}",
        json.dumps('{"word": "Ana\'s", "strength": 4}')[1:-1],
    ]
    for text in cases:
        with subtests.test(text=text):
            assert answer_in(text, Mood) == Mood(word="Ana's", strength=4)


def test_full_width_punctuation_in_a_text_stays() -> None:
    assert answer_in('{"word"："喝茶，聊天：好"，"strength"：4}', Mood) == Mood(word="喝茶，聊天：好", strength=4)
