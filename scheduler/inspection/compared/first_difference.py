"""The cause of a difference between two runs: the first thing that a tick applied to one and not to the other.

Up to that tick both journals are equal, so what differs first is an input, a setting, a request of an operator, an
answer of a model, or the time at which it arrived. All else follows from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from cogitate.memory.effects import Append, Effect, ReplaceSummary, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.controls import CancelJobs, Control, Retry, SetCadence, SetLimit, SetMode
from cogitate.scheduler.journal.changes import (
    AddEvent,
    AddObservation,
    Change,
    DropObservation,
    RewordObservation,
    SetProfile,
    SetSetting,
    SetTemplate,
)
from cogitate.scheduler.journal.lines import Ended, EndNote, ReadLine

Cause = Literal[
    "profile",  # an owner joined, left, or has another profile
    "setting",
    "template",  # of a prompt
    "observation",
    "operator",
    "model",  # the same job got another answer, or from another model
    "lateness",  # an answer was there in time in one run only, or a call failed
    "code",  # the same job got another result without a model: its kind or its parameters differ
    "world",  # the host asked for another effect, such as a plan item's status
    "request",  # a job was requested in one run only
    "admission",  # the same request was decided otherwise
    "cadence",  # a kind was postponed, or its cadence stepped
    "memory",  # a boundary cut, rated, left out or deleted other entries
]
T = TypeVar("T")
LONGEST = 160  # characters of a text that is quoted


class FirstDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference between two runs: what one tick applied to each."""

    tick: int
    minute: int  # game time, total minutes
    cause: Cause
    owner: str = ""  # "" if it concerns no owner alone
    a: str = ""  # in run A, in words; "": nothing
    b: str = ""


class _Part(NamedTuple):
    """A thing that a tick applied."""

    owner: str
    what: object  # equal in both runs if it is the same
    words: str
    cause: Cause
    repeats: int = 0  # number of the entry that it repeats


def first_difference(
    a: ReadLine,
    b: ReadLine,
    settings: tuple[Mapping[str, Any], Mapping[str, Any]],
    profiles: Mapping[str, Profile],
    text_of: Callable[[str, int], str],
) -> FirstDifference:
    """Return what differs first between two lines of one tick, in the order in which a tick applies its parts.

    Args:
        settings: of each run, as it was created. If a decision of the engine differs and so do they, they are the
            cause.
        profiles: of the owners at the tick before.
        text_of: returns the text of an owner's entry, by its number.
    """
    core = a.core
    for parts in _PARTS:
        pair = next_unequal(list(parts(a)), list(parts(b)), _identity)  # a tuple of names would infer T as optional
        one, other = pair
        first = one or other
        if first is None:
            continue
        cause, told = _cause(first, one, other), ("", "")
        before = profiles.get(first.owner)
        both = [part.what if part is not None else before for part in pair]
        if all(isinstance(profile, Profile) for profile in both):
            fields = msgspec.to_builtins(both[0]), msgspec.to_builtins(both[1])
            names = changed(*fields)
            told = _told(names, fields[0]), _told(names, fields[1])
        if cause in ("request", "admission", "cadence", "memory") and (names := changed(*settings)):
            cause, told = "setting", (_told(names, settings[0]), _told(names, settings[1]))
        return FirstDifference(
            tick=core.tick,
            minute=core.minute,
            cause=cause,
            owner=first.owner,
            a=": ".join(filter(None, (told[0], _in_words(one, text_of)))),
            b=": ".join(filter(None, (told[1], _in_words(other, text_of)))),
        )
    raise ValueError(f"tick {core.tick}: the lines do not differ")


def _in_words(part: _Part | None, text_of: Callable[[str, int], str]) -> str:
    if part is None:
        return ""
    text = text_of(part.owner, part.repeats) if part.repeats else ""
    return part.words + (f': "{shortened(text)}"' if text else "")


def _identity(part: _Part) -> object:
    return part.owner, part.what


def next_unequal(a: Sequence[T], b: Sequence[T], same: Callable[[T], object]) -> tuple[T | None, T | None]:
    """Return the first pair of two sequences that differs; None stands for what one of them does not have."""
    rest = next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if same(one) != same(other)), None)
    if rest is None:
        rest = min(len(a), len(b))
        return (a[rest] if len(a) > rest else None), (b[rest] if len(b) > rest else None)
    one, other = a[rest], b[rest]
    one_comes = any(same(one) == same(later) for later in b[rest:])
    other_comes = any(same(other) == same(later) for later in a[rest:])
    if one_comes and not other_comes:
        return None, other
    if other_comes and not one_comes:
        return one, None
    return one, other


def changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ."""
    return [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]


def shortened(text: str) -> str:
    """Return a text in one line, cut to a length that fits a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"


def describe_entry(entry: Entry) -> str:
    """Return such as `observation "Bob waves."`."""
    return f'{"provisional " if entry.provisional else ""}{entry.type} "{shortened(entry.text)}"'


def describe_change(change: Change) -> str:
    """Return a change of a fork in words."""
    match change:
        case SetLimit() | SetCadence():
            return _asked_for(change)
        case SetSetting():
            return f"setting {change.name} = {_as_json(change.value)}"
        case SetTemplate():
            return f"template {change.name}"
        case SetProfile():
            return f"at tick {change.tick:,}: profile of {change.owner}: {_as_json(change.fields)}"
        case AddObservation():
            seen = shortened(str(change.observation.get("text", "")))
            return f'at tick {change.tick:,}: {change.owner} observes "{seen}"'
        case AddEvent():
            return f"at tick {change.tick:,}: event {_as_json(change.event)}"
        case DropObservation():
            who = f"{change.owner} does not observe" if change.owner else "nobody observes"
            return f'at tick {change.tick:,}: {who} "{shortened(change.text)}"'
        case RewordObservation():
            return f'at tick {change.tick:,}: "{shortened(change.text)}" becomes "{shortened(change.to)}"'


def describe_effect(effect: Effect) -> str:
    """Return an effect in words: what it says, or its name and the entries that it concerns."""
    match effect:
        case Append():
            return describe_entry(effect.entry)
        case Tell():
            return f"{effect.topic} ({shortened(told_data(effect.data))})"
        case ReplaceSummary():
            return f'long-term summary "{shortened(effect.text)}"'
    fields = {name: value for name, value in msgspec.to_builtins(effect).items() if name not in ("type", "owner")}
    told = shortened(json.dumps(fields, ensure_ascii=False, sort_keys=True))
    return f"{effect.__struct_config__.tag} {told}"


def _as_json(value: object) -> str:
    return shortened(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, sort_keys=True))


def told_data(data: Mapping[str, Any]) -> str:
    """Return what a message to the world says, such as "doing: bake bread, location: bakery"."""
    told = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in sorted(data.items())
    }
    return ", ".join(f"{name}: {text}" for name, text in told.items())


def _minute(line: ReadLine) -> Iterable[_Part]:
    yield _Part("", line.core.minute, f"the tick is at minute {line.core.minute:,} of the game", "setting")


def _unread(line: ReadLine) -> Iterable[_Part]:
    for owner, numbers in line.core.unread:
        yield _Part(owner, numbers, f"entries {list(numbers)} were unreadable", "memory")


def _owners(line: ReadLine) -> Iterable[_Part]:
    for owner, profile in line.core.joined:
        yield _Part(owner, profile, f"joined as {profile.name}", "profile")
    for owner in line.core.left:
        yield _Part(owner, "left", "left", "profile")
    for owner, profile in line.core.profiled:
        yield _Part(owner, profile, f"profile of {profile.name} changed", "profile")


def _ends(ends: Iterable[tuple[Ended, EndNote]]) -> Iterable[_Part]:
    for ended, note in ends:
        by = f" by {note.model}" if note.model else ""
        how = f"{note.source}{by}" if ended.reason == "none" else f"{ended.reason}, {note.source}{by}"
        said = "; ".join(map(describe_effect, ended.effects)) or "no effects"
        words = f"job {ended.key.text()} {ended.end} ({how}): {said}"
        cause: Cause = "model" if note.source in ("llm", "cached") else "code"
        yield _Part(ended.key.owner, _End(ended, note), words, cause)


class _End:
    """The end of a job; equal if what the digest covers is."""

    def __init__(self, ended: Ended, note: EndNote) -> None:
        self.ended = ended
        self.note = note

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _End) and self.ended == other.ended

    __hash__ = None  # type: ignore[assignment]


def _cause(first: _Part, one: _Part | None, other: _Part | None) -> Cause:
    if not isinstance(first.what, _End):
        return first.cause
    if one is None or other is None:
        return "lateness"  # it ended at this tick in one run only
    if not (isinstance(one.what, _End) and isinstance(other.what, _End)) or one.what.ended.key != other.what.ended.key:
        return "lateness"  # the same jobs were open, and a different one ended
    if (one.what.ended.reason, one.what.note.failure) != (other.what.ended.reason, other.what.note.failure):
        return "lateness"
    return "model" if "model" in (one.cause, other.cause) else "code"


def _asked_of_memory(line: ReadLine) -> Iterable[_Part]:
    for effect in line.core.world_effects:
        yield _Part(effect.owner, effect, describe_effect(effect), "world")


def _observed(line: ReadLine) -> Iterable[_Part]:
    core = line.core
    for owner, entry in (*core.observed, *core.waiting):
        yield _Part(
            owner,
            msgspec.structs.replace(entry, importance=0),
            f"observed {describe_entry(entry).removeprefix('observation ')}",
            "observation",
        )
    for repeat in core.repeated:
        words = f"observed again what entry {repeat.number} says"
        yield _Part(repeat.owner, repeat._replace(importance=0), words, "observation", repeat.number)


def _rated(line: ReadLine) -> Iterable[_Part]:
    core = line.core
    for owner, entry in (*core.observed, *core.waiting):
        yield _Part(
            owner,
            (entry.text, entry.importance),
            f"gave importance {entry.importance} to {describe_entry(entry)}",
            "observation",
        )
    for repeat in core.repeated:
        words = f"gave importance {repeat.importance} to a repeat of entry {repeat.number}"
        yield _Part(repeat.owner, repeat, words, "observation", repeat.number)
    for rated in core.rated:
        yield _Part(rated.owner, rated, f"entry {rated.number} was rated {rated.importance}", "memory")
    for effect in core.cuts:
        yield _Part(effect.owner, effect, f"the boundary cut: {describe_effect(effect)}", "memory")
    for owner, numbers in core.deleted:
        yield _Part(owner, numbers, f"entries {list(numbers)} were deleted", "memory")


def _controls(line: ReadLine) -> Iterable[_Part]:
    for control in line.core.controls:
        owner = control.owner if isinstance(control, Retry) else ""
        yield _Part(owner, control, f"an operator {_asked_for(control)}", "operator")


def _asked_for(control: Control) -> str:
    match control:
        case SetLimit():
            return f"set {control.name} to {'no limit' if control.value is None else f'{control.value:,}'}"
        case SetCadence():
            pinned = {None: "", True: ", pinned", False: ", automatic"}[control.pinned]
            factor = "" if control.factor is None else f" to {control.factor / 1000:g}"
            return f"set the cadence of {control.kind}{factor}{pinned}"
        case SetMode():
            return f"set the mode to {control.mode}"
        case Retry():
            return f"asked for job {control.job} again"
        case CancelJobs():
            return f"cancelled {', '.join(control.jobs[:3])}" + (" and others" if len(control.jobs) > 3 else "")


def _cadence(line: ReadLine) -> Iterable[_Part]:
    if (step := line.core.stepped) is not None:
        words = f"the cadence of {step.kind} went from {step.before / 1000:g} to {step.factor / 1000:g}"
        yield _Part("", step, words, "cadence")
    for postponed in line.core.postponed:
        yield _Part(postponed.owner, postponed, f"{postponed.kind} was postponed", "cadence")


def _decided(line: ReadLine) -> Iterable[_Part]:
    for decided in line.core.decided:
        model = f" for {decided.model}" if decided.model else ""
        due = f", due at tick {decided.due}" if decided.due else ""
        refused = f" ({decided.refused})" if decided.refused else ""
        words = (
            f"job {decided.key.text()} was {_DECISIONS.get(decided.decision, decided.decision)}{model}{due}{refused}"
        )
        yield _Part(decided.key.owner, decided, words, "admission")


_DECISIONS = {"heuristic": "left to its heuristic"}


def _requested(line: ReadLine) -> Iterable[_Part]:
    for decided in line.core.decided:
        yield _Part(decided.key.owner, decided.key, f"job {decided.key.text()} was requested", "request")


def _facts(line: ReadLine) -> Iterable[_Part]:
    facts = line.core.facts
    for name in facts.__struct_fields__ if facts is not None else ():
        value = getattr(facts, name)
        cause: Cause = "template" if name == "templates" else "setting"
        yield _Part("", (name, value), f"{name} = {_as_json(value)}", cause)


#: In the order in which a tick applies them; they read every field of a core, since lines may differ in one alone.
_PARTS: tuple[Callable[[ReadLine], Iterable[_Part]], ...] = (
    _unread,
    _owners,
    _facts,
    _minute,
    lambda line: _ends(zip(line.core.ended, line.notes.ended, strict=True)),
    lambda line: _ends(line.later_ends),
    _asked_of_memory,
    _observed,
    _rated,
    _controls,
    _cadence,
    _requested,
    _decided,
)


def _told(names: Iterable[str], settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {shortened(json.dumps(settings.get(name), ensure_ascii=False))}" for name in names)
