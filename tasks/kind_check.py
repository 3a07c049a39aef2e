"""The declaration of a kind, checked when it is registered: everything that is wrong with it, in one error."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TypeGuard, cast, get_args

import msgspec

from cogitate.memory.errors import ENDS_PROCESS, CogitateError
from cogitate.tasks.job import LATENCIES, MAX_LATENCY, is_latency
from cogitate.tasks.kind import Kind, OnDenied

MAX_KIND_NAME = 64  # characters
MAX_ORDER = 1_000_000
MAX_TOKENS = 10_000_000

MAX_KEY = 500  # characters of a name in a brief

_DECLARED = (
    "name",
    "order",
    "latency",
    "latency_least",
    "latency_most",
    "on_denied",
    "prompt_cap",
    "output_cap",
    "brief_keys",
    "params",
)
_NAME = re.compile(r"[^\W\d_][\w.-]*")  # it is part of job ids, keys, queues and the names of limits
#: A kind's queue has its name: these are the names of what Celery and its transport keep beside queues.
_RESERVED = re.compile(r"(celery|celeryev|unacked|unacked_index|unacked_mutex)|(celery|celeryev)\..*|.*\.pidbox")

#: Each method, with the arguments that it is called with.
_METHODS = {
    "due": ("moment",),
    "wake": ("moment",),
    "prompt": ("case", "memory_share"),
    "effects": ("case", "answer", "used"),
    "heuristic": ("case",),
}
_MAY_HAVE = {"halve": ("case",), "heeds": ("entry", "stream", "world", "minute")}
_MISSING = object()


class KindError(CogitateError, ValueError):
    """A kind of job is declared wrongly or breaks a rule for kinds; the message names it and says what to correct."""


def check_kind(kind: object) -> None:
    """Check what a kind declares.

    Raises:
        KindError: naming everything that is missing or wrong.
    """
    if kind is None or isinstance(kind, type):
        shown = "None" if kind is None else f"the class {kind.__name__}"
        called = "register(Hum())" if kind is None else f"register({kind.__name__}())"
        raise KindError(f"{shown} is no kind of job: register an instance of a class, as in {called}")
    if wrong := faults_of(kind):
        raise KindError(f"the kind {_called(kind)} cannot be registered: {'; '.join(wrong)}")


def faults_of(kind: object) -> list[str]:
    """Return everything that is missing or wrong in what a kind declares."""
    return [*_wrong_values(kind), *_wrong_methods(kind)]


def taken_once(kind: Kind) -> Kind:
    """Return a kind that was checked, as one that declares the same whenever it is read.

    That is the kind itself, unless something it declares is computed, as a property is: it might be another later.

    Raises:
        KindError: when it is another already, and wrong.
    """
    found = {field: value for field in _DECLARED if (value := _value(kind, field)) is not _MISSING}
    if all(inspect.getattr_static(kind, field, _MISSING) is value for field, value in found.items()):
        return kind
    methods = {name: getattr(kind, name) for name in (*_METHODS, *_MAY_HAVE) if _value(kind, name) is not _MISSING}
    taken = SimpleNamespace(**found, **methods)
    check_kind(taken)
    return cast(Kind, taken)


def _called(kind: object) -> str:
    name = _value(kind, "name")
    return f"{name[:MAX_KIND_NAME]!a}" if isinstance(name, str) and name else f"of class {type(kind).__name__}"


def _wrong_values(kind: object) -> Iterator[str]:
    name = _value(kind, "name")
    if name is _MISSING:
        yield "it has no name"
    elif type(name) is not str and issubclass(type(name), str):
        yield f"name is a {type(name).__name__}: give a plain string, as str(…) gives"
    elif not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_KIND_NAME:
        yield (
            f"name {_shown(name)} is none: use at most {MAX_KIND_NAME} letters, digits, '_', '-' and '.', "
            "beginning with a letter"
        )
    elif _RESERVED.fullmatch(name):
        yield f"name {_shown(name)} is reserved for a queue of Celery's"
    for field, least, most in (
        ("order", -MAX_ORDER, MAX_ORDER),
        ("latency", 1, MAX_LATENCY),
        ("prompt_cap", 0, MAX_TOKENS),
        ("output_cap", 0, MAX_TOKENS),
    ):
        value = _value(kind, field)
        if value is _MISSING:
            yield f"it has no {field}"
        elif field == "latency" and isinstance(value, str):
            if not is_latency(value):
                yield f"latency {_shown(value)} is none: give {LATENCIES}"
        elif type(value) is not int or not least <= value <= most:
            yield f"{field} {_shown(value)} is not {_kind_of_number(value)} from {least} to {most}"
    bounds = {field: _value(kind, field) for field in ("latency_least", "latency_most")}
    for field, value in bounds.items():
        if value is not _MISSING and not _is_latency(value):
            yield f"{field} {_shown(value)} is not {_kind_of_number(value)} from 1 to {MAX_LATENCY}"
    soonest, latest = bounds.values()
    if _is_latency(soonest) and _is_latency(latest) and soonest > latest:
        yield f"latency_least {_shown(soonest)} is above latency_most {_shown(latest)}"
    denied = _value(kind, "on_denied")
    if denied is _MISSING:
        yield "it has no on_denied"
    elif not isinstance(denied, str) or denied not in get_args(OnDenied):
        yield f"on_denied {_shown(denied)} is not {', '.join(map(repr, get_args(OnDenied)))}"
    yield from _wrong_brief_keys(_value(kind, "brief_keys"))
    params = _value(kind, "params")
    if params is not _MISSING and params is not None and not _is_struct(params):
        yield f"params {_shown(params)} is not a class of msgspec.Struct, which says what a host may give"
    for field in ("brief_keys", "params", "latency_least", "latency_most"):
        if _value(kind, field) is _MISSING and hasattr(type(kind), field):
            yield f"{field} cannot be read"
    asks, room = _value(kind, "output_cap"), _value(kind, "prompt_cap")
    if type(asks) is int and asks > 0 and room == 0:
        yield f"output_cap {_shown(asks)} lets it ask a model, and prompt_cap 0 leaves no room for a prompt"


def _is_latency(value: object) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= MAX_LATENCY


def _kind_of_number(value: object) -> str:
    """Return what is wanted: to whoever gives a number of a class of their own, that it must be plain."""
    derived = issubclass(type(value), int) and type(value) not in (int, bool)
    return "a plain integer, as int(…) gives," if derived else "an integer"


def _wrong_brief_keys(keys: object) -> Iterator[str]:
    if keys is _MISSING:
        return
    if type(keys) not in (tuple, list, set, frozenset):
        yield f"brief_keys {_shown(keys)} is not a tuple of the names that it reads of a brief, such as ('mood',)"
        return
    assert isinstance(keys, tuple | list | set | frozenset)
    for key in keys:
        if type(key) is not str or not key.isprintable() or not 0 < len(key) <= MAX_KEY:
            yield f"brief_keys has {_shown(key)}: give names of 1 to {MAX_KEY} printable characters"


def _is_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, msgspec.Struct)


def _wrong_methods(kind: object) -> Iterator[str]:
    for name, arguments in (_METHODS | _MAY_HAVE).items():
        method = _value(kind, name)
        call = f"{name}({', '.join(arguments)})"
        if method is _MISSING:
            if name in _METHODS:
                yield f"it has no method {call}"
        elif not callable(method):
            yield f"{name} is a {type(method).__name__}, not the method {call}"
        elif inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            yield f"{name} is async, and nobody would await it: make it an ordinary method"
        elif inspect.isgeneratorfunction(method) and name != "due":
            yield f"{name} yields: return {_RETURNS[name]}"
        elif not takes(method, len(arguments)):
            yield f"{name} cannot be called as {call}"
        elif is_out_of_order(method, arguments):
            yield f"{name} has its parameters in another order: write {call}"


_RETURNS = {
    "wake": "a tick or None",
    "prompt": "a Prompt",
    "effects": "a tuple of effects",
    "heuristic": "a tuple of effects",
    "halve": "a tuple of effects",
}


def takes(method: object, count: int) -> bool:
    """Return whether a method can be called with so many arguments, as far as it says."""
    try:
        signature = inspect.signature(method)  # type: ignore[arg-type]  # known to be callable
    except (TypeError, ValueError):
        return True  # it does not say
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def is_out_of_order(method: object, arguments: Sequence[str]) -> bool:
    """Return whether a method has one of these names at another's place: its arguments are given by position."""
    try:
        names = list(inspect.signature(method).parameters)  # type: ignore[arg-type]  # known to be callable
    except (TypeError, ValueError):
        return False  # it does not say
    return any(found != name and found in arguments for found, name in zip(names, arguments, strict=False))


def _value(kind: object, name: str) -> object:
    try:
        return getattr(kind, name, _MISSING)
    except ENDS_PROCESS:
        raise
    except BaseException:  # a property of somebody's own
        return _MISSING


def _shown(value: object) -> str:
    try:
        text = ascii(value)
    except ENDS_PROCESS:
        raise
    except BaseException:  # too deep, or a __repr__ of somebody's own
        return f"of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"
