"""Reads the dump of a world."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from cogitate.memory import typed_json

State = TypeVar("State", bound=msgspec.Struct)


def read_dump(data: bytes, state: type[State], what: str) -> State:
    """Return the state of a world from its dump.

    Args:
        what: the expected world, such as "a town".

    Raises:
        ValueError: if it is not a dump of that world.
    """
    try:
        return typed_json.decode(data, state)
    except msgspec.MsgspecError as error:
        raise ValueError(f"this is not a dump of {what}: {error}") from error
