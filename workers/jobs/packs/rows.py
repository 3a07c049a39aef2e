"""Answers in rows: lists of an object's values without its keys, which a model would otherwise write for each case.

A row has the values in the order of the schema's fields; `false` and `[]` at its end may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cogitate.workers.llm.requests.schema import Schema

_NUMBER: Schema = {"type": "integer"}


def case_row_schema(answer: Schema) -> Schema:
    """Return the schema of a row: a case's number, then the values of its answer."""
    return _row({"case": _NUMBER, **_fields(answer)})


def answer_schema(row: Schema) -> Schema:
    """Return the schema of the answers whose rows have this schema."""
    return _object([*map(_field, row["items"]["anyOf"][1:])])


def layout(answer: Schema) -> str:
    """Return the names of a row's values, such as "[case, reason, doing]"."""
    return f"[{', '.join(['case', *(_named(name, field) for name, field in _fields(answer).items())])}]"


def case_row(number: int, answer: Mapping[str, Any], schema: Schema) -> list[Any]:
    """Return a row: a case's number, then the values of an answer that has all fields of this schema."""
    return _without_end([number, *(_as_row(answer[name], field) for name, field in _fields(schema).items())])


def read_case_row(row: object, schema: Schema) -> tuple[int, object] | None:
    """Read a case's number and its answer from a row, or from an object with the number as "case"; else return None.

    If a row has more values than fields, the answer stays a list, which does not validate.
    """
    if isinstance(row, Mapping):
        number, answer = row.get("case"), dict(row)
    elif isinstance(row, list) and len(row) > 1:
        number, answer = row[0], _from_row(row[1:], _object([*_fields(schema).items()]))
    else:
        return None
    if isinstance(number, str) and number.isdecimal():
        number = int(number)
    return None if isinstance(number, bool) or not isinstance(number, int) else (number, answer)


def _fields(schema: Schema) -> dict[str, Schema]:
    fields: dict[str, Schema] = schema["properties"]
    return fields


def _object(fields: list[tuple[str, Schema]]) -> Schema:
    return {"type": "object", "properties": dict(fields)}


def _variant(name: str, field: Schema) -> Schema:
    """Return the schema of one value of a row, described by its name."""
    described = f"{name}: {field['description']}" if "description" in field and "properties" not in field else name
    return {**_row_schema(field), "description": described}


def _row(fields: Mapping[str, Schema]) -> Schema:
    """Return the schema of a row of these values; `minItems` excludes those that its end may leave out."""
    needed = max((at for at, field in enumerate(fields.values(), 1) if _left_out(field) is None), default=1)
    variants = [_variant(name, field) for name, field in fields.items()]
    return {"type": "array", "items": {"anyOf": variants}, "minItems": needed, "maxItems": len(fields)}


def _row_schema(schema: Schema) -> Schema:
    if "properties" in schema:
        return _row(_fields(schema))
    if "items" in schema:
        return {**schema, "items": _row_schema(schema["items"])}
    if "anyOf" in schema and _only(schema) is not None:
        return {**schema, "anyOf": [_row_schema(one) for one in schema["anyOf"]]}
    return schema


def _field(variant: Schema) -> tuple[str, Schema]:
    """Return the name and the schema of the field that a value of a row represents."""
    return variant.get("description", "").partition(":")[0], _field_schema(variant)


def _field_schema(schema: Schema) -> Schema:
    items = schema.get("items", {})
    if variants := [one for one in items.get("anyOf", ()) if "description" in one]:
        return _object([*map(_field, variants)])
    if items:
        return {**schema, "items": _field_schema(items)}
    if "anyOf" in schema:
        return {**schema, "anyOf": [_field_schema(one) for one in schema["anyOf"]]}
    return schema


def _named(name: str, field: Schema) -> str:
    field = _only(field) or field
    if "properties" in field:
        return f"[{', '.join(_named(*inner) for inner in _fields(field).items())}]"
    if "properties" in field.get("items", {}):
        return f"[{_named(name, field['items'])}, …]"
    return name


def _as_row(value: Any, schema: Schema) -> Any:
    schema = _only(schema) or schema
    if isinstance(value, Mapping) and "properties" in schema:
        return _without_end([_as_row(value[name], field) for name, field in _fields(schema).items()])
    if isinstance(value, list) and "items" in schema:
        return [_as_row(one, schema["items"]) for one in value]
    return value


def _from_row(value: Any, schema: Schema) -> Any:
    schema = _only(schema) or schema
    if not isinstance(value, list):
        return value
    if "items" in schema:
        return [_from_row(one, schema["items"]) for one in value]
    if "properties" not in schema:
        return value
    fields = _fields(schema)
    names = [*fields]
    if len(value) == 1 and isinstance(value[0], Mapping) and value[0].keys() & fields.keys():
        return value[0]
    if len(value) > len(names) and fields[names[-1]].get("type") == "array":  # a list's items without brackets
        value = [*value[: len(names) - 1], value[len(names) - 1 :]]
    if len(value) > len(names):
        return value
    found = {name: _from_row(one, fields[name]) for name, one in zip(names, value, strict=False)}
    return found | {name: left for name in names[len(value) :] if (left := _left_out(fields[name])) is not None}


def _only(schema: Schema) -> Schema | None:
    """Return the only variant of a schema besides null; None for a schema of another form."""
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return others[0] if len(others) == 1 else None


def _left_out(field: Schema) -> Any:
    """Return the value of a field that its row leaves out; None if the field is required."""
    if field.get("type") == "boolean":
        return False
    return [] if field.get("type") == "array" and not field.get("minItems") else None


def _without_end(row: list[Any]) -> list[Any]:
    while len(row) > 1 and (row[-1] is False or row[-1] == []):
        row = row[:-1]
    return row
