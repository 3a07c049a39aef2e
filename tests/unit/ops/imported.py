"""What an import brings for an owner, in the form in which tests compare it."""

from __future__ import annotations

from cogitate.ops.exchange.incoming import Incoming


def remembered(found: Incoming, owner: str) -> list[tuple[str, int, int, str]]:
    """Return text, minute, importance and type of each memory of an owner."""
    return [(entry.text, entry.minute, entry.importance, entry.type) for entry in found.memories[owner]]
