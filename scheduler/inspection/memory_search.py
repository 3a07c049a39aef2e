"""Search the memories of all owners of a run without decoding entries that do not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.unreadable import read_entry, why_unreadable
from cogitate.scheduler.inspection.minds import AT_ONCE, Past
from cogitate.scheduler.ledger.run_store import RunStore

_ITEMS = b'"items":'  # marks a plan, whose text may be in its items


class Hit(NamedTuple):
    """A memory that matches a search."""

    owner: str
    entry: Entry
    archived: bool


class Found(NamedTuple):
    """The first matching memories by game time, and the number of all matches."""

    hits: list[Hit]
    total: int


class _Item(msgspec.Struct):
    """The part of a plan's item that a search decodes."""

    description: str


class _Words(msgspec.Struct):
    """The part of an entry that a search decodes; decoding a whole entry takes several times as long."""

    text: str
    minute: int
    number: int = 0
    items: tuple[_Item, ...] = ()


_WORDS = typed_json.decoder(_Words)


class _Match(NamedTuple):
    """A stored entry that matches; its fields sort the results."""

    minute: int
    owner: str
    number: int
    archived: bool
    raw: bytes


def search_memories(store: RunStore, owners: Sequence[str], text: str, most: int) -> Found:
    """Return the current memories of these owners that contain a text, ignoring case; none for an empty text.

    Args:
        most: memories to return; others are only counted.
    """
    wanted = text.strip().casefold()
    if not wanted:
        return Found([], 0)
    as_stored = msgspec.json.encode(wanted)[1:-1].decode()
    matches = []
    for owner, archived, raw in _stored(store, owners):
        if as_stored in raw.decode("utf-8", "replace").casefold() or _ITEMS in raw:
            try:
                words = _WORDS.decode(raw)
            except msgspec.MsgspecError:
                continue  # an unreadable entry
            if wanted in words_of(words.text, words.items).casefold():
                matches.append(_Match(words.minute, owner, words.number, archived, raw))
    hits = [Hit(match.owner, read_entry(match.raw), match.archived) for match in nsmallest(most, matches)]
    return Found([hit for hit in hits if not why_unreadable(hit.entry)], len(matches))


def search_past(past: Past, text: str, most: int) -> Found:
    """Return the memories at an earlier tick that contain a text. Arguments as in `search_memories`."""
    wanted = text.strip().casefold()
    hits = [
        Hit(owner, entry, entry.number in stream.archived)
        for owner, stream in past.streams.items()
        for entry in stream.entries.values()
        if wanted and wanted in words_of(entry.text, entry.items).casefold()
    ]
    return Found(nsmallest(most, hits, key=lambda hit: (hit.entry.minute, hit.owner, hit.entry.number)), len(hits))


def stored_memories(store: RunStore, owners: Sequence[str]) -> Iterator[tuple[str, list[bytes]]]:
    """Yield each of these owners that has memories, with the JSON of its entries, archived ones included."""
    for owner, stored in groupby(_stored(store, owners), key=itemgetter(0)):
        yield owner, [raw for _, _, raw in stored]


def words_of(text: str, items: Sequence[PlanItem | _Item]) -> str:
    """Return the text of an entry or, for a plan without a text, its items."""
    return text or "; ".join(item.description for item in items)


def _stored(store: RunStore, owners: Sequence[str]) -> Iterator[tuple[str, bool, bytes]]:
    """Yield the JSON of each entry with its owner and whether it is archived."""
    for start in range(0, len(owners), AT_ONCE):
        some = owners[start : start + AT_ONCE]
        pipeline = store.pipeline()
        for owner in some:
            pipeline.hvals(store.owner_key("entries", owner))
            pipeline.hvals(store.owner_key("archive", owner))
        for place, stored in enumerate(pipeline.execute()):
            for raw in stored:
                yield some[place // 2], place % 2 == 1, raw
