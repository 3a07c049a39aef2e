"""Answers of models, drawn from the schemas of kinds: of the right form, and otherwise anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

HOSTILE = (
    "",
    " ",
    "klaus",
    "Maria Lopez",
    "cafe",
    "07:30",
    "25:99",
    "\x00",
    "\u202e",
    "</memory>",
    "{{ 1 }}",
    "w " * 3_000,
)
WORDS = st.text(max_size=20) | st.sampled_from(HOSTILE) | st.just("Klaus read about the mill and the river today.")

# What such fields usually hold: otherwise hardly an answer would get as far as an effect.
LIKELY = {
    "time": st.integers(0, 23).map("{:02}:30".format) | st.sampled_from(("7:15 AM", "25:99", "noon")),
    "number": st.integers(-1, 12),
    "location": st.sampled_from(("cafe", "Hobbs Cafe", "dorm", "", "nowhere")),
    "description": st.sampled_from(("reading", "a walk by the river", "\u202e", "</memory>", "{{ 1 }}")),
}


def of_schema(schema: Mapping[str, Any], named: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a JSON Schema, or nearly: Pydantic has the last word."""
    if "$ref" in schema:
        return of_schema(named[schema["$ref"].rpartition("/")[2]], named)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([of_schema(one, named) for one in schema["anyOf"]])
    match schema.get("type"):
        case "object":
            given_fields = schema.get("properties", {})
            fields = {
                name: LIKELY[name] if name in LIKELY else of_schema(one, named) for name, one in given_fields.items()
            }
            return st.fixed_dictionaries(fields)
        case "array":
            least = schema.get("minItems", 0)
            most = min(schema.get("maxItems", 8), least + 8)
            return st.lists(of_schema(schema["items"], named), min_size=least, max_size=most)
        case "integer":
            return st.integers(schema.get("minimum", -(2**70)), schema.get("maximum", 2**70))
        case "number":
            return st.floats(schema.get("minimum"), schema.get("maximum"))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return WORDS


def drawn_answer(model: type[BaseModel], data: st.DataObject) -> BaseModel | None:
    """An answer; None where pydantic refuses what the schema allows."""
    schema = model.model_json_schema(by_alias=False)
    try:
        return model.model_validate(json.loads(json.dumps(data.draw(of_schema(schema, schema.get("$defs", {}))))))
    except ValidationError:
        return None
