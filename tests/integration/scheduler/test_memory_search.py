"""A search of all memories finds every text that contains the words, whatever its script, quotes and position."""

from __future__ import annotations

import pytest

from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import read_entry
from cogitate.scheduler.inspection.memory_search import search_memories, search_past, stored_memories, words_of
from cogitate.scheduler.inspection.minds import Past
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import write_streams
from tests.live_redis import empty_redis

TEXTS = (
    'Ben said "Mind the mill".',
    "MIND the gap; 20% \\ off.",
    "铁匠答应明天修好水磨。",
    "Line one\nline two.",
    "Straße, İstanbul.",
    "mind",
)
WANTED = (
    "mind",
    '"mind the',
    "\\ OFF",
    "修好水磨",
    "one\nline",
    "STRASSE",
    "İSTANBUL",
    "Sow",
    "sow; reap",
    "text",
    " ",
)


def written() -> tuple[RunStore, dict[str, Stream]]:
    """Store two owners with the same texts at different times, the first archived, and a plan that has only items."""
    streams = {owner: Stream(owner) for owner in ("agent:ada", "agent:ben")}
    for shift, stream in enumerate(streams.values()):
        for place, text in enumerate(TEXTS):
            minute = 100 * (len(TEXTS) - place) + shift
            stream.append(Entry(type="observation", text=text, minute=minute, subjects=(f"agent:{place}",)), 1)
        items = (PlanItem(id="1-0", description="Sow"), PlanItem(id="1-1", description="Reap"))
        stream.append(Entry(type="plan", text="", minute=5, items=items), 1)
        stream.archive(1, 2)
    store = RunStore.of(empty_redis(), "town", "1")
    write_streams(store, streams.values())
    return store, streams


@pytest.mark.parametrize("wanted", WANTED)
def test_a_search_returns_matching_memories_by_time(wanted: str) -> None:
    store, streams = written()
    expected = sorted(
        (entry.minute, owner, entry.number)
        for owner, stream in streams.items()
        for entry in stream.entries.values()
        if wanted.strip() and wanted.casefold() in words_of(entry.text, entry.items).casefold()
    )
    for found in (search_memories(store, [*streams], wanted, 3), search_past(Past(2, streams), wanted, 3)):
        told = [(hit.entry.minute, hit.owner, hit.entry.number) for hit in found.hits]
        assert (told, found.total) == (expected[:3], len(expected))
        assert all(hit.archived == (hit.entry.number == 1) for hit in found.hits)
    assert bool(expected) == (wanted not in ("text", " "))


def test_stored_memories_include_archived_ones() -> None:
    store, streams = written()
    found = {owner: {read_entry(raw).text for raw in raws} for owner, raws in stored_memories(store, [*streams])}
    assert found == {owner: {entry.text for entry in stream.entries.values()} for owner, stream in streams.items()}
    assert [*stored_memories(store, ["agent:nobody"])] == []
