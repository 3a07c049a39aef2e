"""Receive what an owner observed: every policy appends it, but `cells` has it wait for a free cell."""

from __future__ import annotations

from cogitate.memory.entry import OBSERVED_TYPES, Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import has_space
from cogitate.memory.stream import Stream


def receive(stream: Stream, entry: Entry, limits: MemoryLimits, tick: int) -> bool:
    """Append an observed entry, or queue it in the head while the policy `cells` has no free cell for it.

    Returns:
        Whether the entry was appended.
    """
    policy = limits.policy_of(stream.owner)
    if policy == "cells" and entry.type in OBSERVED_TYPES and not has_space(stream, limits):
        stream.wait(entry)
        return False
    stream.append(entry, tick)
    return True
