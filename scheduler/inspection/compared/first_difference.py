"""Find the cause of a difference between two runs: the first change that a tick applied to only one of them.

Up to that tick both journals are equal, so the first difference is an input, a setting, an operator's request, a
model's answer, or the time at which an answer arrived. All other differences follow from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
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
    "lateness",  # an answer was in time in one run only, or a call failed
    "code",  # the same job got another result without a model: its kind or its parameters differ
    "world",  # the host applied another effect, such as a plan item's status
    "request",  # a job was requested in one run only
    "admission",  # the same request got another decision
    "cadence",  # a kind was postponed, or its cadence stepped
    "memory",  # a boundary cut, rated, left out or deleted other entries
]
T = TypeVar("T")
LONGEST = 160  # characters of a quoted text


class FirstDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference between two runs: what one tick applied to each of them."""

    tick: int
    minute: int  # game time, total minutes
    cause: Cause
    owner: str = ""  # "": it concerns no particular owner
    a: str = ""  # the change in run A, in words; "": none
    b: str = ""


class _Part(NamedTuple):
    """One change that a tick applied."""

    owner: str
    what: object  # the change itself; equal in both runs if it does not differ
    words: str
    cause: Cause
    repeats: int = 0  # number of the entry that an observation repeats


class _Fact(NamedTuple):
    """A constant of a run. The constant `limits` holds settings of several names."""

    name: str
    value: object

    def as_settings(self) -> Mapping[str, Any]:
        """Return the settings in the constant, by name."""
        value = msgspec.to_builtins(self.value)
        return value if self.name == "limits" else {self.name: value}


def first_difference(
    a: ReadLine,
    b: ReadLine,
    settings: tuple[Mapping[str, Any], Mapping[str, Any]],
    profiles: Mapping[str, Profile],
    text_of: Callable[[str, int], str],
) -> FirstDifference:
    """Return the first difference between two lines of one tick, in the order in which a tick applies its parts.

    Args:
        settings: of each run at its creation. If a decision of the engine differs and the settings differ too, the
            settings are the cause.
        profiles: by owner, before the tick.
        text_of: returns the text of an owner's entry, given its number.
    """
    core = a.core
    for parts in _PARTS:
        pair = next_unequal(list(parts(a)), list(parts(b)), _identity)  # unpacked here, mypy would infer T as optional
        of_a, of_b = pair
        first = of_a or of_b
        if first is None:
            continue
        cause, values = _cause(first, of_a, of_b), ("", "")
        words = _in_words(of_a, text_of), _in_words(of_b, text_of)
        before = profiles.get(first.owner)
        both = [part.what if part is not None else before for part in pair]
        if all(isinstance(profile, Profile) for profile in both):
            values = _differing_values(msgspec.to_builtins(both[0]), msgspec.to_builtins(both[1]))
        if isinstance(both[0], _Fact) and isinstance(both[1], _Fact) and both[0].name == both[1].name:
            words = _differing_values(both[0].as_settings(), both[1].as_settings())
        if cause in ("request", "admission", "cadence", "memory") and changed(*settings):
            cause, values = "setting", _differing_values(*settings)
        return FirstDifference(
            tick=core.tick,
            minute=core.minute,
            cause=cause,
            owner=first.owner,
            a=": ".join(filter(None, (values[0], words[0]))),
            b=": ".join(filter(None, (values[1], words[1]))),
        )
    raise ValueError(f"tick {core.tick}: the lines do not differ")


def _in_words(part: _Part | None, text_of: Callable[[str, int], str]) -> str:
    if part is None:
        return ""
    text = text_of(part.owner, part.repeats) if part.repeats else ""
    return part.words + (f': "{shortened(text)}"' if text else "")


def _identity(part: _Part) -> object:
    return part.owner, part.what


def next_unequal(a: Sequence[T], b: Sequence[T], identity: Callable[[T], object]) -> tuple[T | None, T | None]:
    """Return the first differing pair of two sequences; None stands for an element that one of them lacks."""
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if identity(x) != identity(y)), None)
    if at is None:
        at = min(len(a), len(b))
        return (a[at] if len(a) > at else None), (b[at] if len(b) > at else None)
    of_a, of_b = a[at], b[at]
    a_comes_in_b = any(identity(of_a) == identity(later) for later in b[at:])
    b_comes_in_a = any(identity(of_b) == identity(later) for later in a[at:])
    if a_comes_in_b and not b_comes_in_a:
        return None, of_b
    if b_comes_in_a and not a_comes_in_b:
        return of_a, None
    return of_a, of_b


def changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ."""
    return [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]


def shortened(text: str) -> str:
    """Return a text in one line, truncated to the length that a message quotes."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"


def describe_entry(entry: Entry) -> str:
    """Describe an entry: `observation "Bob waves."`."""
    return f'{"provisional " if entry.provisional else ""}{entry.type} "{shortened(entry.text)}"'


def describe_change(change: Change) -> str:
    """Describe a change of a fork."""
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
    """Describe an effect by its text, or by its name and fields."""
    match effect:
        case Append():
            return describe_entry(effect.entry)
        case Tell():
            return f"{effect.topic} ({shortened(told_data(effect.data))})"
        case ReplaceSummary():
            return f'long-term summary "{shortened(effect.text)}"'
    fields = {name: value for name, value in msgspec.to_builtins(effect).items() if name not in ("type", "owner")}
    return f"{effect.__struct_config__.tag} {shortened(json.dumps(fields, ensure_ascii=False, sort_keys=True))}"


def _as_json(value: object) -> str:
    return shortened(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, sort_keys=True))


def told_data(data: Mapping[str, Any]) -> str:
    """Return the content of a message to the world, such as "doing: bake bread, location: bakery"."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in sorted(data.items())
    }
    return ", ".join(f"{name}: {text}" for name, text in texts.items())


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
        effects = "; ".join(map(describe_effect, ended.effects)) or "no effects"
        words = f"job {ended.key.text()} {ended.end} ({how}): {effects}"
        cause: Cause = "model" if note.source in ("llm", "cached") else "code"
        yield _Part(ended.key.owner, _End(ended, note), words, cause)


class _End:
    """The end of a job. Two ends are equal if the digest's part of them, `ended`, is."""

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
        return "lateness"  # a job ended at this tick in one run only
    if not (isinstance(one.what, _End) and isinstance(other.what, _End)) or one.what.ended.key != other.what.ended.key:
        return "lateness"  # the same jobs were open, and a different one ended
    if (one.what.ended.reason, one.what.note.failure) != (other.what.ended.reason, other.what.note.failure):
        return "lateness"
    return "model" if "model" in (one.cause, other.cause) else "code"


def _world_effects(line: ReadLine) -> Iterable[_Part]:
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
        words = f"observed a repeat of entry {repeat.number}"
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
        yield _Part("", _Fact(name, value), f"{name} = {_as_json(value)}", cause)


#: In the order in which a tick applies its parts. Together they read every field of a core, because lines may differ in
#: a single field.
_PARTS: tuple[Callable[[ReadLine], Iterable[_Part]], ...] = (
    _unread,
    _owners,
    _facts,
    _minute,
    lambda line: _ends(zip(line.core.ended, line.notes.ended, strict=True)),
    lambda line: _ends(line.later_ends),
    _world_effects,
    _observed,
    _rated,
    _controls,
    _cadence,
    _requested,
    _decided,
)


def _differing_values(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, str]:
    """Return the values that differ, as "name = value" of each side; of tables only the differing keys."""
    leaves = [(name, *_contrasted(one, other)) for name, one, other in _leaves(a, b)]
    return (
        ", ".join(f"{name} = {one}" for name, one, _ in leaves),
        ", ".join(f"{name} = {other}" for name, _, other in leaves),
    )


def _contrasted(a: object, b: object) -> tuple[str, str]:
    """Return two different values as JSON, shortened so that their first difference shows."""
    texts = [json.dumps(msgspec.to_builtins(value), ensure_ascii=False, sort_keys=True) for value in (a, b)]
    if max(map(len, texts)) > LONGEST:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
        if (cut := same - LONGEST // 4) > 0:
            texts = [f"…{text[cut:]}" for text in texts]
    return shortened(texts[0]), shortened(texts[1])


def _leaves(a: Mapping[str, Any], b: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, object, object]]:
    for name in changed(a, b):
        of_a, of_b = a.get(name), b.get(name)
        if isinstance(of_a, Mapping) and isinstance(of_b, Mapping):
            yield from _leaves(of_a, of_b, f"{path}{name}.")
        else:
            yield f"{path}{name}", of_a, of_b
