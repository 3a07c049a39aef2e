"""Errors in settings. A message names the setting, its source, and the value unless that may be secret."""

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
#: Settings whose values no message shows.
SECRET = (
    "redis_url",
    "redis_urls",
    "broker_url",
    "api_key",
    "gateway_token",
    "endpoints",
)
LARGEST = 1_000_000  # bytes of the file
LONGEST_NAME = 100  # characters of a name in a message
NAMED = 5  # faults that a message names; it counts the rest
#: Former settings, each with its replacement.
FORMER: dict[str, str] = {
    **dict.fromkeys([*TUNED, "batch", "stage_fallbacks"], "is now decided by cogitate: remove it"),
    "capture": "is now record: write record = true",
    **dict.fromkeys(("capture_hours", "capture_bytes"), "is now decided by cogitate: remove it"),
    "minutes_per_tick": "is now seconds_per_tick: write 60 times the value",
    "act_per_tick": 'is now a limit: write "tick.kind:act.calls" in limits',
    "kind_retrieval": "is now decided by cogitate: set retrieval for all kinds",
    "day_start": 'is now part of spending: spending = "value" makes the limits of a day last',
    "perceive_unchanged_after": "is now a constant of the built-in town: remove it",
    "throttle_auto": "is now decided by cogitate: pin a cadence with `cogitate throttle`",
}
_MOST_DOLLARS = 10_000  # per million tokens: the highest plausible price


class ConfigurationError(CogitateError, ValueError):
    """The configuration is unusable; the message names the setting, its value and a correction."""


def nothing_is_set() -> bool:
    """Return whether neither a `COGITATE_*` variable nor a `cogitate.toml` exists."""
    return not os.path.lexists(TOML) and not any(name.upper().startswith("COGITATE_") for name in os.environ)


def check_file() -> None:
    """Check that `cogitate.toml`, if it exists, is a file and not too large."""
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
    """Check that no variable sets a former setting."""
    faults = []
    for variable in sorted(os.environ):
        name = variable.lower().removeprefix("cogitate_").partition("__")[0]
        if variable.upper().startswith("COGITATE_") and name in FORMER and name not in known:
            faults.append(f"{variable} {_replacement_of(name, os.environ[variable])}")
    if faults:
        raise ConfigurationError("; ".join(faults[:NAMED]))


def _replacement_of(name: str, given: object) -> str:
    """Return the replacement of a former setting, with the new value if only the unit changed."""
    value = str(given)
    converted = name == "minutes_per_tick" and value.isdecimal() and len(value) < 10
    return FORMER[name] + (f" (seconds_per_tick = {60 * int(value)})" if converted else "")


def read_file() -> dict[str, Any]:
    """Return the tables of `cogitate.toml`; none if the file does not exist. It may begin with a byte order mark.

    Raises:
        OSError, ValueError, RecursionError: if it cannot be read as TOML in UTF-8.
    """
    path = Path(TOML)
    return tomllib.loads(path.read_bytes().decode("utf-8-sig")) if path.is_file() else {}


def read_tables() -> dict[str, Any]:
    """Return the settings in the tables of `cogitate.toml`, by name.

    Raises:
        ConfigurationError: if it is not a file, or a setting is outside its table; the message names the table.
        OSError, ValueError, RecursionError: if the file cannot be read as TOML in UTF-8.
    """
    check_file()
    settings: dict[str, Any] = {}
    for key, value in read_file().items():
        fields = value if key in TABLES and isinstance(value, dict) else {key: value}
        table = key if fields is value else ""
        for name in fields:
            if (right := TABLE_OF.get(name, table)) != table:
                raise ConfigurationError(f"{Path(TOML).absolute()}: write {name} in the table [{right}]")
        settings |= fields
    return settings


class Fault(NamedTuple):
    """One invalid value."""

    field: str  # the setting
    name: str  # the setting with the path of keys to the value
    wrong: str  # the value unless secret, and its fault

    def line(self, named: str = "") -> str:
        """Return the fault in words.

        Args:
            named: the user's name for the setting, such as a flag; "": the setting's name.
        """
        return f"{named or called(self)}:{self.wrong}"


class SettingsRefused(ConfigurationError):
    """Some settings are invalid; `faults` lists them, and the message names corrections."""

    def __init__(self, faults: Collection[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(self.line())

    def line(self, named: Callable[[Fault], str] = lambda fault: "") -> str:
        """Return the first faults in words, and the number of the others.

        Args:
            named: returns the user's name for a setting, such as a flag; "": the setting's name.
        """
        more = len(self.faults) - NAMED
        first = "; ".join(fault.line(named(fault)) for fault in self.faults[:NAMED])
        return f"{first}; and {more:,} more" if more > 0 else first


def called(fault: Fault) -> str:
    """Return the name of a setting, with the variable that sets it, if any."""
    variable = f"COGITATE_{fault.field.upper()}"
    given = next((name for name in os.environ if name == variable or name.startswith(variable + "__")), "")
    return f"{fault.name} (from {given})" if given else fault.name


def misspelt_variables(known: Collection[str]) -> list[tuple[str, str]]:
    """Return the misspelt `COGITATE_*` variables, each with the closest existing one."""
    misspelt = []
    for variable in sorted(name for name in os.environ if name.startswith("COGITATE_")):
        field = variable.removeprefix("COGITATE_").partition("__")[0].lower()
        if field not in known and (near := get_close_matches(field, known, 1, cutoff=0.8)):
            misspelt.append((variable, f"COGITATE_{near[0].upper()}"))
    return misspelt


def refusal(error: Exception, given: Mapping[str, object], known: Mapping[str, object]) -> ConfigurationError:
    """Return the error to raise in place of one of `UNREADABLE`; it shows no value that may be secret."""
    if isinstance(error, ConfigurationError):
        return error
    if isinstance(error, ValidationError):
        return SettingsRefused([_fault(details, given, known) for details in error.errors(include_url=False)])
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


def _fault(details: ErrorDetails, given: Mapping[str, object], known: Collection[str]) -> Fault:
    field, *rest = (str(part)[:LONGEST_NAME] for part in details["loc"]) if details["loc"] else ("settings",)
    name = ".".join([field, *rest])
    if details["type"] == "extra_forbidden":
        if not rest and field in FORMER:
            return Fault(field, name, f" {_replacement_of(field, details['input'])}")
        near = "".join(
            f"; did you mean {close!r}?" for close in get_close_matches(field, {*known, *TABLES}, 1) if not rest
        )
        where = "" if field in given else f" in {TOML}"
        return Fault(
            field,
            name,
            f" there is no such setting{where}{near or '; remove it, and `cogitate config` lists the settings'}",
        )
    message = details["msg"].removeprefix("Value error, ")
    if details["type"] == "dict_type":
        message = "input should be a table: give it as JSON in braces, as `cogitate config` shows it"
    if details["type"] == "string_pattern_mismatch" and field == "clock":
        message = CLOCKS
    if name.endswith("_price"):
        message += _price_meant(details["input"])
    value = "" if field in SECRET or details["type"] == "value_error" else f" {quoted(details['input'])}:"
    return Fault(field, name, f"{value} {message[:1].lower()}{message[1:]}")


def _price_meant(given: object) -> str:
    """Return the unit of a price, with the right number if the value is probably in dollars."""
    unit = "; it is in micro-dollars per million tokens"
    try:
        dollars = float(given) if isinstance(given, str | float) else 0.0
    except ValueError:
        return unit
    return f"{unit}: for ${dollars:,g} write {round(dollars * 1e6)}" if 0 < dollars < _MOST_DOLLARS else unit


def _unreadable(error: SettingsError, known: Mapping[str, object]) -> str:
    match = re.search(r'field "(\w+)"', str(error))
    field = match[1] if match else "settings"
    variable = f"COGITATE_{field.upper()}"
    given = os.environ.get(variable, "")
    value = "" if field in SECRET else f"={quoted(given)}"
    if get_origin(known.get(field)) in (list, tuple):
        names = re.findall(r"[\w.-]+", given)[:3] or ["a"]
        return f"{variable}{value} cannot be read: it must be a list in JSON, such as '{json.dumps(names)}'"
    return f"{variable}{value} cannot be read: it must be a table in JSON, such as '{{\"a\": 1}}'"
