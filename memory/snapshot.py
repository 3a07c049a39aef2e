"""Snapshots: a stream as one JSON document, for people, for tools, and for the checkpoints from which replay starts.

A run never loads its state from one.
"""

from __future__ import annotations

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.entry import Archived, Entry, Head, Marks
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import read_entry, read_head, read_marks


class StreamSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a stream holds."""

    owner: str
    entries: list[Entry]
    archived: dict[int, Archived]
    marks: dict[int, Marks]
    head: Head


class ProfiledSnapshot(StreamSnapshot, frozen=True, kw_only=True, omit_defaults=True):
    """A stream and its owner's profile; an owner that has left has none."""

    profile: Profile | None = None


class _Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot whose entries are not decoded."""

    owner: str
    entries: list[msgspec.Raw]
    archived: dict[int, Archived]
    marks: dict[int, msgspec.Raw]
    head: msgspec.Raw


def snapshot(stream: Stream) -> StreamSnapshot:
    """Return everything that the stream holds, in a fixed order."""
    return StreamSnapshot(
        owner=stream.owner,
        entries=list(stream.entries.values()),
        archived=dict(sorted(stream.archived.items())),
        marks=dict(sorted(stream.marks.items())),
        head=stream.head,
    )


def dump(stream: Stream) -> bytes:
    """Return the stream as JSON: the same bytes for the same stream."""
    return msgspec.json.encode(snapshot(stream))


def dump_with_profile(stream: Stream, profile: Profile | None) -> bytes:
    """Return the stream as JSON with its owner's profile, if it has one: a line of an export of memories."""
    return msgspec.json.encode(ProfiledSnapshot(**msgspec.structs.asdict(snapshot(stream)), profile=profile))


def load(data: bytes) -> Stream:
    """Return the stream that `dump` encoded.

    Raises:
        ValueError: if the data is invalid.
    """
    try:
        try:
            kept = typed_json.decode(data, StreamSnapshot)
        except msgspec.ValidationError:
            kept = _with_unreadable(typed_json.decode(data, _Unread))
    except ValueError as error:
        raise ValueError(f"this is not a snapshot of a stream: {error}") from error
    return Stream(kept.owner, entries=kept.entries, archived=kept.archived, marks=kept.marks, head=kept.head)


def _with_unreadable(kept: _Unread) -> StreamSnapshot:
    """Return the snapshot with its values as stored; entries that cannot be read become `UnreadableEntry`."""
    return StreamSnapshot(
        owner=kept.owner,
        entries=[read_entry(raw) for raw in kept.entries],
        archived=kept.archived,
        marks={number: read_marks(raw) for number, raw in kept.marks.items()},
        head=read_head(kept.head),
    )
