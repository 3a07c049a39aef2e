"""The context window of a prompt: its part of three tiers of memory (routing design, "Three-Tier Memory Architecture").

The window consists of the owner's long-term summary, its own entries (agent storage) and the shared history of its
group. This module stores nothing: it selects the part of memory that a prompt shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cogitate.memory.entry import Entry
from cogitate.memory.language.text import normal


@dataclass(frozen=True, kw_only=True)
class Context:
    """A context window; entries in order of time."""

    summary: str = ""
    history: tuple[Entry, ...] = ()  # of the group
    memories: tuple[Entry, ...] = ()  # the owner's own

    @property
    def characters(self) -> int:
        """Return the length of all texts in characters."""
        return len(self.summary) + sum(len(entry.text) for entry in (*self.history, *self.memories))


def context_window(
    *,
    summary: str = "",
    memories: Sequence[Entry] = (),
    history: Sequence[Entry] = (),
    limit: int | None = None,
    share: float = 1.0,
) -> Context:
    """Return the context window of an owner: the summary, and the newest entries that fit.

    A statement that the owner remembers word for word is not shown again from the shared history.

    Args:
        limit: characters that all texts together may have; None: no limit. The summary goes before the entries.
        share: part of the entries that is shown at most, the newest; 0.5 leaves out the oldest half.
    """
    own = {normal(entry.text) for entry in memories}
    shown = [(entry, False) for entry in memories]
    shown += [(entry, True) for entry in history if normal(entry.text) not in own]
    shown.sort(key=lambda pair: (pair[0].minute, pair[1], pair[0].number))
    shown = shown[len(shown) - math.ceil(len(shown) * min(1.0, max(0.0, share))) :]
    if limit is not None:
        room = limit - len(summary)
        first = len(shown)
        while first and len(shown[first - 1][0].text) <= room:
            first -= 1
            room -= len(shown[first][0].text)
        shown = shown[first:]
    return Context(
        summary=summary,
        history=tuple(entry for entry, shared in shown if shared),
        memories=tuple(entry for entry, shared in shown if not shared),
    )
