"""Check that an owner's memories are what the kinds promise, as seen by a host."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from cogitate.memory.entry import MAX_TEXT, Entry
from cogitate.memory.language.hidden_characters import without_hidden
from cogitate.memory.profile import Location
from cogitate.memory.stream import Stream

FEWEST, MOST = 5, 8  # items of a plan (streams, task 7)


def bad_memories(stream: Stream, locations: Sequence[Location]) -> list[str]:
    """Return the faults of an owner's entries and of its long-term summary, as texts."""
    places = {place.id for place in locations}
    wrong = [f"entry {e.number} {what}" for e in stream.entries.values() for what in _of_entry(e, places)]
    return wrong + [f"its summary {what}" for what in _of_text(stream.head.summary or "none")]


def _of_entry(entry: Entry, places: set[str]) -> Iterator[str]:
    yield from _of_text(entry.text)
    if not 0 <= entry.importance <= 10:
        yield f"has importance {entry.importance}"
    if entry.type != "plan":
        return
    if not FEWEST <= len(entry.items) <= MOST:
        yield f"has {len(entry.items)} plan items"
    times = [item.minute for item in entry.items]
    if None in times or times != sorted(set(times), key=lambda minute: minute or 0):
        yield f"has plan items at {times}"
    for item in entry.items:
        yield from _of_text(item.description)
        if item.location is not None and item.location not in places:
            yield "names a place that does not exist"
        if not 1 <= item.priority <= 5:
            yield f"has priority {item.priority}"


def _of_text(text: str) -> Iterator[str]:
    if not text.strip():
        yield "is empty"
    if len(text) > MAX_TEXT:
        yield f"has {len(text)} characters"
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        yield "has control characters"
    if without_hidden(text) != text:
        yield "has invisible characters"
