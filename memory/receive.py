"""How an observation enters a stream: the same in a live tick, on resume and in replay."""

from __future__ import annotations

from memory import cells
from memory.entry import OBSERVED_TYPES, Entry
from memory.limits import MemoryLimits
from memory.stream import Stream


def receive(stream: Stream, entry: Entry, limits: MemoryLimits, tick: int) -> None:
    """Append an observed entry; under the policy `cells` it may have to wait in the head for a free cell."""
    if entry.type in OBSERVED_TYPES and limits.policy_of(stream.owner) == "cells":
        cells.receive(stream, entry, limits, tick)
    else:
        stream.append(entry, tick)
