"""The latest scoped memories as lines of a prompt (scopes design, "Prompt Context"): the last three of each scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cogitate.memory.clock import day_and_time
from cogitate.memory.entry import Entry
from cogitate.memory.language.truncation import shorten
from cogitate.memory.routing.scopes import WORLD, location_owner
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import resolve_name

MAX_ENTRIES = 3  # of each scope
MAX_LINE = 300  # characters of one memory


def latest(entries: Iterable[Entry], count: int = MAX_ENTRIES) -> list[Entry]:
    """Return the newest `count` summaries, the oldest of them first."""
    summaries = sorted((e for e in entries if e.type == "summary"), key=lambda e: (e.minute, e.number))
    return summaries[-count:] if count > 0 else []


def memory_line(entry: Entry) -> str:
    """Return a memory as one line with its time."""
    text = shorten(" ".join(entry.text.split()), MAX_LINE)
    return f"- {day_and_time(entry.minute, entry.tick)}: {text}"


def location_memory(streams: Mapping[str, Stream], location: str, count: int = MAX_ENTRIES) -> str:
    """Return the recent memories of a location, or "" when it has none."""
    return _section("Recent Location Memory", _of(streams, location_owner(location), count))


def npc_memory(
    streams: Mapping[str, Stream], present: Sequence[str], names: Mapping[str, str], count: int = MAX_ENTRIES
) -> str:
    """Return the recent memories of each NPC that is present, or "" when none has any."""
    lines: list[str] = []
    for npc in dict.fromkeys(present):
        if found := _of(streams, npc, count):
            lines += [f"{resolve_name(npc, names)}:", *found]
    return _section("NPC Memory", lines)


def world_memory(streams: Mapping[str, Stream], count: int = MAX_ENTRIES) -> str:
    """Return the recent memories of the world, or "" when it has none."""
    return _section("World Memory", _of(streams, WORLD, count))


def scope_context(
    streams: Mapping[str, Stream],
    *,
    location: str,
    present: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    count: int = MAX_ENTRIES,
) -> str:
    """Return all three sections, without those that have no memories."""
    sections = (
        location_memory(streams, location, count),
        npc_memory(streams, present, names or {}, count),
        world_memory(streams, count),
    )
    return "\n\n".join(section for section in sections if section)


def _of(streams: Mapping[str, Stream], owner: str, count: int) -> list[str]:
    stream = streams.get(owner)
    return [memory_line(entry) for entry in latest(stream.live("summary"), count)] if stream is not None else []


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"{title}:", *lines)) if lines else ""
