"""Audit of archiving and cursors: a model's job archives, or moves its cursor past, only what its prompt showed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cogitate.memory.effects import AdvanceCursor, Append, Archive, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routing import scopes
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.tasks import integrate


def passed_unseen(line: ReadLine, streams: Mapping[str, Stream], profiles: Mapping[str, Profile]) -> list[str]:
    """Return the jobs that archived, or moved a cursor past, entries that their prompts did not show in full.

    Effects of heuristics, which read all their material, do not list what was shown.

    Args:
        streams: the streams before the line.
        profiles: the owners' profiles.
    """
    found = []
    for ended in line.core.ends:
        if ended.end != "applied":
            continue
        for effect in ended.effects:
            match effect:
                case Archive(shown=shown) if shown is not None:
                    how, numbers = "archived", set(effect.numbers)
                case AdvanceCursor(shown=shown) if shown is not None:
                    how = f"moved its cursor {effect.name} past"
                    numbers = set(_passed(effect, ended.effects, streams, profiles))
                case _:
                    continue
            if unseen := sorted(numbers - set(shown)):
                found.append(
                    f"tick {line.core.tick}: job {ended.key.text()} {how} entries {unseen[:5]}, "
                    "which its prompt did not show"
                )
    return found


def _passed(
    cursor: AdvanceCursor, effects: Sequence[Effect], streams: Mapping[str, Stream], profiles: Mapping[str, Profile]
) -> Iterator[int]:
    """Yield the numbers of the entries that a cursor passes and that concern its owner."""
    for entry in _concerned(cursor, effects, streams, profiles):
        if not isinstance(entry, UnreadableEntry):
            yield entry.number


def _concerned(
    cursor: AdvanceCursor, effects: Sequence[Effect], streams: Mapping[str, Stream], profiles: Mapping[str, Profile]
) -> list[Entry]:
    owner = cursor.owner
    if cursor.name == integrate.CURSOR and owner in streams:
        entries = streams[owner].entries.values()
        return [e for e in entries if cursor.start < e.number <= cursor.end and INTEGRATE in e.tags]
    place = scopes.place_of(cursor.name)
    if not (place or cursor.name == scopes.CURSOR) or scopes.WORLD not in streams:
        return []
    memory = next((e.entry for e in effects if isinstance(e, Append) and e.owner == owner), None)
    location = place or (memory.location if memory is not None and owner != scopes.WORLD else "")
    start = max(cursor.start, scopes.covered(streams[owner].head, cursor.name)) if place else cursor.start
    messages = scopes.messages_since(streams[scopes.WORLD], start, cursor.end, location)
    if owner in (scopes.WORLD, scopes.location_owner(location)) or owner not in profiles:
        return messages
    return [entry for entry in messages if scopes.is_about(entry, owner, profiles[owner].name)]
