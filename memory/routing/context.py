"""The parts of memory that a prompt shows: an owner's context window, and the latest memories of scopes.

The window (routing design, "Three-Tier Memory Architecture") consists of the owner's long-term summary, its own entries
(agent storage) and the shared history of its group. Of each scope a prompt shows the last three memories as lines
(scopes design, "Prompt Context"). This module stores nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cogitate.memory.clock import day_and_time
from cogitate.memory.entry import Entry, resolve_name
from cogitate.memory.language.text import normal
from cogitate.memory.language.truncation import shorten
from cogitate.memory.routing.scopes import WORLD, location_owner
from cogitate.memory.stream import Stream


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

    It omits a statement of the shared history that the owner remembers word for word.

    Args:
        limit: the most characters of all texts together; None: no limit. The summary takes precedence over the entries.
        share: the largest share of the entries to show, the newest; 0.5 leaves out the oldest half.
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


MAX_ENTRIES = 3  # of each scope
MAX_LINE = 300  # characters of one memory


def latest(entries: Iterable[Entry], count: int = MAX_ENTRIES) -> list[Entry]:
    """Return the newest `count` summaries, oldest first."""
    summaries = sorted((e for e in entries if e.type == "summary"), key=lambda e: (e.minute, e.number))
    return summaries[-count:] if count > 0 else []


def memory_line(entry: Entry) -> str:
    """Return a memory as one line with its time."""
    text = shorten(" ".join(entry.text.split()), MAX_LINE)
    return f"- {day_and_time(entry.minute, entry.tick)}: {text}"


def location_memory(streams: Mapping[str, Stream], location: str, count: int = MAX_ENTRIES) -> str:
    """Return the recent memories of a location, or "" if it has none."""
    return _section("Recent Location Memory", _lines(streams, location_owner(location), count))


def npc_memory(
    streams: Mapping[str, Stream], present: Sequence[str], names: Mapping[str, str], count: int = MAX_ENTRIES
) -> str:
    """Return the recent memories of each NPC that is present, or "" if none has any."""
    lines: list[str] = []
    for npc in dict.fromkeys(present):
        if memories := _lines(streams, npc, count):
            lines += [f"{resolve_name(npc, names)}:", *memories]
    return _section("NPC Memory", lines)


def world_memory(streams: Mapping[str, Stream], count: int = MAX_ENTRIES) -> str:
    """Return the recent memories of the world, or "" if it has none."""
    return _section("World Memory", _lines(streams, WORLD, count))


def scope_context(
    streams: Mapping[str, Stream],
    *,
    location: str,
    present: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    count: int = MAX_ENTRIES,
) -> str:
    """Return the sections of the location, the present NPCs and the world, without empty ones."""
    sections = (
        location_memory(streams, location, count),
        npc_memory(streams, present, names or {}, count),
        world_memory(streams, count),
    )
    return "\n\n".join(section for section in sections if section)


def _lines(streams: Mapping[str, Stream], owner: str, count: int) -> list[str]:
    stream = streams.get(owner)
    return [memory_line(entry) for entry in latest(stream.live("summary"), count)] if stream is not None else []


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"{title}:", *lines)) if lines else ""
