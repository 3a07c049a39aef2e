"""What a user is told when something goes wrong: one line that names the value and says what to do, and an exit code.

2: the command, the configuration or its input cannot be used; nothing was run. 1: a run or a verification failed.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

import msgspec
from redis.exceptions import RedisError
from typer.exceptions import TyperException

from memory.errors import CogitateError, text_of
from ops.fake_llm.faults import FaultError
from prompts.render import TemplateError
from scheduler.config.settings import ConfigurationError
from scheduler.config.settings_faults import Fault, SettingsRefused, called
from scheduler.intake.checks import InputError
from scheduler.ledger.errors import NewerSchema, RunExists, RunHeld, RunMissing
from scheduler.steering.operators import RunCancelled, TooManyRequests
from simulation.recorded.recording import RecordingError

USAGE, FAILED = 2, 1

_REFUSED = (
    ConfigurationError,
    InputError,
    RecordingError,
    TemplateError,
    RunExists,
    RunMissing,
    RunHeld,
    RunCancelled,
    TooManyRequests,
    NewerSchema,
    FaultError,
)


class ErrorMessage(NamedTuple):
    """One line for stderr, and the exit code that goes with it."""

    line: str
    exit_code: int


def error_message(error: Exception) -> ErrorMessage | None:
    """What to say of an error; None for one that only a fault in the program explains."""
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    match error:
        case TyperException():
            said = ErrorMessage(error.format_message().replace("Value error, ", ""), error.exit_code)
        case SettingsRefused():
            said = ErrorMessage(error.line(_named), USAGE)
        case msgspec.DecodeError():
            said = ErrorMessage(
                f"what is stored cannot be read: {error}; `cogitate audit RUN` says what is wrong", FAILED
            )
        case _ if isinstance(error, _REFUSED):
            said = ErrorMessage(text_of(error), USAGE)
        case CogitateError():
            said = ErrorMessage(text_of(error), FAILED)
        case RedisError() if "permission" in str(error):  # in a script it is only said
            said = ErrorMessage(
                f"this user of Redis may not do that ({error}): use another, see docs/how-to/operating.md", FAILED
            )
        case RedisError():
            said = ErrorMessage(f"Redis stopped answering: {type(error).__name__}: {error}", FAILED)
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            said = ErrorMessage(f"{named}{error.strerror or error}", FAILED)
        case _:
            return None
    return ErrorMessage(re.sub(r"\s+", " ", said.line + notes).strip(), said.exit_code)


def _named(fault: Fault) -> str:
    """Return a setting as the user gave it: by a flag, by a variable, or by its own name."""
    flag = "--" + fault.field.replace("_", "-")
    return flag if any(given.partition("=")[0] == flag for given in sys.argv) else called(fault)
