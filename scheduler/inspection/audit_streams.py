"""Audit of memory: streams follow from the journal, and a model's job passed only entries that its prompt showed."""

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
        streams: by owner, including retired owners, at the tick of the snapshot.
        follow: reads the journal of a live run up to a later tick and returns the streams at that tick.

    Raises:
        RunMissing: if the run is deleted during the audit.
        TimeoutError: if the run advances faster than one stream can be read.
    """
    faults: list[str] = []
    for owner in sorted(streams):
        try:
            tick, stored, fields = _read(store, owner)
        except UNREADABLE as error:
            faults.append(f"{owner}: cannot be read: {type(error).__name__}: {str(error)[:200]}")
            continue
        expected = follow(tick)[owner]
        faults += [f"{owner}: {fault}" for fault in (*differences(stored, expected), *_misplaced(expected, fields))]
        faults += [f"{owner}: {fault}" for fault in _without_summary(expected)]
    return faults


def _read(store: RunStore, owner: str) -> tuple[int, Stream, dict[str, set[int]]]:
    """Return a tick, the stream at that tick, and the entry numbers in each of the stream's hashes."""
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


def _misplaced(expected: Stream, fields: Mapping[str, set[int]]) -> list[str]:
    faults = []
    live = {entry.number for entry in expected.live()}
    if wrong := sorted((fields["entries"] ^ live) | (fields["archive"] ^ expected.archived.keys())):
        faults.append(f"entries {wrong[:5]} are wrongly stored as live or archived")
    if left := sorted(fields["into"] - expected.archived.keys()):
        faults.append(f"`into` names {left[:5]}, which are not archived")
    return faults


def _without_summary(expected: Stream) -> list[str]:
    return [
        f"entry {number} was archived into {record.into}, which does not exist"
        for number, record in expected.archived.items()
        if record.into > 0 and record.into not in expected.entries
    ]


def passed_unseen(line: ReadLine, streams: Mapping[str, Stream], profiles: Mapping[str, Profile]) -> list[str]:
    """Return the jobs that archived, or moved a cursor past, entries that their prompts did not show in full.

    Heuristics read all their material, so their effects list no shown entries and are not checked.
    """
    faults = []
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
                faults.append(
                    f"tick {line.core.tick}: job {ended.key.text()} {how} entries {unseen[:5]}, "
                    "which its prompt did not show"
                )
    return faults


def _passed(
    cursor: AdvanceCursor, effects: Sequence[Effect], streams: Mapping[str, Stream], profiles: Mapping[str, Profile]
) -> list[Entry]:
    """Return the entries that a cursor passes and that are relevant to its owner."""
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
