"""The JSON schema of an answer, in the subset that compatible servers share.

The plain schema keeps type, properties (all required), items, enum and anyOf, and expands references. The full schema,
which is tried first, also has bounds of numbers, lists and texts, patterns, and the job's constraints. Servers differ
in what they accept (Groq and Anthropic refuse bounds of lists, Gemini a schema with too many states, llama.cpp
repetitions above 2,000); a server that refuses the full schema gets the plain one. Both omit titles, defaults and
formats. The client validates every answer in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel

from cogitate.prompts.constraints import Constraint

_PLAIN = ("type", "description", "enum")
BOUNDS = ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern")
_LENGTHS = frozenset(BOUNDS[2:6])
_LONGEST = 2_000  # repetitions of a character or an item from which llama.cpp fails

Schema = dict[str, Any]


@cache
def plain_schema(answer: type[BaseModel]) -> Schema:
    """Return the plain schema of `answer`. The result is shared: do not change it.

    Raises:
        TypeError: if the subset cannot express the class (free-form dictionaries, tuples, recursion).
    """
    return _without_bounds(_full(answer))


@lru_cache(maxsize=512)  # the jobs of one owner often show the same places
def full_schema(answer: type[BaseModel], constraints: tuple[Constraint, ...] = ()) -> Schema:
    """Return the schema of `answer` with its bounds, narrowed by constraints. The result is shared: do not change it.

    Raises:
        TypeError: like `plain_schema`, and if a constraint names no field or one of another type.
    """
    if not constraints:
        return _full(answer)
    schema = deepcopy(_full(answer))
    for constraint in constraints:
        _narrow(_field(schema, constraint.field, answer.__name__), constraint, answer.__name__)
    return schema


@cache
def _full(answer: type[BaseModel]) -> Schema:
    full = answer.model_json_schema()
    return _kept(full, full.get("$defs", {}), (answer.__name__,))


def _kept(node: Schema, defs: Schema, path: tuple[str, ...]) -> Schema:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in path:
            raise TypeError(f"answer model {path[0]}: {name} contains itself, which no answer schema can express")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _kept({**defs[name], **rest}, defs, (*path, name))
    if len(node.get("allOf", ())) == 1:
        rest = {key: value for key, value in node.items() if key != "allOf"}
        return _kept({**node["allOf"][0], **rest}, defs, path)
    kept: Schema = {key: node[key] for key in _PLAIN if key in node}
    kept |= {key: node[key] for key in BOUNDS if key in node and not _is_too_long(key, node[key])}
    if "const" in node:
        kept["enum"] = [node["const"]]
    for union in ("anyOf", "oneOf"):
        if union in node:
            kept["anyOf"] = [_kept(variant, defs, path) for variant in node[union]]
    if "properties" in node:
        kept["properties"] = {name: _kept(sub, defs, (*path, name)) for name, sub in node["properties"].items()}
        kept["required"] = list(node["properties"])
        kept["additionalProperties"] = False
    elif node.get("type") == "object":
        raise TypeError(f"answer model {'.'.join(path)}: a free-form object is not possible; name its fields")
    if node.get("type") == "array":
        if "prefixItems" in node or "items" not in node:
            raise TypeError(f"answer model {'.'.join(path)}: a tuple is not possible; use an object")
        kept["items"] = _kept(node["items"], defs, path)
    return kept


def _is_too_long(keyword: str, bound: object) -> bool:
    return keyword in _LENGTHS and isinstance(bound, int) and bound >= _LONGEST


def _without_bounds(node: Schema) -> Schema:
    plain = {key: value for key, value in node.items() if key not in BOUNDS}
    if "properties" in plain:
        plain["properties"] = {name: _without_bounds(sub) for name, sub in plain["properties"].items()}
    if "items" in plain:
        plain["items"] = _without_bounds(plain["items"])
    if "anyOf" in plain:
        plain["anyOf"] = [_without_bounds(variant) for variant in plain["anyOf"]]
    return plain


def _field(schema: Schema, path: str, answer: str) -> Schema:
    node = schema
    for name in path.split("."):
        while node.get("type") == "array":
            node = node["items"]
        if name not in node.get("properties", {}):
            raise TypeError(f"answer model {answer} has no field {path!r} to constrain")
        node = node["properties"][name]
    return node


def _narrow(node: Schema, constraint: Constraint, answer: str) -> None:
    node |= dict(_narrowed(node.get("type"), constraint))
    if constraint.choices:
        if node.get("type") != "string":
            raise TypeError(f"answer model {answer}: only a text can have choices, and {constraint.field} is not one")
        for key in ("minLength", "maxLength", "pattern"):
            node.pop(key, None)


def _narrowed(kind: object, constraint: Constraint) -> Iterator[tuple[str, object]]:
    names: Mapping[object, tuple[str, str]] = {
        "array": ("minItems", "maxItems"),
        "integer": ("minimum", "maximum"),
        "number": ("minimum", "maximum"),
        "string": ("minLength", "maxLength"),
    }
    if constraint.choices:
        yield "enum", list(constraint.choices)
    for name, bound in zip(names.get(kind, ()), (constraint.least, constraint.most), strict=False):
        if bound is not None and not _is_too_long(name, bound):
            yield name, bound
