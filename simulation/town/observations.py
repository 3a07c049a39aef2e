"""What an agent notices of itself, as unnumbered entries."""

from __future__ import annotations

from memory.entry import Entry

Seen = tuple[str, Entry]  # who observed it, and what


def thought(owner: str, text: str, minute: int, importance: int, *others: str, place: str = "") -> Seen:
    """An observation that comes from the agent itself."""
    return owner, Entry(
        type="observation",
        text=text,
        minute=minute,
        location=place,
        subjects=(owner, *others),
        importance=importance,
        source="internal",
    )
