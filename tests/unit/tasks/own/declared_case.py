"""A kind of a host's own with other attributes, its owner, and what it may be given."""

from __future__ import annotations

from typing import Any

import msgspec

from cogitate import Profile
from tests.unit.tasks.own_kind_case import Own

ADA = {"agent:ada": Profile(name="Ada Smith")}


def but(**attributes: Any) -> Own:
    """A good kind, but for these attributes."""
    kind = Own()
    for name, value in attributes.items():
        setattr(kind, name, value)
    return kind


class Whim(msgspec.Struct, forbid_unknown_fields=True):
    """What a host may give."""

    mood: str = ""

    def __post_init__(self) -> None:
        raise KeyError("mood")
