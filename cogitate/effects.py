"""The effects by which a kind or a host changes memory, and the entries that they carry."""

from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    MarkAccessed,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    Tell,
)
from cogitate.memory.entry import Character, Entry, PlanItem

__all__ = [
    "AdvanceCursor",
    "Append",
    "Archive",
    "Character",
    "Effect",
    "Entry",
    "MarkAccessed",
    "PlanItem",
    "ReplaceSummary",
    "SetCharacter",
    "SetCounter",
    "SetPlanStatus",
    "Tell",
]
