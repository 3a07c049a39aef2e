"""Error messages: one line that names the value and says what to do, and an exit code.

Exit code 2: the command, the configuration or its input is invalid, and nothing ran. 1: a run or a verification failed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
from redis.exceptions import RedisError, ResponseError
from typer.exceptions import TyperException

from cogitate.memory.errors import CogitateError, printable, quoted, text_of
from cogitate.ops.fake_llm.faults import FaultError
from cogitate.prompts.render import TemplateError
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.settings_faults import Fault, SettingsRefused, called
from cogitate.scheduler.inspection.redis_problems import format_error
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.errors import NewerSchema, OlderSchema, RunExists, RunHeld, RunMissing
from cogitate.scheduler.ledger.outage import is_outage
from cogitate.scheduler.steering.operators import RunCancelled, TooManyRequests
from cogitate.simulation.recorded.recording import RecordingError

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
    OlderSchema,
    FaultError,
)


class ErrorMessage(NamedTuple):
    """One line for stderr, with its exit code."""

    line: str
    exit_code: int


def error_message(error: Exception) -> ErrorMessage | None:
    """Return the message for an error; None for an error that must be a bug."""
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    match error:
        case TyperException():
            message = ErrorMessage(error.format_message().replace("Value error, ", ""), error.exit_code)
        case SettingsRefused():
            message = ErrorMessage(error.line(_named), USAGE)
        case msgspec.DecodeError():
            message = ErrorMessage(f"the run cannot be read: {error}; `cogitate audit RUN` says what is wrong", FAILED)
        case _ if isinstance(error, _REFUSED):
            message = ErrorMessage(text_of(error), USAGE)
        case CogitateError():
            message = ErrorMessage(text_of(error), FAILED)
        case RedisError() if "permission" in str(error):  # a Lua script raises it as a plain ResponseError
            message = ErrorMessage(
                f"this Redis user lacks a permission ({error}): use another user, see docs/how-to/operating.md", FAILED
            )
        case RedisError():
            refuses = isinstance(error, ResponseError) and is_outage(error)
            failure = format_error(error) if refuses else f"stopped answering: {type(error).__name__}: {error}"
            message = ErrorMessage(f"Redis {failure}", FAILED)
        case UnicodeEncodeError() if str(error.object) != _without_surrogates(str(error.object)):
            message = ErrorMessage(f"{quoted(error.object)} holds a byte that is not UTF-8: correct it", USAGE)
        case FileNotFoundError() if not _current_folder_exists():
            message = ErrorMessage("the current folder no longer exists: change to another", FAILED)
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            message = ErrorMessage(f"{named}{error.strerror or error}", FAILED)
        case _:
            return None
    return ErrorMessage(printable(message.line + notes).strip(), message.exit_code)


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "ignore").decode()


def _current_folder_exists() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _named(fault: Fault) -> str:
    """Return a setting as the user gave it: a flag, a variable, or its name."""
    flag = "--" + fault.field.replace("_", "-")
    return flag if any(given.partition("=")[0] == flag for given in sys.argv) else called(fault)
