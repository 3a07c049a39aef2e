"""Whether an entry in a stream is the one that a kind wrote, by the journal or by its checkpoint."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.effects import Append, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.journal.checkpoint import packed
from cogitate.scheduler.journal.lines import (
    Ended,
    EndNote,
)
from cogitate.scheduler.journal.unreadable_entries import check_kind_wrote
from tests.unit.scheduler.journal_case import Journal
from tests.unit.scheduler.run_lines_case import (
    ANN,
    BOB,
    SOON,
    lines,
    store_of,
)

# -- what a resuming host holds against the journal --------------------------------------------------


def written(number: int, text: str, **fields: Any) -> Entry:
    return Entry(type="reflection", text=text, minute=1, number=number, tick=1, **fields)


def test_unreadable_entries_of_their_own_kind_are_skipped() -> None:
    effects = tuple(Append(owner=ANN, entry=Entry(type="reflection", text=text, minute=1)) for text in "ab")
    ended = Ended(key=SOON, end="applied", effects=(SetCounter(owner=ANN, name="n", value=1), *effects))
    note = EndNote(key=SOON, source="llm", appended=(4, 6))
    store = store_of(lines(ticks=[({"ended": (ended,)}, {"ended": (note,)})]))
    check_kind_wrote(store, ANN, written(6, "b"))
    check_kind_wrote(store, ANN, written(6, "b", importance=4, rated=3))
    for owner, entry in ((ANN, written(6, "a")), (ANN, written(5, "b")), (BOB, written(6, "b"))):
        with pytest.raises(ValueError, match=f"entry {entry.number} of {owner} differs from the journal"):
            check_kind_wrote(store, owner, entry)


def test_the_checkpoint_of_a_trimmed_journal_names_a_kinds_entries() -> None:
    made = Stream(ANN)
    kept = made.append(written(0, "b"), 1)
    store = Journal(streams={ANN: made}).store(4)
    store.client.hset(store.checkpoint_streams_key(4), ANN, packed(dump(made)))
    check_kind_wrote(store, ANN, kept)
    check_kind_wrote(store, ANN, msgspec.structs.replace(kept, importance=4, rated=3))
    other = msgspec.structs.replace
    for owner, entry in ((BOB, kept), (ANN, other(kept, number=2)), (ANN, other(kept, text="a"))):
        with pytest.raises(ValueError, match=f"entry {entry.number} of {owner} differs from the journal"):
            check_kind_wrote(store, owner, entry)
    at_once = other(kept, tick=4)  # of the last tick that was removed
    with pytest.raises(ValueError, match="differs from the journal"):
        check_kind_wrote(store, ANN, at_once)
    with pytest.raises(ValueError, match="differs from the journal"):
        check_kind_wrote(Journal().store(), ANN, other(kept, tick=0))
