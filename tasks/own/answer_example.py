"""Builds an example of a model's answer from the schema of its class: each field with a value of its type."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

_TEXT = "..."  # stands for any text

Schema = Mapping[str, Any]


@lru_cache(maxsize=256)
def example_of(answer: type[BaseModel]) -> str:
    """Return an answer as JSON: "..." for a text, a number within its bounds, `true`, a list of one item.

    The class accepts it, unless the class checks more than types, bounds and lengths, such as a pattern.
    """
    schema = answer.model_json_schema()
    return json.dumps(_value(schema, schema.get("$defs", {}), ()))


def _value(schema: Schema, named: Mapping[str, Schema], within: tuple[str, ...]) -> Any:
    """Return a value that matches a schema.

    Args:
        named: the schemas that it may reference.
        within: the references that led to it; repeating one of them would recurse without end.
    """
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _value(named[name], named, (*within, name))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _value(_first(schema[several], within), named, within)
    match schema.get("type"):
        case "object":
            return {field: _value(part, named, within) for field, part in schema.get("properties", {}).items()}
        case "array":
            return _list(schema, named, within)
        case "integer":
            return _integer(schema)
        case "number":
            return _number(schema)
        case "boolean":
            return True
        case "null":
            return None
    return _text(schema)


def _first(alternatives: list[Schema], within: tuple[str, ...]) -> Schema:
    """Return the first alternative that is not null and does not recurse without end."""
    finite = [schema for schema in alternatives if not _refers_back(schema, within)]
    return next((schema for schema in finite if schema.get("type") != "null"), (finite or alternatives)[0])


def _refers_back(schema: Schema, within: tuple[str, ...]) -> bool:
    return str(schema.get("$ref", "")).rpartition("/")[2] in within


def _list(schema: Schema, named: Mapping[str, Schema], within: tuple[str, ...]) -> list[Any]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", 1)
    fixed = [_value(part, named, within) for part in schema.get("prefixItems", ())]
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return fixed
    size = 0 if _refers_back(items, within) else max(least, min(1, most))
    if schema.get("uniqueItems"):
        return [*fixed, *_distinct(items, named, within, size)]
    return [*fixed, *(_value(items, named, within) for _ in range(size))]


def _distinct(items: Schema, named: Mapping[str, Schema], within: tuple[str, ...], size: int) -> list[Any]:
    """Return distinct values, if the schema shows that it has enough of them."""
    if "$ref" in items:
        items = named[str(items["$ref"]).rpartition("/")[2]]
    if "enum" in items:
        return list(items["enum"][:size])
    first = _value(items, named, within)
    if isinstance(first, int) and not isinstance(first, bool):
        low = math.ceil(items.get("minimum", first))
        return [low + at for at in range(size)]
    if isinstance(first, str) and size > 1:
        return [f"{first}{at}" for at in range(1, size + 1)]
    return [first] * min(size, 1)


def _integer(schema: Schema) -> int:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = math.floor(schema["exclusiveMinimum"]) + 1
    if "exclusiveMaximum" in schema:
        high = math.ceil(schema["exclusiveMaximum"]) - 1
    value = 1 if low is None or high is None else (math.ceil(low) + math.floor(high)) // 2
    value = value if low is None else max(value, math.ceil(low))
    value = value if high is None else min(value, math.floor(high))
    step = int(schema.get("multipleOf", 1)) or 1
    below = value - value % step
    return below if low is None or below >= low else below + step


def _number(schema: Schema) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    least, most = schema.get("exclusiveMinimum", low), schema.get("exclusiveMaximum", high)
    if least is not None and most is not None:
        value = least / 2 + most / 2
    elif least is not None:
        value = max(1.0, least if least == low else math.nextafter(least, math.inf))
    elif most is not None:
        value = min(1.0, most if most == high else math.nextafter(most, -math.inf))
    else:
        value = 1.0
    step = schema.get("multipleOf")
    return float(math.ceil(value / step) * step if step else value)


def _text(schema: Schema) -> str:
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", len(_TEXT)))
    text: str = _TEXT * (1 + least // len(_TEXT))
    return text[: max(least, min(len(_TEXT), most))]
