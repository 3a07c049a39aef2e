"""Memories to retrieve from, and what is read of what was found."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.memory.entry import Entry, EntryType
from cogitate.memory.retrieval.retrieval import Scored


def memory(number: int, text: str, *, minute: int = 0, importance: int = 0, **more: object) -> Entry:
    kind: EntryType = more.pop("type", "observation")  # type: ignore[assignment]
    return Entry(type=kind, text=text, minute=minute, number=number, importance=importance, **more)  # type: ignore[arg-type]


def numbers(found: Sequence[Scored]) -> list[int]:
    return [scored.entry.number for scored in found]


def part(scored: Scored, name: str) -> float:
    return next(p.value for p in scored.parts if p.name == name)
