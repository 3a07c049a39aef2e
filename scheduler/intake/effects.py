"""Validate the effects of kinds, models' answers and hosts before a host commits them.

Hosts, workers, replays and reports read a committed effect for as long as its run exists. A single unreadable effect
would make the run unusable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, get_args

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    ForgetWaiting,
    MarkAccessed,
    Rate,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    TakeWaiting,
    Tell,
)
from cogitate.memory.entry import MAX_TEXT, Entry, PlanItem, format_character
from cogitate.memory.errors import quoted
from cogitate.memory.host_code import Raised, captured
from cogitate.memory.language.hidden_characters import is_blank
from cogitate.scheduler.intake.checks import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_LABEL,
    MAX_PARAMS,
    InputError,
    check_owner,
    depth,
    encode,
    reason,
)

MAX_EFFECTS = 1_000  # of one job
MAX_BYTES = 2_000_000  # of JSON, for all effects of one job
MAX_SUMMARY = 400_000  # characters of a long-term summary; the owner's token limit usually keeps it shorter
MAX_NUMBERS = 100_000  # entries that one effect may name
MAX_ITEMS = 200  # of a plan

_EFFECTS = typed_json.decoder(tuple[Effect, ...])
_CLASSES = get_args(Effect)
_UNREADABLE = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)


def check_effects(effects: object) -> tuple[Effect, ...]:
    """Return effects as the journal and the workers decode them, so all processes hold the same values."""
    checked = captured(_as_read, effects)
    if type(checked) is not Raised:
        return checked
    if isinstance(checked.error, _Refusal):
        raise InputError(str(checked.error)) from checked.error.__cause__
    # Without the error's text, which may quote memories.
    raise InputError(f"{type(checked.error).__name__} was raised while the effects were checked")


class _Refusal(InputError):
    """A refusal by this module, as distinct from an error that a foreign value's own code raises."""


def _as_read(effects: object) -> tuple[Effect, ...]:
    """Return valid effects as readers will decode them, without values of foreign classes."""
    items: tuple[Any, ...]
    if issubclass(type(effects), tuple):
        items = tuple(tuple.__iter__(effects))  # type: ignore[arg-type]  # past the class's own iterator
    elif issubclass(type(effects), list):
        items = tuple(list.__iter__(effects))  # type: ignore[arg-type]
    elif issubclass(type(effects), _CLASSES):
        items = (effects,)  # a single effect instead of a tuple
    else:
        raise _Refusal(f"{type(effects).__name__} is not a tuple of effects; an empty one changes nothing")
    if not items:
        return ()
    if len(items) > MAX_EFFECTS:
        raise _Refusal(f"there are {len(items)} effects, at most {MAX_EFFECTS} fit")
    for index, effect in enumerate(items):
        if not issubclass(type(effect), _CLASSES):
            raise _Refusal(f"{_named(items, index)}: that is not an effect such as Append")
    try:
        raw = encode(items)
        checked = _EFFECTS.decode(raw)
    except _UNREADABLE as error:
        raise _Refusal(_unreadable(items, error)) from None
    if len(raw) > MAX_BYTES:
        raise _Refusal(f"the effects have {len(raw)} bytes of JSON, at most {MAX_BYTES} fit")
    for index, (given, read) in enumerate(zip(items, checked, strict=True)):
        if isinstance(given, Tell) and isinstance(read, Tell) and read.data != given.data:  # JSON turns NaN into None
            wrong = _no_json(given.data)
            if wrong:
                raise _Refusal(f"{_named(items, index)}: {wrong}")
    check_bounds(checked)
    return checked


def check_effect(effect: Effect) -> Effect:
    """Return the only effect of a job, checked as `check_effects` does."""
    return check_effects((effect,))[0]


def check_bounds(effects: tuple[Effect, ...]) -> None:
    """Check the values of effects whose types are known to be right, such as those of a decoded result."""
    for index, effect in enumerate(effects):
        if wrong := _wrong_owner(effect.owner) or _CHECKS[type(effect)](effect):
            raise _Refusal(f"{_named(effects, index)}: {wrong}")


def _named(effects: tuple[Any, ...], index: int) -> str:
    effect = effects[index]
    owner = effect.owner if type(effect) in _CLASSES else "?"  # a foreign class may raise anything
    which = f"effect {index + 1} of {len(effects)}" if len(effects) > 1 else "effect"
    return f"{which} for {quoted(owner)} ({type(effect).__name__})"


def _unreadable(effects: tuple[Any, ...], error: Exception) -> str:
    """Return the name and the fault of the first unreadable effect."""
    for index, effect in enumerate(effects):
        try:
            typed_json.decode(encode(effect), Effect)
        except _UNREADABLE as alone:
            return f"{_named(effects, index)}: {reason(alone)}"
    return reason(error)


@lru_cache(maxsize=4_096)  # the same owners recur
def _wrong_owner(owner: str) -> str:
    try:
        check_owner(owner)
    except InputError as error:
        return str(error)
    return ""


# -- checks of values: each returns the fault, or "" -----------------------------------------


def wrong_entry(entry: Entry) -> str:
    """Return the fault in the values of an entry; "" if it has none."""
    if not 0 <= entry.importance <= 10:
        return f"importance {entry.importance} is not from 1 to 10, or 0 for not rated"
    return (
        _text("text", entry.text)
        or _number("minute", entry.minute)
        or (_number("valid_until", entry.valid_until) if entry.valid_until else "")
        or (_number("since_minute", entry.since_minute) if entry.since_minute else "")
        or (_number("since_number", entry.since_number) if entry.since_number else "")
        or (_numbers("evidence", entry.evidence) if entry.evidence else "")
        or _names(entry)
        or (_items(entry.items) if entry.items else "")
    )


def _names(entry: Entry) -> str:
    if not (entry.location or entry.source_id or entry.quest_id or entry.encounter_id or entry.subjects) and not (
        entry.keywords or entry.tags
    ):
        return ""
    for field, name in (
        ("location", entry.location),
        ("source_id", entry.source_id),
        ("quest_id", entry.quest_id),
        ("encounter_id", entry.encounter_id),
    ):
        if wrong := _long(field, name):
            return wrong
    for field, names in (("subjects", entry.subjects), ("keywords", entry.keywords), ("tags", entry.tags)):
        if len(names) > MAX_NUMBERS:
            return f"{field} has {len(names)} values, at most {MAX_NUMBERS} fit"
        for name in names:
            if wrong := _long(field, name):
                return wrong
    return ""


def _items(items: tuple[PlanItem, ...]) -> str:
    if len(items) > MAX_ITEMS:
        return f"there are {len(items)} items, at most {MAX_ITEMS} fit"
    if len({item.id for item in items}) < len(items):
        return "two items have the same id"
    for item in items:
        if not 1 <= item.priority <= 5:
            return f"priority {item.priority} of an item is not from 1 to 5"
        wrong = (
            _text("id of an item", item.id, MAX_LABEL)
            or _text("description of an item", item.description)
            or _number("minute of an item", item.minute or 0)
            or _long("location of an item", item.location or "")
        )
        if wrong:
            return wrong
    return ""


def _summary(effect: ReplaceSummary) -> str:
    return _long("text", effect.text, MAX_SUMMARY) or _number("version", effect.version) or _number("cut", effect.cut)


def _character(effect: SetCharacter) -> str:
    return _long("character", format_character(effect.character), MAX_TEXT) or _number("cut", effect.cut)


def _cursor(effect: AdvanceCursor) -> str:
    return (
        _text("name", effect.name, MAX_LABEL)
        or _number("start", effect.start)
        or _number("end", effect.end)
        or _numbers("shown", effect.shown or ())
    )


def _counter(effect: SetCounter) -> str:
    if not -MAX_INTEGER <= effect.value <= MAX_INTEGER:
        return f"value {effect.value} is not within {MAX_INTEGER} of 0"
    return _text("name", effect.name, MAX_LABEL)


def _rate(effect: Rate) -> str:
    if len(effect.ratings) != len(effect.numbers):
        return f"there are {len(effect.ratings)} ratings for {len(effect.numbers)} numbers"
    for rating in effect.ratings:
        if not 1 <= rating <= 10:
            return f"rating {rating} is not from 1 to 10"
    return _numbers("numbers", effect.numbers)


def _wrong_data(data: object) -> str:
    text = msgspec.json.encode(data)
    if len(text) > MAX_PARAMS:
        return f"data have {len(text)} bytes of JSON, at most {MAX_PARAMS} fit"
    deep = depth(data) if text.count(b"[") + text.count(b"{") > MAX_DEPTH else 0
    return f"data are nested {deep} deep, at most {MAX_DEPTH}" if deep > MAX_DEPTH else ""


def _no_json(data: object) -> str:
    try:
        json.dumps(data, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"data must be JSON values: {reason(error)}"
    return ""


def _text(field: str, text: str, most: int = MAX_TEXT) -> str:
    return _long(field, text, most) or (f"{field} is blank" if is_blank(text) else "")


def _long(field: str, text: str, most: int = MAX_LABEL) -> str:
    return f"{field} has {len(text)} characters, at most {most} fit" if len(text) > most else ""


def _number(field: str, number: int) -> str:
    return "" if 0 <= number <= MAX_INTEGER else f"{field} {number} is not from 0 to {MAX_INTEGER}"


def _numbers(field: str, numbers: Iterable[int]) -> str:
    named = tuple(numbers)
    if len(named) > MAX_NUMBERS:
        return f"{field} names {len(named)} entries, at most {MAX_NUMBERS} fit"
    if named and not (min(named) >= 1 and max(named) <= MAX_INTEGER):
        wrong = next(number for number in named if not 1 <= number <= MAX_INTEGER)
        return f"{wrong} in {field} is not the number of an entry (1, 2, 3, …)"
    return ""


_CHECKS: dict[type, Callable[[Any], str]] = {
    Append: lambda e: _number("replaces", e.replaces) or _number("cut", e.cut) or wrong_entry(e.entry),
    Archive: lambda e: _numbers("numbers", e.numbers) or _numbers("shown", e.shown or ()) or _number("lost", e.lost),
    ReplaceSummary: _summary,
    TakeWaiting: lambda e: _number("count", e.count),
    ForgetWaiting: lambda e: _number("count", e.count) or _number("start", e.start),
    SetCharacter: _character,
    SetPlanStatus: lambda e: _text("item", e.item, MAX_LABEL),
    AdvanceCursor: _cursor,
    SetCounter: _counter,
    MarkAccessed: lambda e: _numbers("numbers", e.numbers) or _number("minute", e.minute),
    Rate: _rate,
    Tell: lambda e: _text("topic", e.topic, MAX_LABEL) or _wrong_data(e.data),
}
