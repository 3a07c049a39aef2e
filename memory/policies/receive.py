"""How an observation enters a stream."""

from __future__ import annotations

from memory.entry import OBSERVED_TYPES, Entry
from memory.limits import MemoryLimits
from memory.policies import cells
from memory.stream import Stream


def receive(stream: Stream, entry: Entry, limits: MemoryLimits, tick: int) -> bool:
    """Append an observed entry, or have it wait in the head where the policy `cells` has no cell free for it.

    Returns whether it was appended.
    """
    policy = limits.policy_of(stream.owner)
    if policy == "cells" and entry.type in OBSERVED_TYPES and not cells.has_space(stream, limits):
        stream.wait(entry)
        return False
    stream.append(entry, tick)
    return True
