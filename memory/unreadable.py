"""Entries with values that no entry can have, such as a type of a host's own invention.

Kinds of a host's own could write them before what kinds make was checked. Who reads a run leaves them out and is told;
only what rebuilds a run from its journal holds them, as the host did that wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from memory.entry import Entry, PlanItem
from memory.stream import Stream

_ENTRY = msgspec.json.Decoder(Entry)
_GIVEN = ("number", "tick", "rated")  # by the host, not by a kind
_SAID = 200  # characters of a reason


class UnreadableItem(PlanItem, frozen=True, kw_only=True, omit_defaults=True):
    """An item of a plan with at least one value that an item cannot have."""


class UnreadableEntry(Entry, frozen=True, kw_only=True, omit_defaults=True):
    """An entry with at least one value that an entry cannot have."""


class LeftOut(NamedTuple):
    """An entry that cannot be read."""

    owner: str
    number: int
    why: str

    def __str__(self) -> str:
        return f"entry {self.number} of {self.owner} cannot be read and is left out: {self.why}"


def read_entry(raw: bytes | msgspec.Raw) -> Entry:
    """Return an entry from its JSON; an `UnreadableEntry` where only values that a kind gives are wrong.

    Raises:
        ValueError: when it is no entry at all.
    """
    try:
        return _ENTRY.decode(raw)
    except msgspec.ValidationError as error:
        return as_it_is(msgspec.json.decode(raw), error)


def as_it_is(fields: Any, error: msgspec.ValidationError) -> UnreadableEntry:
    """Return an entry with the values that it was given, whatever they are.

    Args:
        error: what reading it as an ordinary one said; raised again where the fields are not those of an entry.

    Raises:
        ValueError: when they are not.
    """
    if not isinstance(fields, dict) or not {"type", "text", "minute"} <= fields.keys() <= {*Entry.__struct_fields__}:
        raise error
    if any(not isinstance(fields.get(name, 0), int) for name in _GIVEN):
        raise error
    values = {name: _value(Entry, name, value) for name, value in fields.items()}
    if isinstance(items := values.get("items"), list):
        values["items"] = tuple(map(_item, items))
    return UnreadableEntry(**values)


def why_unreadable(entry: Entry) -> str:
    """Return what is wrong with an entry; "" for one that can be read."""
    if not isinstance(entry, UnreadableEntry):
        return ""
    try:
        msgspec.convert(msgspec.to_builtins(entry), Entry)
    except msgspec.ValidationError as error:
        return str(error)[:_SAID]
    return "its values are those of an entry"


def unreadable(streams: Iterable[Stream]) -> Iterator[LeftOut]:
    """Yield the entries of these streams that cannot be read."""
    for stream in streams:
        for number, entry in stream.entries.items():
            if why := why_unreadable(entry):
                yield LeftOut(stream.owner, number, why)


def leave_out(stream: Stream, numbers: Iterable[int], tick: int) -> None:
    """Remove entries from a stream, for good."""
    gone = set(numbers)
    for number, record in list(stream.archived.items()):
        if record.into in gone:
            stream.forget_target(number)
    for number in sorted(gone):
        if stream.is_live(number):
            stream.archive(number, tick)
        stream.delete((number,))


def _value(struct: type[msgspec.Struct], name: str, value: Any) -> Any:
    wanted = next(field.type for field in msgspec.structs.fields(struct) if field.name == name)
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        return value


def _item(fields: Any) -> Any:
    try:
        return msgspec.convert(fields, PlanItem)
    except msgspec.ValidationError:
        known = isinstance(fields, dict) and {"id", "description"} <= fields.keys() <= {*PlanItem.__struct_fields__}
        return (
            UnreadableItem(**{name: _value(PlanItem, name, value) for name, value in fields.items()})
            if known
            else fields
        )
