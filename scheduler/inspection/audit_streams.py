"""Audit of memory: stored streams follow from the journal, and a model's job passed only what its prompt showed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cogitate.memory.effects import AdvanceCursor, Append, Archive, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routing import scopes
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.scheduler.inspection.snapshot import TRIES
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.run_store import OwnerKey, RunStore
from cogitate.scheduler.ledger.streams import UNREADABLE, differences, load_streams
from cogitate.tasks import integrate


def wrong_streams(
    store: RunStore, streams: Mapping[str, Stream], follow: Callable[[int], Mapping[str, Stream]]
) -> list[str]:
    """Return the differences between the stored streams and those that result from the journal's effects.

    Args:
        streams: by owner, including retired owners, as of the tick of the snapshot.
        follow: reads the journal of a live run up to a later tick and returns the streams at that tick.

    Raises:
        RunMissing: if the run was deleted meanwhile.
        TimeoutError: if the run advances faster than one stream can be read.
    """
    found: list[str] = []
    for owner in sorted(streams):
        try:
            tick, stored, fields = _read(store, owner)
        except UNREADABLE as error:
            found.append(f"{owner}: cannot be read: {type(error).__name__}: {str(error)[:200]}")
            continue
        said = follow(tick)[owner]
        found += [f"{owner}: {fault}" for fault in (*differences(stored, said), *_misplaced(said, fields))]
        found += [f"{owner}: {fault}" for fault in _without_summary(said)]
    return found


def _read(store: RunStore, owner: str) -> tuple[int, Stream, dict[str, set[int]]]:
    """Read a stream at one instant: return the tick, the stream, and the numbers in the hashes of its parts."""
    for _ in range(TRIES):
        before = store.tick()
        stream = load_streams(store, [owner])[owner]
        fields: dict[str, set[int]] = {}
        parts: tuple[OwnerKey, ...] = ("entries", "archive", "into")
        for name in parts:
            fields[name] = {int(number) for number in store.numbers(name, owner)}
        if store.tick() == before:
            return before, stream, fields
    raise TimeoutError(f"the run advanced {TRIES} times while the stream of {owner!r} was read; pause it first")


def _misplaced(said: Stream, fields: Mapping[str, set[int]]) -> list[str]:
    found = []
    live = {entry.number for entry in said.live()}
    if wrong := sorted((fields["entries"] ^ live) | (fields["archive"] ^ said.archived.keys())):
        found.append(f"entries {wrong[:5]} are wrongly stored as live or archived")
    if left := sorted(fields["into"] - said.archived.keys()):
        found.append(f"`into` names {left[:5]}, which are not archived")
    return found


def _without_summary(said: Stream) -> list[str]:
    return [
        f"entry {number} was archived into {record.into}, which does not exist"
        for number, record in said.archived.items()
        if record.into > 0 and record.into not in said.entries
    ]


def passed_unseen(line: ReadLine, streams: Mapping[str, Stream], profiles: Mapping[str, Profile]) -> list[str]:
    """Return the jobs that archived, or moved a cursor past, entries that their prompts did not show in full.

    Effects of heuristics, which read all their material, do not list what was shown.
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
                    passed = _passed(effect, ended.effects, streams, profiles)
                    numbers = {entry.number for entry in passed if not isinstance(entry, UnreadableEntry)}
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
) -> list[Entry]:
    """Return the entries that a cursor passes and that concern its owner."""
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
