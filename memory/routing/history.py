"""Shared history: what a whole group, or the world, has said and seen (routing design, tier 3).

Its stream keeps what is most recent, first in first out, within a limit of characters. The spec's example ends above
its own limit of 100,000; here the limit holds after every boundary. Neither the limit of observations nor the
compaction of conversations applies to it: a statement is there word for word, or it has left.
"""

from __future__ import annotations

from memory.effects import Archive, Effect
from memory.entry import Entry
from memory.limits import MemoryLimits
from memory.stream import Stream

_SHARED = ("group", "world")


def is_shared(owner: str) -> bool:
    """Whether an owner's stream is the history of many: a group's, or the world's."""
    return owner.partition(":")[0] in _SHARED


def is_statement(entry: Entry) -> bool:
    """Whether the entry is something said or seen; a summary of such is none."""
    return entry.type in ("message", "observation")


def length(stream: Stream) -> int:
    """Characters of the live statements."""
    return sum(len(entry.text) for entry in stream.live("message", "observation"))


def trim(stream: Stream, limits: MemoryLimits) -> tuple[Effect, ...]:
    """What leaves a shared history so that it is within its limits: the oldest statements, the oldest summaries.

    Summaries (memories of the world) do not count as statements: there may be as many as there may be observations
    elsewhere.
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
    return (Archive(owner=stream.owner, numbers=tuple(sorted(leaving))),) if leaving else ()
