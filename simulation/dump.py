"""The reading of what a world has dumped."""

from __future__ import annotations

from typing import TypeVar

import msgspec

State = TypeVar("State", bound=msgspec.Struct)


def read_dump(data: bytes, state: type[State], what: str) -> State:
    """Return the state of a world from its dump.

    Args:
        what: the world that it should be of, such as "a town".

    Raises:
        ValueError: when it is not one.
    """
    try:
        return msgspec.json.decode(data, type=state)
    except msgspec.MsgspecError as error:
        raise ValueError(f"this is not a dump of {what}: {error}") from error
