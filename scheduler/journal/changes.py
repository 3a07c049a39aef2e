"""The changes that the ends of jobs make, as a host's world is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.scheduler.ledger.claims import Reason, Source


class Change(NamedTuple):
    """One applied effect, as it is handed to the host's world."""

    owner: str
    effect: Effect
    entry: Entry | None  # the numbered entry, when the effect appended one
    kind: str
    source: Source
    reason: Reason


def changes_of_end(ended: Ended, note: EndNote, tick: int) -> Iterator[Change]:
    """Yield the changes of one job that ended at a tick."""
    if ended.end != "applied":
        return
    numbers = iter(note.appended)
    for effect in ended.effects:
        entry = None
        if isinstance(effect, Append):
            entry = msgspec.structs.replace(effect.entry, number=next(numbers), tick=tick)
        yield Change(effect.owner, effect, entry, ended.key.kind, note.source, ended.reason)
