"""Reads the promises in the stored memories of a run's owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory.language.port import language_of
from cogitate.memory.unreadable import read_entry, why_unreadable
from cogitate.ops.report.minds_promises import RememberedPromise, remembered_promises
from cogitate.scheduler.inspection.memory_search import stored_memories
from cogitate.scheduler.ledger.run_store import RunStore

MOST_OWNERS = 20_000  # whose promises are kept


class _Read(NamedTuple):
    mark: int  # of the memories that were read
    promises: list[RememberedPromise]


class PromisesReading:
    """The promises that owners remember. It reads an owner again only once its memories have changed. Thread-safe."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], _Read] = {}  # by a run's prefix and an owner

    def of(
        self, store: RunStore, owners: Sequence[str], names: Mapping[str, str], about: str
    ) -> dict[str, list[RememberedPromise]]:
        """Return by owner the promises in its memory, archived entries included, unreadable ones not.

        Args:
            names: display names by owner and place.
            about: an owner: return its own promises, and those of others with an entry that names it and promises.
                "": return everybody's.
        """
        named = hash(frozenset(names.items()))
        return {
            owner: self._promises(store.prefix, owner, raws, names, hash((named, *raws)))
            for owner, raws in stored_memories(store, owners)
            if about in ("", owner) or any(_vows(raws, about))
        }

    def _promises(
        self, prefix: str, owner: str, raws: Sequence[bytes], names: Mapping[str, str], mark: int
    ) -> list[RememberedPromise]:
        kept = self._read.get((prefix, owner))
        if kept is None or kept.mark != mark:
            readable = [entry for entry in map(read_entry, raws) if not why_unreadable(entry)]
            found = remembered_promises(owner, readable, names) if any(_vows(raws, "")) else []
            if len(self._read) >= MOST_OWNERS:
                self._read.clear()
            self._read[prefix, owner] = kept = _Read(mark, found)
        return kept.promises


def _vows(raws: Sequence[bytes], about: str) -> Iterator[bool]:
    """Yield whether each stored entry may promise something and names an owner; "": any."""
    named = msgspec.json.encode(about) if about else b""
    for raw in raws:
        if named in raw:
            text = read_entry(raw).text
            yield language_of(text).may_vow(text)
