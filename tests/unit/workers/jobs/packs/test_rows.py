"""An answer in a row means what the object with its values means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from cogitate.prompts.answers import ActionAnswer, DailyPlan, PlacedAction, RatingsAnswer, ReflectionAnswer
from cogitate.workers.jobs.packs.rows import answer_schema, case_row, case_row_schema, layout, read_case_row
from cogitate.workers.llm.requests.schema import full_schema, plain_schema

PLAN = {
    "activities": [
        {"time": "7:00 AM", "description": "Bake", "location": "Mill", "priority": 3},
        {"time": "9:00 AM", "description": "Sell", "location": "", "priority": 5},
    ]
}
INSIGHT = {"insight": "I like Ben.", "significance": 8}
CHANGED = [{"agent_id": "Ben", "reason": "", "change": 1}]


class Tune(BaseModel):
    """A host's answer, with all forms that a schema may have."""

    class Part(BaseModel):
        """A part of it."""

        notes: list[int]
        loud: bool

    title: str
    main: Part
    coda: Part | None
    either: int | str
    words: list[str]
    parts: list[Part]


KINDS: tuple[type[BaseModel], ...] = (ActionAnswer, DailyPlan, PlacedAction, RatingsAnswer, ReflectionAnswer, Tune)
PARTS = st.fixed_dictionaries({"notes": st.lists(st.integers(), max_size=2), "loud": st.booleans()})
TUNES = st.fixed_dictionaries(
    {
        "title": st.text(max_size=3),
        "main": PARTS,
        "coda": st.none() | PARTS,
        "either": st.integers() | st.text(max_size=3),
        "words": st.lists(st.text(max_size=3), max_size=2),
        "parts": st.lists(PARTS, max_size=2),
    }
)


@given(TUNES, st.integers(1, 32))
def test_an_answer_is_read_from_its_row_as_it_was(answer: dict[str, Any], number: int) -> None:
    schema = full_schema(Tune)
    assert read_case_row(case_row(number, answer, schema), schema) == (number, answer)


@pytest.mark.parametrize(
    ("kind", "answer", "row"),
    [
        (DailyPlan, PLAN, [3, [["7:00 AM", "Bake", "Mill", 3], ["9:00 AM", "Sell", "", 5]]]),
        (ReflectionAnswer, INSIGHT | {"relationship_changes": []}, [3, "I like Ben.", 8]),
        (ReflectionAnswer, INSIGHT | {"relationship_changes": CHANGED}, [3, "I like Ben.", 8, [["Ben", "", 1]]]),
        (PlacedAction, {"reason": "r", "doing": "#1", "completing_plan_item": False}, [3, "r", "#1"]),
        (PlacedAction, {"reason": "r", "doing": "#1", "completing_plan_item": True}, [3, "r", "#1", True]),
    ],
)
def test_a_row_has_the_values_without_false_and_empty_lists_at_its_end(
    kind: type[BaseModel], answer: dict[str, Any], row: list[Any]
) -> None:
    assert case_row(3, answer, full_schema(kind)) == row
    assert read_case_row(row, full_schema(kind)) == (3, answer)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_of_rows_names_the_fields_and_their_schemas(kind: type[BaseModel]) -> None:
    for schema in (full_schema(kind), plain_schema(kind)):
        row = case_row_schema(schema)
        assert bounds_in(answer_schema(row)) == bounds_in(schema)
        assert [one["description"].partition(":")[0] for one in row["items"]["anyOf"]] == [
            "case",
            *schema["properties"],
        ]


def test_the_schema_of_rows_bounds_how_many_values_they_have() -> None:
    row = case_row_schema(full_schema(ReflectionAnswer))
    assert (row["minItems"], row["maxItems"]) == (3, 4)
    plan = case_row_schema(full_schema(DailyPlan))
    assert (plan["minItems"], plan["maxItems"]) == (2, 2)
    activity = plan["items"]["anyOf"][1]["items"]
    assert (activity["minItems"], activity["maxItems"]) == (4, 4)


def bounds_in(schema: Any) -> Any:
    """Return a schema without descriptions, and without what says that each field is needed."""
    if not isinstance(schema, dict):
        return [*map(bounds_in, schema)] if isinstance(schema, list) else schema
    left = {key: bounds_in(one) for key, one in schema.items() if key not in ("required", "additionalProperties")}
    return {key: one for key, one in left.items() if key != "description" or not isinstance(one, str)}


def test_the_names_of_a_rows_values_are_told_in_their_order() -> None:
    assert layout(full_schema(DailyPlan)) == "[case, [[time, description, location, priority], …]]"
    assert layout(full_schema(Tune)) == "[case, title, [notes, loud], [notes, loud], either, words, [[notes, loud], …]]"


@pytest.mark.parametrize(
    "row",
    [
        {"case": 3, "reason": "r", "doing": "d"},
        [3, {"reason": "r", "doing": "d"}],
        ["3", {"reason": "r", "doing": "d"}],
    ],
)
def test_an_answer_in_an_object_is_read_too(row: Any) -> None:
    found = read_case_row(row, full_schema(PlacedAction))
    assert found is not None
    assert found[0] == 3
    assert PlacedAction.model_validate(found[1]) == PlacedAction(reason="r", doing="d")


def test_a_list_at_the_end_may_lack_its_brackets() -> None:
    (steps,) = PLAN.values()
    row = [1, *([step["time"], step["description"], step["location"], step["priority"]] for step in steps)]
    assert read_case_row(row, full_schema(DailyPlan)) == (1, PLAN)


@pytest.mark.parametrize("row", [[1], [], [True, "r", "d"], [None, "r", "d"], {"reason": "r"}, "1", 1, None])
def test_nothing_is_read_from_a_row_without_a_case_or_values(row: Any) -> None:
    assert read_case_row(row, full_schema(PlacedAction)) is None


def test_a_row_of_more_values_than_fields_is_no_answer() -> None:
    found = read_case_row([1, "r", "d", True, "more"], full_schema(PlacedAction))
    assert found is not None
    assert not isinstance(found[1], dict)
