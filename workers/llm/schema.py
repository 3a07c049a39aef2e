"""The JSON schema of an answer, in the plain subset that compatible servers share.

It keeps type, properties (all required), items, enum, anyOf, bounds of numbers and lengths of arrays, and expands
references. It omits what some servers refuse (titles, defaults, formats, patterns, lengths of strings): the client
validates every answer against the Pydantic model anyway.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel

_KEPT = ("type", "description", "enum", "minimum", "maximum", "minItems", "maxItems")


@cache
def plain_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the schema to send for `answer`. The result is shared: do not change it.

    Raises:
        TypeError: when the model needs what the subset cannot express (free-form dictionaries, tuples, recursion).
    """
    full = answer.model_json_schema()
    return _plain(full, full.get("$defs", {}), (answer.__name__,))


def _plain(node: dict[str, Any], defs: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in path:
            raise TypeError(f"answer model {path[0]}: {name} contains itself, which no answer schema can express")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**defs[name], **rest}, defs, (*path, name))
    if len(node.get("allOf", ())) == 1:
        rest = {key: value for key, value in node.items() if key != "allOf"}
        return _plain({**node["allOf"][0], **rest}, defs, path)
    plain: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    if "const" in node:
        plain["enum"] = [node["const"]]
    for union in ("anyOf", "oneOf"):
        if union in node:
            plain["anyOf"] = [_plain(variant, defs, path) for variant in node[union]]
    if "properties" in node:
        plain["properties"] = {name: _plain(sub, defs, (*path, name)) for name, sub in node["properties"].items()}
        plain["required"] = list(node["properties"])
        plain["additionalProperties"] = False
    elif node.get("type") == "object":
        raise TypeError(f"answer model {'.'.join(path)}: a free-form object is not possible; name its fields")
    if node.get("type") == "array":
        if "prefixItems" in node or "items" not in node:
            raise TypeError(f"answer model {'.'.join(path)}: a tuple is not possible; use an object")
        plain["items"] = _plain(node["items"], defs, path)
    return plain
