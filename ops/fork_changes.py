"""The changes of a fork as a user writes them: `--set`, `--template`, and a file of changes to the world."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cogitate.memory.errors import quoted
from cogitate.memory.profile import Profile
from cogitate.memory.routing.routing import Event
from cogitate.ops.operator_requests import limit_request
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.limits import PERIODS
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.journal.changes import (
    AddEvent,
    AddObservation,
    DropObservation,
    RewordObservation,
    SetProfile,
    SetSetting,
    SetTemplate,
    WorldChange,
)

LARGEST = 1_000_000  # bytes of a file
TickOf = Callable[[str], int]  # converts a tick or a game time that a user wrote


def read_set(text: str) -> SetLimit | SetSetting:
    """Return the change that `--set` names: a limit of `cogitate budget`, or a setting as in `cogitate.toml`.

    Raises:
        ConfigurationError: when it names neither, or gives no value.
    """
    name, equals, value = text.partition("=")
    for prefix in ("budget.limits.", "limits."):
        name = name.removeprefix(prefix)
    if not equals or not name:
        raise ConfigurationError(f"--set {quoted(text)}: give a setting and its value, such as day.tokens=20000")
    if name.partition(".")[0] not in PERIODS:
        return SetSetting(name, _value(value))
    try:
        return limit_request(name, float(value))
    except ValueError as error:
        raise ConfigurationError(f"--set {quoted(text)}: {error}") from error


def _value(text: str) -> Any:
    """Parse a value as in `cogitate.toml`, except that a text needs no quotation marks."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def read_template(text: str) -> SetTemplate:
    """Return the template that `--template NAME=FILE` gives.

    Raises:
        ConfigurationError: when no file is given, or it cannot be read.
    """
    name, _, path = text.partition("=")
    if not path:
        raise ConfigurationError(f"--template {quoted(text)}: give a template and a file, such as plan=plan.j2")
    return SetTemplate(name, _text_of(Path(path)))


def read_world(path: Path, tick_of: TickOf) -> tuple[WorldChange, ...]:
    """Return the changes to the world in a file.

    Raises:
        ConfigurationError: when the file cannot be read.
        InputError: naming the change that cannot be made.
    """
    try:
        tables = tomllib.loads(_text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} cannot be read as TOML: {error}") from error
    if unknown := sorted(tables.keys() - _READERS):
        raise InputError(f"{path}: there is no change {quoted(unknown[0])}; there are {', '.join(sorted(_READERS))}")
    read: list[WorldChange] = []
    for kind, changes in tables.items():
        for number, change in enumerate(changes if isinstance(changes, list) else [changes], 1):
            try:
                if not isinstance(change, dict):
                    raise InputError(f"write [[{kind}]]")
                read.append(_READERS[kind](_Fields(change, tick_of)))
            except InputError as error:
                raise InputError(f"{path}, {kind} {number}: {error}") from error
    return tuple(read)


class _Fields:
    """The fields of one change, taken one by one."""

    def __init__(self, fields: Mapping[str, Any], tick_of: TickOf) -> None:
        self._fields = dict(fields)
        at = self._fields.pop("at", None)
        if at is None or isinstance(at, bool) or not isinstance(at, int | str):
            raise InputError("give at, a tick such as 721 or a game time such as 'day 1 12:30'")
        self.tick = tick_of(str(at))

    def text(self, name: str, default: str | None = None) -> str:
        """Take a text; without a default it is required.

        Raises:
            InputError: for a missing or invalid value.
        """
        value = self._fields.pop(name, default)
        if not isinstance(value, str) or (default is None and not value):
            raise InputError(f"{name} is {quoted(value)}: give a text")
        return value

    def rest(self) -> dict[str, Any]:
        """Return the fields that were not taken."""
        return self._fields

    def end(self) -> None:
        """Check that all fields were taken.

        Raises:
            InputError: naming a field that was not.
        """
        if self._fields:
            raise InputError(f"there is no field {quoted(min(self._fields))}")


def _observe(fields: _Fields) -> AddObservation:
    owner, seen = fields.text("owner"), fields.rest()
    Observation(**seen)
    return AddObservation(fields.tick, owner, seen)


def _event(fields: _Fields) -> AddEvent:
    also = fields.rest().pop("also", [])
    if not isinstance(also, list) or not all(isinstance(owner, str) for owner in also):
        raise InputError(f"also is {quoted(also)}: give a list of owners")
    Event(**fields.rest())
    return AddEvent(fields.tick, fields.rest(), tuple(also))


def _drop(fields: _Fields) -> DropObservation:
    change = DropObservation(fields.tick, fields.text("text"), fields.text("owner", ""))
    fields.end()
    return change


def _reword(fields: _Fields) -> RewordObservation:
    change = RewordObservation(fields.tick, fields.text("text"), fields.text("to"), fields.text("owner", ""))
    fields.end()
    return change


def _profile(fields: _Fields) -> SetProfile:
    owner, changed = fields.text("owner"), fields.rest()
    if unknown := sorted(changed.keys() - set(Profile.__struct_fields__)):
        raise InputError(f"a profile has no field {quoted(unknown[0])}")
    if not changed:
        raise InputError("give a field of the profile, such as occupation")
    return SetProfile(fields.tick, owner, changed)


_READERS: Mapping[str, Callable[[_Fields], WorldChange]] = {
    "observe": _observe,
    "event": _event,
    "drop": _drop,
    "reword": _reword,
    "profile": _profile,
}


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigurationError(f"{path} has more than {LARGEST:,} bytes")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
