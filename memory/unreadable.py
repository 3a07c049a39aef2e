"""Unreadable values: entries, heads and marks with values outside their types, such as an invented entry type.

Custom kinds could write them in versions whose loop did not check the effects of kinds. Readers of a run skip and
report them; only a replay of the journal holds them, as the host that wrote them did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry, Head, Marks, PlanItem, PlanStatus
from cogitate.memory.stream import Stream

_ENTRY = typed_json.decoder(Entry)
_HEAD = typed_json.decoder(Head)
_MARKS = typed_json.decoder(Marks)
_LOOSE = ("counters", "plan_status")  # fields of a head whose values effects set one by one
_STATUSES = frozenset(get_args(PlanStatus))
_EFFECTS: dict[Any, Any] = {struct.__struct_config__.tag: struct for struct in get_args(Effect) if struct is not Append}
_GIVEN = ("number", "tick", "rated")  # set by the host, not by a kind
_MAX_REASON = 200  # characters


class UnreadableItem(PlanItem, frozen=True, kw_only=True, omit_defaults=True):
    """A plan item with at least one invalid value."""


class UnreadableEntry(Entry, frozen=True, kw_only=True, omit_defaults=True):
    """An entry with at least one invalid value."""


class LeftOut(NamedTuple):
    """An entry that cannot be read, or, with number 0, a value of the head or of marks."""

    owner: str
    number: int
    why: str

    def __str__(self) -> str:
        what = f"entry {self.number}" if self.number else "a value"
        return f"{what} of {self.owner} cannot be read and is left out: {self.why}"


def read_entry(raw: bytes | msgspec.Raw) -> Entry:
    """Return an entry from its JSON; an `UnreadableEntry` when only values that a kind sets are wrong.

    Raises:
        ValueError: if it is not an entry.
    """
    try:
        return _ENTRY.decode(raw)
    except msgspec.ValidationError as error:
        return as_it_is(typed_json.decode(raw), error)


def as_it_is(fields: Any, error: msgspec.ValidationError) -> UnreadableEntry:
    """Return an entry with its stored values, valid or not.

    Args:
        error: the error of the strict decoder.

    Raises:
        ValueError: that error, if the fields are not those of an entry.
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
    """Return the fault of an entry; "" for a readable one."""
    if not isinstance(entry, UnreadableEntry):
        return ""
    try:
        typed_json.convert(msgspec.to_builtins(entry), Entry)
    except msgspec.ValidationError as error:
        return str(error)[:_MAX_REASON]
    return "all its values are valid"


def unreadable(streams: Iterable[Stream]) -> Iterator[LeftOut]:
    """Yield the entries of these streams that cannot be read."""
    for stream in streams:
        for number, entry in stream.entries.items():
            if why := why_unreadable(entry):
                yield LeftOut(stream.owner, number, why)
        if wrong := _wrong_values(stream):
            yield LeftOut(stream.owner, 0, ", ".join(wrong)[:_MAX_REASON])


def leave_out(stream: Stream, numbers: Iterable[int], tick: int) -> None:
    """Delete entries from a stream; number 0 stands for the unreadable values of its head and marks."""
    gone = set(numbers)
    if 0 in gone:
        _mend(stream)
        gone.remove(0)
    for number, record in list(stream.archived.items()):
        if record.into in gone:
            stream.forget_target(number)
    for number in sorted(gone):
        if stream.is_live(number):
            stream.archive(number, tick)
        stream.delete((number,))


def read_head(raw: bytes | msgspec.Raw) -> Head:
    """Return a head from its JSON; its counters and plan statuses may have wrong values.

    Raises:
        ValueError: if it is not a head.
    """
    try:
        return _HEAD.decode(raw)
    except msgspec.ValidationError as error:
        fields = _object(raw, error)
        wrong = {name: fields.pop(name, {}) for name in _LOOSE}
        if not all(isinstance(values, dict) for values in wrong.values()):
            raise
        return msgspec.structs.replace(typed_json.convert(fields, Head), **wrong)


def read_marks(raw: bytes | msgspec.Raw) -> Marks:
    """Return marks from their JSON; any of them may have a wrong value.

    Raises:
        ValueError: if the fields are not those of marks.
    """
    try:
        return _MARKS.decode(raw)
    except msgspec.ValidationError as error:
        fields = _object(raw, error)
        if not fields.keys() <= {*Marks.__struct_fields__}:
            raise
        return Marks(**fields)


def effect_as_it_is(fields: Any, error: msgspec.ValidationError) -> Effect:
    """Return an effect other than `Append` with its stored values, valid or not.

    Args:
        error: the error of the strict decoder.

    Raises:
        ValueError: that error, if the fields are not those of an effect.
    """
    given = dict(fields) if isinstance(fields, dict) else {}
    struct = _EFFECTS.get(given.pop("type", None))
    if struct is None or not given.keys() <= {*struct.__struct_fields__}:
        raise error
    try:
        effect: Effect = struct(**{name: _value(struct, name, value) for name, value in given.items()})
    except TypeError:
        raise error from None
    return effect


def _object(raw: bytes | msgspec.Raw, error: msgspec.ValidationError) -> dict[str, Any]:
    """Return the fields of a JSON object; raise `error` for any other JSON."""
    fields = typed_json.decode(raw)
    if not isinstance(fields, dict):
        raise error
    return fields


def _mend(stream: Stream) -> None:
    """Delete the unreadable values of head and marks."""
    head = stream.head
    for name, wrong in (("counters", _wrong_counters(head)), ("plan_status", _wrong_statuses(head))):
        for key in wrong:
            del getattr(head, name)[key]
            stream.note_head()
    for number in _wrong_marks(stream):
        stream.forget_marks(number)


def _wrong_values(stream: Stream) -> list[str]:
    return [
        *(f"counter {name!a} is {stream.head.counters[name]!a}" for name in _wrong_counters(stream.head)),
        *(f"plan item {name!a} is {stream.head.plan_status[name]!a}" for name in _wrong_statuses(stream.head)),
        *(f"marks of entry {number}" for number in _wrong_marks(stream)),
    ]


def _wrong_counters(head: Head) -> list[str]:
    return [name for name, value in head.counters.items() if type(value) is not int]


def _wrong_statuses(head: Head) -> list[str]:
    return [item for item, status in head.plan_status.items() if status not in _STATUSES]


def _wrong_marks(stream: Stream) -> list[int]:
    return [n for n, marks in stream.marks.items() if any(type(value) is not int for value in _values(marks))]


def _values(marks: Marks) -> tuple[Any, ...]:
    return (marks.accesses, marks.last_accessed, marks.repeats, marks.last_repeat)


def _value(struct: type[msgspec.Struct], name: str, value: Any) -> Any:
    wanted = next(field.type for field in msgspec.structs.fields(struct) if field.name == name)
    try:
        return typed_json.convert(value, wanted)
    except msgspec.ValidationError:
        return value


def _item(fields: Any) -> Any:
    try:
        return typed_json.convert(fields, PlanItem)
    except msgspec.ValidationError:
        known = isinstance(fields, dict) and {"id", "description"} <= fields.keys() <= {*PlanItem.__struct_fields__}
        return (
            UnreadableItem(**{name: _value(PlanItem, name, value) for name, value in fields.items()})
            if known
            else fields
        )
