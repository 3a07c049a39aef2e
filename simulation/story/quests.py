"""The quests of the company of travellers: three scenes each, in places that the company enters and leaves.

Lines are "speaker: text"; a line without a speaker is the narrator's.
"""

from __future__ import annotations

import msgspec

from cogitate.simulation.tables import read_table


class Scene(msgspec.Struct, frozen=True):
    """A visit to one place."""

    place: str
    objective: str  # id
    lines: tuple[tuple[str, str], ...]
    npcs: tuple[str, ...] = ()  # NPCs at the place
    encounter: str = ""  # id of a fight or a trap that ends when the company leaves
    cleared: bool = False  # no danger remains there


class Quest(msgspec.Struct, frozen=True):
    """A quest with two endings."""

    id: str
    title: str
    giver: str
    task: str  # the giver's words on hiring the company
    scenes: tuple[Scene, Scene]
    endings: tuple[Scene, Scene]
    pay: int  # silver


class _Table(msgspec.Struct, frozen=True):
    quests: tuple[Quest, ...]


QUESTS = read_table(__package__, "quests", _Table).quests
