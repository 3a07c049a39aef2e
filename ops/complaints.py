"""What a user is told when something goes wrong: one line that names the value and says what to do, and an exit code.

2: the command, the configuration or its input cannot be used; nothing was run. 1: a run or a verification failed.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from typing import NamedTuple

import msgspec
from pydantic import ValidationError
from pydantic_settings import SettingsError
from redis.exceptions import RedisError
from typer.exceptions import TyperException

from memory.errors import CogitateError
from ops.fake_faults import FaultError
from prompts.render import TemplateError
from scheduler.deletion import RunHeld
from scheduler.intake import InputError
from scheduler.ledger_errors import NewerSchema, RunExists, RunMissing
from scheduler.operators import RunOver, TooManyAsked
from scheduler.settings import ConfigurationError
from simulation.recording import RecordingError

USAGE, FAILED = 2, 1
SECRET = ("redis_url", "broker_url", "api_key", "endpoints")  # their values are never shown

_REFUSED = (
    ConfigurationError,
    InputError,
    RecordingError,
    TemplateError,
    RunExists,
    RunMissing,
    RunHeld,
    RunOver,
    TooManyAsked,
    NewerSchema,
    FaultError,
)


class Complaint(NamedTuple):
    """One line for stderr, and the exit code that goes with it."""

    line: str
    exit_code: int


def complaint_of(error: Exception) -> Complaint | None:
    """What to say of an error; None for one that only a fault in the program explains."""
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    match error:
        case TyperException():
            said = Complaint(error.format_message().replace("Value error, ", ""), error.exit_code)
        case ValidationError():
            said = Complaint("; ".join(_faults(error)), USAGE)
        case SettingsError():
            said = Complaint(_unreadable(error), USAGE)
        case tomllib.TOMLDecodeError():
            said = Complaint(f"cogitate.toml cannot be read: {error}", USAGE)
        case msgspec.DecodeError():
            said = Complaint(f"what is stored cannot be read: {error}; `cogitate audit RUN` says what is wrong", FAILED)
        case _ if isinstance(error, _REFUSED):
            said = Complaint(str(error), USAGE)
        case CogitateError():
            said = Complaint(str(error), FAILED)
        case RedisError() if "permission" in str(error):  # in a script it is only said
            said = Complaint(
                f"this user of Redis may not do that ({error}): use another, see docs/operating.md", FAILED
            )
        case RedisError():
            said = Complaint(f"Redis stopped answering: {type(error).__name__}: {error}", FAILED)
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            said = Complaint(f"{named}{error.strerror or error}", FAILED)
        case _:
            return None
    return Complaint(re.sub(r"\s+", " ", said.line + notes).strip(), said.exit_code)


def _faults(error: ValidationError) -> list[str]:
    """Each fault of the settings: its name, where it was set, the value unless secret, and what would be right."""
    lines = []
    for fault in error.errors(include_url=False):
        field, *rest = (str(part) for part in fault["loc"]) if fault["loc"] else ("settings",)
        name = ".".join([field, *rest])
        if fault["type"] == "extra_forbidden":
            lines.append(f"there is no setting {name!r} in cogitate.toml; `cogitate config` lists them")
            continue
        message = fault["msg"].removeprefix("Value error, ")
        shown = "" if field in SECRET or fault["type"] == "value_error" else f" {repr(fault['input'])[:80]}:"
        lines.append(f"{_named(field, name)}:{shown} {message[:1].lower()}{message[1:]}")
    return lines


def _unreadable(error: SettingsError) -> str:
    found = re.search(r'field "(\w+)"', str(error))
    field = found[1] if found else "settings"
    variable = f"COGITATE_{field.upper()}"
    value = "" if field in SECRET else f"={os.environ.get(variable, '')[:80]!r}"
    return f"{variable}{value} cannot be read: it must be JSON, such as '{{\"a\": 1}}'"


def _named(field: str, name: str) -> str:
    """A setting as the user gave it: by a flag, by a variable, or by its own name."""
    flag, variable = "--" + field.replace("_", "-"), f"COGITATE_{field.upper()}"
    if any(given.partition("=")[0] == flag for given in sys.argv):
        return flag
    return f"{name} (from {variable})" if variable in os.environ else name
