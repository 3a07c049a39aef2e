"""Parts of JSON: undecoded ones, so that what is not read takes no memory, and decoded ones, checked when read."""

from __future__ import annotations

from typing import Any

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.errors import InputError, quoted

Json = bytes | msgspec.Raw
Fields = dict[str, Json]


def fields_of(raw: Json, what: str) -> Fields:
    """Return the fields of a JSON object, undecoded.

    Raises:
        InputError: naming `what` and its value, if it is no JSON object.
    """
    found: Fields = _of_type(raw, what, dict[str, msgspec.Raw], "an object")
    return found


def items_of(raw: Json, what: str) -> list[msgspec.Raw]:
    """Return the items of a JSON list, undecoded; none of null.

    Raises:
        InputError: naming `what` and its value, if it is no JSON list.
    """
    return _of_type(raw, what, list[msgspec.Raw] | None, "a list") or []


def is_object(raw: Json) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"


def string_in(value: object, field: str) -> str:
    """Return the text of a field of decoded JSON; "" if it has none."""
    found = value.get(field) if isinstance(value, dict) else None
    return found.strip() if isinstance(found, str) else ""


def _of_type(raw: Json, what: str, wanted: Any, name: str) -> Any:
    try:
        return typed_json.decode(raw, wanted)
    except msgspec.ValidationError as error:
        shown = bytes(raw).strip()[:80].decode(errors="replace")
        raise InputError(f"{what} is {quoted(shown)}: give {name} of JSON") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{what} is not valid JSON: {str(error)[:200]}") from error


def object_of(value: object, what: str) -> dict[str, Any]:
    """Return decoded JSON that must be an object.

    Raises:
        InputError: naming `what` and the value, if it is invalid.
    """
    if not isinstance(value, dict):
        raise InputError(f"{what} is {quoted(value)}: give an object of JSON")
    return value


def list_in(value: dict[str, Any], field: str) -> list[Any]:
    """Return the list in a field of an object; an empty one if the field is missing or null.

    Raises:
        InputError: naming the field and its value, if it is no list.
    """
    found = value.get(field)
    if found is not None and not isinstance(found, list):
        raise InputError(f"{field} is {quoted(found)}: give a list")
    return found or []
