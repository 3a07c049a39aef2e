"""The matters before the council, with the arguments for each side."""

from __future__ import annotations

import msgspec

from cogitate.simulation.tables import read_table


class Argument(msgspec.Struct, frozen=True):
    """A statement for a side, with the speaker's reason."""

    speaker: str
    text: str
    reasoning: str


class Side(msgspec.Struct, frozen=True):
    """One answer to a matter."""

    motion: str  # completes "voted to …"
    arguments: tuple[Argument, ...]
    outcome: str  # what the valley hears in the afternoon
    coins: int  # gained by a councillor's household in the season


class Matter(msgspec.Struct, frozen=True):
    """A question that the council decides by vote: two councillors for each side, and one undecided."""

    topic: str  # completes "discussed …"
    opening: str
    sides: tuple[Side, Side]


class _Table(msgspec.Struct, frozen=True):
    matters: tuple[Matter, ...]


MATTERS = read_table(__package__, "matters", _Table).matters
CERTAINTIES = ("high", "medium", "low")
