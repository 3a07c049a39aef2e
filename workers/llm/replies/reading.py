"""Reads a JSON value as an answer, leniently: a field in another form than the schema's counts as what it means.

A part that is still wrong is dropped: a value that has a default, or the item of a list that contains it. A check that
the answer's class declares, such as a bound or a validator, always applies. `docs/reference/failures.md` lists the
readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from pydantic import BaseModel, ValidationError

from cogitate.memory.host_code import Raised, captured
from cogitate.prompts.clock_times import NUMBERS
from cogitate.workers.llm.replies.extract import json_values, values_in, wrapped_in
from cogitate.workers.llm.requests.schema import Schema, full_schema

_ROUNDS = 4  # validations; each but the last drops the wrong parts
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NOT_IN_NAMES = re.compile(r"[\W_]+")
_EXPLAINED = re.compile(r"[(\[（:：,，;；–—]|\s-\s")  # marks between a choice and an explanation of it
_STEPS = ("lowest", "low", "medium moderate normal", "high", "highest urgent critical")
_DEGREES = {word: step / 4 for step, words in enumerate(_STEPS) for word in words.split()}  # shares of a number's range
_NOT_PLAIN = ("\\", "\x7f", "NaN", "Infinity")
_UNREADABLE = ("_type", "_parsing")  # endings of pydantic's names for errors in a value's form


def answer_in(text: str, model: type[BaseModel], *, cut: bool = False) -> BaseModel | Raised | None:
    """Return the last value in a model's text that fits its class.

    Args:
        cut: whether the text reached its token cap.

    Returns:
        The error of the last value if none fits; None if the text contains no value.
    """
    if text.startswith("{") and text.isascii() and not any(mark in text for mark in _NOT_PLAIN):
        exact = captured(model.model_validate_json, text, strict=True, extra="forbid")
        if type(exact) is not Raised:  # most texts are one object that fits exactly
            return exact
    values = values_in(text, cut=cut)
    objects = [value for value, _ in reversed(values) if isinstance(value, dict)]
    wrong: Raised | None = None
    for value, whole in (*values, (objects, False)) if objects else values:
        for candidate in (value, *wrapped_in(value)) if whole else (value,):
            answer = read_as(model, candidate)
            if type(answer) is not Raised:
                return answer
            wrong = wrong or answer
    return wrong


def read_as(model: type[BaseModel], value: object) -> BaseModel | Raised:
    """Read a value as an answer of this class, leniently; return the first error of validation if that fails."""
    if type(schema := captured(full_schema, model)) is not Raised:  # a class with free-form parts has no schema
        value = read(value, schema)
        needs_none = not any(field.is_required() for field in model.model_fields.values())
        if needs_none and isinstance(value, dict) and value and not value.keys() & schema["properties"].keys():
            value = None  # an object around the answer, which would pass as an answer of defaults
    first: Raised | None = None
    for _ in range(_ROUNDS):
        answer = captured(model.model_validate, value)
        if type(answer) is not Raised:
            return answer
        first = first or answer
        if not isinstance(answer.error, ValidationError) or not _drop_wrong(value, answer.error):
            break
    assert first is not None
    return first


def read(value: Any, schema: Schema, field: str = "") -> Any:
    """Convert a JSON value to the form that a schema requires if its meaning is clear; else return it unchanged.

    Args:
        field: the name of the value's field.
    """
    if "anyOf" in schema:
        others = [variant for variant in schema["anyOf"] if variant.get("type") != "null"]
        return value if value is None or len(others) != 1 else read(value, others[0], field)
    kind = schema.get("type")
    if kind in ("object", "array") and isinstance(value, str) and (within := json_values(value)):
        value = within[0]
    elif kind not in ("object", "array") and isinstance(value, dict):
        value = _part(value, field, is_text=kind == "string")
    if kind == "object":
        return _as_object(value, schema["properties"])
    if kind == "array":
        return [read(item, schema["items"]) for item in _as_items(value, schema)]
    if kind in ("integer", "number"):
        return _as_number(value, schema)
    return _as_text(value, schema.get("enum", ())) if kind == "string" else value


def _part(value: dict[str, Any], field: str, *, is_text: bool) -> Any:
    """Return the part of an object whose key names the field, else the only possible part, else the object."""
    named = {_bare(str(key)): part for key, part in value.items()}
    for key in (_bare(field), "text", "name") if is_text else (_bare(field),):
        if key in named:
            return named[key]
    parts = [part for part in value.values() if not is_text or isinstance(part, str | list | dict)]
    return parts[0] if len(parts) == 1 else value


def _as_object(value: Any, fields: Mapping[str, Schema]) -> Any:
    """Read an object whose keys may differ in case, or a bare list (or objects) in place of an object with one list."""
    lists = [name for name, field in fields.items() if field.get("type") == "array"]
    if not isinstance(value, dict) or ({*map(type, value.values())} == {dict} and len(value) > 1):
        is_list = isinstance(value, list) or (isinstance(value, dict) and not value.keys() & fields.keys())
        value = {lists[0]: value} if is_list and len(lists) == 1 else value
    if not isinstance(value, dict):
        return value
    names = {_bare(name): name for name in fields}
    named: dict[str, Any] = {}
    for key, item in value.items():
        name = str(key) if key in fields else names.get(_bare(str(key)), str(key))
        if name == key or name not in value:
            named[name] = read(item, fields[name], name) if name in fields else item
    return named


def _as_items(value: Any, schema: Schema) -> Iterator[Any]:
    """Yield the items of a list, or of an object or text that stands for one; any other value is a single item."""
    fields = schema["items"].get("properties", {})
    if isinstance(value, dict) and not value.keys() & fields.keys():  # each key may be the first field of its item
        first = next(iter(fields), "")
        value = [{first: key} | item if isinstance(item, dict) and first else item for key, item in value.items()]
    elif isinstance(value, str) and schema["items"].get("type") in ("integer", "number"):
        value = _NUMBER.findall(value)
    return iter(value if isinstance(value, list | tuple) else () if value is None else (value,))


def _as_number(value: Any, schema: Schema) -> Any:
    """Read the first number in a text, in digits or as a word, or convert a degree ("high") within the bounds."""
    if not isinstance(value, str):
        return value
    if (digits := _NUMBER.search(value.replace("−", "-"))) is not None:
        number = float(digits[0])
        return round(number) if schema["type"] == "integer" else number
    words = _NOT_IN_NAMES.split(value.lower())
    degrees = [_DEGREES[word] for word in words if word in _DEGREES]
    least, most = schema.get("minimum"), schema.get("maximum")
    if degrees and least is not None and most is not None:
        return round(least + degrees[0] * (most - least))
    return next((NUMBERS.index(word) for word in words if word in NUMBERS), value)


def _as_text(value: Any, choices: list[str]) -> Any:
    """Read a number or a list of texts as a text, and recognise a choice in another case or with an explanation."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and value not in choices:
        named = (_bare(value), _bare(_EXPLAINED.split(value, maxsplit=1)[0]))
        return next((choice for name in named for choice in choices if _bare(str(choice)) == name), value)
    return value


def _bare(name: str) -> str:
    return _NOT_IN_NAMES.sub("", unicodedata.normalize("NFKD", name)).lower()


def _drop_wrong(value: Any, error: ValidationError) -> bool:
    """Remove each wrong part that an answer can lack; return whether there was one."""
    faults = captured(error.errors, include_url=False, include_context=False)
    places = set() if type(faults) is Raised else {_place(fault) for fault in faults}
    for place in sorted(places, key=lambda steps: [(isinstance(step, int), step) for step in steps], reverse=True):
        try:
            _remove(value, *place)
        except (LookupError, TypeError):  # the fault concerns the whole, or one of several forms
            return False
    return bool(places)


def _remove(value: Any, *place: Any) -> None:
    """Remove the value at a place, and the list in which it was the last item."""
    holder = reduce(getitem, place[:-1], value)
    del holder[place[-1]]
    if isinstance(holder, list) and not holder:
        _remove(value, *place[:-1])


def _place(fault: Any) -> tuple[Any, ...]:
    """Return the path of the part to remove: a value in a wrong form, else the list item that contains the fault."""
    place: tuple[Any, ...] = fault["loc"]
    if place and isinstance(place[-1], str) and (fault["input"] is None or fault["type"].endswith(_UNREADABLE)):
        return place
    while place and not isinstance(place[-1], int):
        place = place[:-1]
    return place
