"""Every answer that a kind's model allows: the kind refuses it by a ValueError, or asks for what a run takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from memory.effects import Effect
from memory.stream import Stream
from scheduler.intake.effects import check_effect
from tasks.job import Request
from tasks.kind import Case, Kind
from tasks.registry import kinds
from tasks.shown import effects_of
from tests.unit.tasks.kind_cases import KLAUS, MARIA, case_of, message, moment_of, observation, stream_of

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


def lived() -> Stream:
    entries = [
        entry
        for hour in range(7, 12)
        for entry in (
            observation(f"Klaus saw the mill at {hour}.", hour * 60, subjects=(KLAUS, MARIA)),
            message(f"Have you seen the river at {hour}?", hour * 60 + 5),
        )
    ]
    return stream_of(*entries)


def case_for(kind: Kind) -> Case:
    stream = lived()
    asked = next(iter(kind.due(moment_of(stream, 720))), Request(kind=kind.name, owner=KLAUS))
    return case_of(kind, stream, 720, request=asked)


ASKING = [kind for kind in kinds() if kind.name != "prune"]  # which asks nothing


@pytest.mark.parametrize("kind", ASKING, ids=lambda kind: kind.name)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_valid_answer_does_more_than_a_run_takes(kind: Kind, data: st.DataObject) -> None:
    case = case_for(kind)
    prompt = kind.prompt(case)
    answer = _answer(prompt.answer, data)
    if answer is None:
        return
    effects: tuple[Effect, ...] = ()
    with suppress(ValueError):  # unusable, as a kind says it; nothing else may be raised
        effects = effects_of(kind, case, answer, prompt)
    for effect in effects:
        assert check_effect(effect) == effect
    raw = msgspec.json.encode(effects)
    assert msgspec.json.decode(raw, type=tuple[Effect, ...]) == effects
    assert len(raw) < 200_000


def _answer(model: type[BaseModel], data: st.DataObject) -> BaseModel | None:
    schema = model.model_json_schema(by_alias=False)
    try:
        return model.model_validate(json.loads(json.dumps(data.draw(of_schema(schema, schema.get("$defs", {}))))))
    except ValidationError:
        return None
