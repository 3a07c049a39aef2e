"""The full and the plain schema of an answer, as endpoints get them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from cogitate.workers.llm.requests.schema import full_schema, plain_schema


class Cup(BaseModel):
    """An answer."""

    tea: int = Field(ge=1)


class Meal(BaseModel):
    """What is eaten."""

    cups: list[Cup] = Field(min_length=1, max_length=3)
    kind: Literal["cold", "hot"] = Field("hot", description="How warm it is")
    only: Literal["x"] = "x"
    cook: Cup | None = None
    name: str = Field("x", max_length=9, pattern="x")


def test_the_schema_of_an_answer_has_its_bounds_and_the_plain_one_has_none() -> None:
    cup = {
        "type": "object",
        "description": "An answer.",
        "properties": {"tea": {"type": "integer", "minimum": 1}},
        "required": ["tea"],
        "additionalProperties": False,
    }
    whole = full_schema(Meal)
    assert whole == {
        "type": "object",
        "description": "What is eaten.",
        "properties": {
            "cups": {"type": "array", "minItems": 1, "maxItems": 3, "items": cup},
            "kind": {"type": "string", "enum": ["cold", "hot"], "description": "How warm it is"},
            "only": {"type": "string", "enum": ["x"]},
            "cook": {"anyOf": [cup, {"type": "null"}]},
            "name": {"type": "string", "maxLength": 9, "pattern": "x"},
        },
        "required": ["cups", "kind", "only", "cook", "name"],
        "additionalProperties": False,
    }
    plain = cup | {"properties": {"tea": {"type": "integer"}}}
    fields = whole["properties"] | {
        "cups": {"type": "array", "items": plain},
        "cook": {"anyOf": [plain, {"type": "null"}]},
        "name": {"type": "string"},
    }
    assert plain_schema(Meal) == whole | {"properties": fields}


def test_a_wrapped_schema_is_unwrapped_with_its_siblings() -> None:
    class Wrapped(BaseModel):
        @classmethod
        def model_json_schema(cls, *args: Any, **named: Any) -> dict[str, Any]:
            inner = {"type": "integer", "minimum": 1, "description": "inner", "default": 3}
            return {
                "$defs": {"Inner": inner},
                "type": "object",
                "properties": {
                    "tea": {"allOf": [{"$ref": "#/$defs/Inner"}], "description": "outer"},
                    "milk": {"oneOf": [{"$ref": "#/$defs/Inner"}, {"const": 0}]},
                },
            }

    assert full_schema(Wrapped)["properties"] == {
        "tea": {"type": "integer", "description": "outer", "minimum": 1},
        "milk": {"anyOf": [{"type": "integer", "description": "inner", "minimum": 1}, {"enum": [0]}]},
    }


class Tree(BaseModel):
    """It contains itself."""

    below: list[Tree] = []


class Free(BaseModel):
    """It has no names for its fields."""

    cups: dict[str, int]


class Pair(BaseModel):
    """It is a tuple."""

    cups: tuple[int, str]


class Rest(BaseModel):
    """It is a tuple whose end is open."""

    cups: list[str] = Field(json_schema_extra={"prefixItems": [{"type": "integer"}]})


class Nothing(BaseModel):
    """It is a tuple of nothing."""

    cups: tuple[()]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (Tree, "answer model Tree: Tree contains itself"),
        (Free, "answer model Free.cups: a free-form object"),
        (Pair, "answer model Pair.cups: a tuple"),
        (Rest, "answer model Rest.cups: a tuple"),
        (Nothing, "answer model Nothing.cups: a tuple"),
    ],
)
def test_types_that_no_plain_schema_expresses_are_refused_by_name(model: type[BaseModel], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        plain_schema(model)
