"""Derives the JSON schema of an answer, in the subset that compatible servers share.

A schema depends on the answer's class alone: a provider puts it before the instructions, so a schema that differed from
job to job would leave its prefix cache nothing to share. A job's prompt lists its choices. Only a weak model, which
fails to copy them from the prompt, gets them in the full schema as well, which local servers turn into a grammar.

The plain schema keeps type, properties (all required), items, enum and anyOf, and expands references. The full schema,
which calls try first, adds bounds of numbers, lists and texts, and patterns. Servers differ in what they accept
(Groq and Anthropic refuse bounds of lists, Gemini a schema with too many states, llama.cpp repetitions above 2,000); a
server that refuses the full schema gets the plain one. Both omit titles, defaults and formats. The client validates
every answer regardless.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel

from cogitate.prompts.constraints import Constraint

_PLAIN = ("type", "description", "enum")
BOUNDS = ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern")
_LENGTHS = frozenset(BOUNDS[2:6])
_LONGEST = 2_000  # repetitions of a character or an item at which llama.cpp fails

Schema = dict[str, Any]


@cache
def plain_schema(answer: type[BaseModel]) -> Schema:
    """Return the plain schema of `answer`. Callers share the result: do not change it.

    Raises:
        TypeError: if the subset cannot express the class (free-form dictionaries, tuples, recursion).
    """
    return _without_bounds(full_schema(answer))


@cache
def full_schema(answer: type[BaseModel]) -> Schema:
    """Return the schema of `answer` with its bounds. Callers share the result: do not change it.

    Raises:
        TypeError: like `plain_schema`.
    """
    full = answer.model_json_schema()
    return _kept(full, full.get("$defs", {}), (answer.__name__,))


@lru_cache(maxsize=512)  # the jobs of one owner often show the same choices
def narrowed_schema(answer: type[BaseModel], constraints: tuple[Constraint, ...]) -> Schema:
    """Return the full schema of `answer`, with choices as enumerations. Callers share the result: do not change it.

    Raises:
        TypeError: like `plain_schema`, and if a constraint names no field.
    """
    schema = deepcopy(full_schema(answer))
    for constraint in constraints:
        if constraint.choices:
            node = field_of(schema, constraint.field)
            for bound in BOUNDS:
                node.pop(bound, None)
            node["enum"] = [*constraint.choices]
    return schema


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


def field_of(schema: Schema, path: str) -> Schema:
    """Return the schema of the field at a dotted path, which skips the indexes of lists.

    Raises:
        TypeError: when the answer has no such field.
    """
    node = schema
    for name in path.split("."):
        while node.get("type") == "array":
            node = node["items"]
        if name not in node.get("properties", {}):
            raise TypeError(f"it has no field {path!r} to constrain")
        node = node["properties"][name]
    return node
