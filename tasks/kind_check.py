"""Checks the fields of a kind at its registration, and reports all their errors at once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import get_args

import msgspec

from cogitate.memory.errors import CogitateError, quoted
from cogitate.tasks.job import LATENCIES, MAX_LATENCY, is_latency
from cogitate.tasks.kind import Kind, OnDenied

MAX_KIND_NAME = 64  # characters
MAX_ORDER = 1_000_000
MAX_TOKENS = 10_000_000
MAX_KEY = 500  # characters of a name in a brief

_UNSET = object()
_INTEGERS = {
    "order": (-MAX_ORDER, MAX_ORDER),
    "latency": (1, MAX_LATENCY),
    "latency_least": (1, MAX_LATENCY),
    "latency_most": (1, MAX_LATENCY),
    "prompt_cap": (0, MAX_TOKENS),
    "output_cap": (0, MAX_TOKENS),
}
_NAME = re.compile(r"[^\W\d_][\w.-]*")  # part of job ids, keys, queues and the names of limits
#: A queue is named after its kind, and Celery and its transport use these names for other keys.
_RESERVED = re.compile(r"(celery|celeryev|unacked|unacked_index|unacked_mutex)|(celery|celeryev)\..*|.*\.pidbox")


class KindError(CogitateError, ValueError):
    """A kind of job is declared wrongly or breaks a rule; the message names the kind and the correction."""


def check_kind(kind: object) -> None:
    """Check that an object is a kind with usable fields.

    Raises:
        KindError: naming everything that is missing or wrong.
    """
    if not isinstance(kind, Kind):
        raise KindError(_how_to_derive(kind))
    if wrong := [*wrong_fields(kind)]:
        name = vars(kind).get("name", getattr(type(kind), "name", None))
        called = quoted(name[:MAX_KIND_NAME]) if isinstance(name, str) and name else f"of class {type(kind).__name__}"
        raise KindError(f"the kind {called} cannot be registered: {'; '.join(wrong)}")


def _how_to_derive(given: object) -> str:
    """Return the remedy for an object that is not a kind."""
    if isinstance(given, type) and issubclass(given, Kind):
        return f"{given.__name__} is a class: register an instance of it, as in register({given.__name__}())"
    shown = "None" if given is None else f"the class {(given if isinstance(given, type) else type(given)).__name__}"
    return f"{shown} is not derived from Kind: write class Hum(Kind) and register(Hum()), or declare it with @kind"


def wrong_fields(kind: Kind) -> Iterator[str]:
    """Yield each missing or invalid field of a kind."""
    given: dict[str, object] = {}
    for field in Kind.__annotations__:
        static = inspect.getattr_static(kind, field, _UNSET)
        if static is _UNSET:
            yield f"it has no {field}"
        elif isinstance(static, property):
            yield f"{field} is a property, whose value may change: set a plain attribute"
        else:
            given[field] = getattr(kind, field)
    for field, (least, most) in _INTEGERS.items():
        value = given.get(field, least)
        if field == "latency" and isinstance(value, str):
            if not is_latency(value):
                yield f"latency {quoted(value)} is invalid: give {LATENCIES}"
        elif type(value) is not int or not least <= value <= most:
            yield f"{field} {quoted(value)} is not {_integer_for(value)} from {least} to {most}"
    yield from _wrong_name(given.get("name", "unset"))
    yield from _wrong_bounds(given.get("latency_least"), given.get("latency_most"))
    denied = given.get("on_denied", "drop")
    if not isinstance(denied, str) or denied not in get_args(OnDenied):
        yield f"on_denied {quoted(denied)} is not {', '.join(map(repr, get_args(OnDenied)))}"
    yield from _wrong_brief_keys(given.get("brief_keys", ()))
    params = given.get("params")
    if params is not None and not (isinstance(params, type) and issubclass(params, msgspec.Struct)):
        yield f"params {quoted(params)} is not a subclass of msgspec.Struct that lists what a host may pass"
    yield from _wrong_question(kind, given.get("prompt_cap"), given.get("output_cap"))


def _wrong_name(name: object) -> Iterator[str]:
    if isinstance(name, str) and type(name) is not str:
        yield f"name is a {type(name).__name__}: give a plain string, as str(…) gives"
    elif not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_KIND_NAME:
        rule = f"use at most {MAX_KIND_NAME} letters, digits, '_', '-' and '.', beginning with a letter"
        yield f"name {quoted(name)} is invalid: {rule}"
    elif _RESERVED.fullmatch(name):
        yield f"name {quoted(name)} is reserved for a queue of Celery's"


def _integer_for(value: object) -> str:
    derived = isinstance(value, int) and type(value) not in (int, bool)
    return "a plain integer, as int(…) gives," if derived else "an integer"


def _wrong_bounds(least: object, most: object) -> Iterator[str]:
    if type(least) is int and type(most) is int and 1 <= most < least <= MAX_LATENCY:
        yield f"latency_least {least} is above latency_most {most}"


def _wrong_brief_keys(keys: object) -> Iterator[str]:
    if not isinstance(keys, tuple | list | set | frozenset):
        yield f"brief_keys {quoted(keys)} is not a tuple of the keys that it reads from a brief, such as ('mood',)"
        return
    for key in keys:
        if type(key) is not str or not key.isprintable() or not 0 < len(key) <= MAX_KEY:
            yield f"brief_keys has {quoted(key)}: give names of 1 to {MAX_KEY} printable characters"


def _wrong_question(kind: Kind, prompt_cap: object, output_cap: object) -> Iterator[str]:
    if type(output_cap) is not int or output_cap <= 0:
        return
    if prompt_cap == 0:
        yield f"output_cap {output_cap} lets it ask a model, and prompt_cap 0 leaves no room for a prompt"
    if type(kind).prompt is Kind.prompt or type(kind).effects is Kind.effects:
        yield f"output_cap {output_cap} lets it ask a model: give it the methods prompt and effects"
