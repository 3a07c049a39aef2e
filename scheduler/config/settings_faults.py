"""Errors of settings: each fault with its name, its source, and the value unless it may be secret."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from cogitate.memory.errors import CogitateError, quoted
from cogitate.scheduler.config.tables import TABLE_OF, TABLES
from cogitate.scheduler.config.tuning import TUNED

TOML = "cogitate.toml"
CLOCKS = "use '12h', '24h', 'months', 'rounds', '10 rounds' or '10 rounds of 2 ticks'"
#: Exceptions that reading settings may raise, besides validation errors.
UNREADABLE = (ValidationError, SettingsError, ValueError, RecursionError, OSError)
SECRET = (
    "redis_url",
    "redis_urls",
    "broker_url",
    "api_key",
    "gateway_token",
    "endpoints",
)  # no message shows their values
LARGEST = 1_000_000  # bytes of the file
LONGEST_NAME = 100  # characters of a name, as a message shows it
NAMED = 5  # faults that a message names; it counts the rest
#: Former settings, each with what to write instead.
FORMER: dict[str, str] = {
    **dict.fromkeys([*TUNED, "batch", "stage_fallbacks"], "is now decided by cogitate: remove it"),
    "capture": "is now record: write record = true",
    **dict.fromkeys(("capture_hours", "capture_bytes"), "is now decided by cogitate: remove it"),
    "minutes_per_tick": "is now seconds_per_tick: write 60 times as much",
    "act_per_tick": 'is now a limit: write "tick.kind:act.calls" among the limits',
    "kind_retrieval": "is now decided by cogitate: set retrieval for all kinds",
    "day_start": 'is now part of spending: spending = "value" makes the limits of a day last',
    "perceive_unchanged_after": "is now a constant of the built-in town: remove it",
    "throttle_auto": "is now decided by cogitate: pin a cadence with `cogitate throttle`",
}
_MOST_DOLLARS = 10_000  # per million tokens, that a price may mean


class ConfigurationError(CogitateError, ValueError):
    """The configuration cannot be used; the message names the setting, its value and what to give instead."""


def nothing_is_set() -> bool:
    """Return whether there is neither a `COGITATE_*` variable nor a `cogitate.toml`."""
    return not os.path.lexists(TOML) and not any(name.upper().startswith("COGITATE_") for name in os.environ)


def check_file() -> None:
    """Check that `cogitate.toml`, if it exists, is a file of a plausible size."""
    path = Path(TOML)
    if not path.is_file():
        if path.is_symlink() or path.exists():
            raise ConfigurationError(f"{path.absolute()} is not a file: remove it, or replace it with a file")
        return
    if path.stat().st_size > LARGEST:
        raise ConfigurationError(
            f"{path.absolute()} has more than {LARGEST:,} bytes, which is too large for a settings file"
        )


def check_variables(known: Collection[str]) -> None:
    """Check that no variable gives a setting that no longer exists."""
    found = []
    for variable in sorted(os.environ):
        name = variable.lower().removeprefix("cogitate_").partition("__")[0]
        if variable.upper().startswith("COGITATE_") and name in FORMER and name not in known:
            found.append(f"{variable} {_instead_of(name, os.environ[variable])}")
    if found:
        raise ConfigurationError("; ".join(found[:NAMED]))


def _instead_of(name: str, given: object) -> str:
    """Return what to write instead of a former setting, with the value where only its unit changed."""
    value = str(given)
    converted = name == "minutes_per_tick" and value.isdecimal() and len(value) < 10
    return FORMER[name] + (f" (seconds_per_tick = {60 * int(value)})" if converted else "")


def read_file() -> dict[str, Any]:
    """Return the tables of `cogitate.toml`; none where it does not exist. It may begin with a byte order mark.

    Raises:
        OSError, ValueError, RecursionError: when it cannot be read as TOML in UTF-8.
    """
    path = Path(TOML)
    return tomllib.loads(path.read_bytes().decode("utf-8-sig")) if path.is_file() else {}


def read_tables() -> dict[str, Any]:
    """Return the settings that the tables of `cogitate.toml` give, by name.

    Raises:
        ConfigurationError: when it is not a file, or for a setting outside its table, naming the table.
        OSError, ValueError, RecursionError: when the file cannot be read as TOML in UTF-8.
    """
    check_file()
    found: dict[str, Any] = {}
    for key, value in read_file().items():
        inside = value if key in TABLES and isinstance(value, dict) else {key: value}
        table = key if inside is value else ""
        for name in inside:
            if (right := TABLE_OF.get(name, table)) != table:
                raise ConfigurationError(f"{Path(TOML).absolute()}: write {name} in the table [{right}]")
        found |= inside
    return found


class Fault(NamedTuple):
    """One value that cannot be used."""

    field: str  # the setting
    name: str  # the same, with the keys of a table that lead to the value
    wrong: str  # the value unless secret, and its fault

    def line(self, named: str = "") -> str:
        """Return the fault in words; `named` is the user's name for the setting."""
        return f"{named or called(self)}:{self.wrong}"


class SettingsRefused(ConfigurationError):
    """Some settings cannot be used; `faults` holds each with its name, and the message says what to give instead."""

    def __init__(self, faults: Collection[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(self.line())

    def line(self, named: Callable[[Fault], str] = lambda fault: "") -> str:
        """Return the first faults in words, and the number of others; `named` is the user's name for a setting."""
        more = len(self.faults) - NAMED
        said = "; ".join(fault.line(named(fault)) for fault in self.faults[:NAMED])
        return f"{said}; and {more:,} more" if more > 0 else said


def called(fault: Fault) -> str:
    """Return the name of a setting, with the variable that sets it, if one does."""
    variable = f"COGITATE_{fault.field.upper()}"
    given = next((name for name in os.environ if name == variable or name.startswith(variable + "__")), "")
    return f"{fault.name} (from {given})" if given else fault.name


def misspelt_variables(known: Collection[str]) -> list[tuple[str, str]]:
    """Return the misspelt `COGITATE_*` variables, each with the variable that it resembles."""
    found = []
    for variable in sorted(name for name in os.environ if name.startswith("COGITATE_")):
        field = variable.removeprefix("COGITATE_").partition("__")[0].lower()
        if field not in known and (near := get_close_matches(field, known, 1, cutoff=0.8)):
            found.append((variable, f"COGITATE_{near[0].upper()}"))
    return found


def refusal(error: Exception, given: Mapping[str, object], known: Mapping[str, object]) -> ConfigurationError:
    """Return the error to raise instead of one of `UNREADABLE`; it holds no value that may be secret."""
    if isinstance(error, ConfigurationError):
        return error
    if isinstance(error, ValidationError):
        return SettingsRefused([_fault(found, given, known) for found in error.errors(include_url=False)])
    if isinstance(error, SettingsError):
        return ConfigurationError(_unreadable(error, known))
    path = Path(TOML).absolute()
    if isinstance(error, UnicodeDecodeError):
        return ConfigurationError(f"{path} is not UTF-8 (at byte {error.start}): save it as UTF-8")
    if isinstance(error, ValueError):  # from TOML, or a number of thousands of digits
        return ConfigurationError(f"{path} cannot be read as TOML: {error}")
    if isinstance(error, RecursionError):
        return ConfigurationError(f"{path} cannot be read as TOML: it is nested too deep")
    return ConfigurationError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


def _fault(found: ErrorDetails, given: Mapping[str, object], known: Collection[str]) -> Fault:
    field, *rest = (str(part)[:LONGEST_NAME] for part in found["loc"]) if found["loc"] else ("settings",)
    name = ".".join([field, *rest])
    if found["type"] == "extra_forbidden":
        if not rest and field in FORMER:
            return Fault(field, name, f" {_instead_of(field, found['input'])}")
        near = "".join(
            f"; did you mean {close!r}?" for close in get_close_matches(field, {*known, *TABLES}, 1) if not rest
        )
        where = "" if field in given else f" in {TOML}"
        return Fault(
            field,
            name,
            f" there is no such setting{where}{near or '; remove it, and `cogitate config` lists the settings'}",
        )
    message = found["msg"].removeprefix("Value error, ")
    if found["type"] == "dict_type":
        message = "input should be a table: give it as JSON in braces, as `cogitate config` shows it"
    if found["type"] == "string_pattern_mismatch" and field == "clock":
        message = CLOCKS
    if name.endswith("_price"):
        message += _price_meant(found["input"])
    value = "" if field in SECRET or found["type"] == "value_error" else f" {quoted(found['input'])}:"
    return Fault(field, name, f"{value} {message[:1].lower()}{message[1:]}")


def _price_meant(given: object) -> str:
    """Return the unit of a price, with what to write where it was probably given in dollars."""
    unit = "; it is in micro-dollars per million tokens"
    try:
        dollars = float(given) if isinstance(given, str | float) else 0.0
    except ValueError:
        return unit
    return f"{unit}: for ${dollars:,g} write {round(dollars * 1e6)}" if 0 < dollars < _MOST_DOLLARS else unit


def _unreadable(error: SettingsError, known: Mapping[str, object]) -> str:
    found = re.search(r'field "(\w+)"', str(error))
    field = found[1] if found else "settings"
    variable = f"COGITATE_{field.upper()}"
    given = os.environ.get(variable, "")
    value = "" if field in SECRET else f"={quoted(given)}"
    if get_origin(known.get(field)) in (list, tuple):
        names = re.findall(r"[\w.-]+", given)[:3] or ["a"]
        return f"{variable}{value} cannot be read: it must be a list in JSON, such as '{json.dumps(names)}'"
    return f"{variable}{value} cannot be read: it must be a table in JSON, such as '{{\"a\": 1}}'"
