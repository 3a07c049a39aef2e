"""Errors in the methods that a host wrote for its kind, with file and line.

These texts never quote a memory or an answer, so hosts, logs and reports may show them.
"""

from __future__ import annotations

import inspect
import os
import re
import sysconfig
from collections.abc import Callable
from pathlib import Path, PurePath
from types import CodeType

from cogitate.memory.errors import CogitateError
from cogitate.memory.host_code import Raised, captured

_ROOT = Path(__file__).parents[2]
_OURS = ("memory", "prompts", "tasks", "scheduler", "workers")  # in an installed wheel these are among the libraries
_LIBRARIES = (
    *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    *(f"{_ROOT / name}{os.sep}" for name in _OURS),
)  # folders of installed libraries


#: Messages in which Python and msgspec name a wrong argument, which is a name in the code and no value.
_ARGUMENT = re.compile(
    r"(?:Missing required argument|Unexpected keyword argument|[\w.<>]+\(\) missing 1 required [\w-]+ argument:|"
    r"[\w.<>]+\(\) got an unexpected keyword argument) '(\w{1,40})'"
)


class MethodFault(CogitateError, RuntimeError):
    """A method of a host's kind raised an error or returned an invalid value; the message names file and line."""


def written_at(method: object) -> str:
    """Return where a host's function is defined, as "votes.py, line 12"; "" if that is unknown or in a library."""
    code = _code_of(method)
    if code is None or code.co_filename.startswith(_LIBRARIES):
        return ""
    return _place(code.co_filename, code.co_firstlineno)


def raised_at(error: BaseException) -> str:
    """Return the line that raised an error, as "votes.py, line 14": the last one outside libraries, if any."""
    trace, last, last_own = error.__traceback__, "", ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        last = _place(file, trace.tb_lineno)
        last_own = last_own if file.startswith(_LIBRARIES) else last
        trace = trace.tb_next
    return last_own or last


def told(error: BaseException) -> str:
    """Describe an error by its class, a missing or unexpected argument, and the line that raised it."""
    named = _ARGUMENT.fullmatch(str(error)) if type(error) is TypeError else None
    verb = "does not take" if named and "unexpected" in str(error).lower() else "lacks"
    argument = f" (the call {verb} {named[1]!r})" if named else ""
    return f"{type(error).__name__}{argument} in {raised_at(error)}"


def fault_of_method(kind: str, name: str, method: object, what: str) -> MethodFault:
    """Build the error about a kind's method."""
    where = written_at(method)
    return MethodFault(f"kind {kind!r}: {name}{f' ({where})' if where else ''} {what}")


def called(
    kind: str,
    name: str,
    method: Callable[..., object],
    *arguments: object,
    passes: type[BaseException] | None = None,
) -> object:
    """Call a method of a host's kind, and return its result.

    Args:
        passes: class of the errors that propagate unchanged.

    Raises:
        MethodFault: if it raises anything else except an interrupt.
    """
    result = captured(method, *arguments)
    if type(result) is not Raised:
        return result
    if isinstance(result.error, MethodFault if passes is None else (MethodFault, passes)):
        raise result.error
    raise fault_of_method(kind, name, method, f"raised {told(result.error)}") from result.error


def _code_of(method: object) -> CodeType | None:
    code = getattr(inspect.unwrap(method) if callable(method) else method, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _place(file: str, line: int | None) -> str:
    return f"{PurePath(file).name}, line {line}"
