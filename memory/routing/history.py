"""Shared history: the statements of a group, or of the world (routing design, tier 3).

Its stream keeps the most recent ones, first in first out, within a limit of characters. The example in the routing
design ends above its own limit of 100,000; here the limit holds after every boundary. Neither the limit of observations
nor the compaction of conversations applies to it: a statement is kept unchanged or archived.
"""

from __future__ import annotations

from cogitate.memory.effects import Archive, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.stream import Stream

_SHARED = ("group", "world")


def is_shared(owner: str) -> bool:
    """Return whether an owner's stream is a shared history: a group's, or the world's."""
    return owner.partition(":")[0] in _SHARED


def is_statement(entry: Entry) -> bool:
    """Return whether the entry is a message or an observation."""
    return entry.type in ("message", "observation")


def length(stream: Stream) -> int:
    """Return the number of characters in the live statements."""
    return sum(len(entry.text) for entry in stream.live("message", "observation"))


def trim(stream: Stream, limits: MemoryLimits) -> tuple[Effect, ...]:
    """Return the effects that archive the oldest statements and summaries of a shared history above its limits.

    Summaries (memories of the world) do not count as statements; their limit is `max_observations`. Important entries
    that leave count as lost, since no summary covers them.
    """
    over = length(stream) - limits.max_history
    leaving: list[int] = []
    for entry in stream.live("message", "observation"):
        if over <= 0:
            break
        leaving.append(entry.number)
        over -= len(entry.text)
    summaries = stream.live("summary")
    leaving += [entry.number for entry in summaries[: max(0, len(summaries) - limits.max_observations)]]
    if not leaving:
        return ()
    lost = sum(stream.entries[number].importance >= limits.importance_threshold for number in leaving)
    return (Archive(owner=stream.owner, numbers=tuple(sorted(leaving)), lost=lost),)
