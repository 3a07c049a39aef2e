"""Calls of a host's own code (kinds, classes of answers, functions, values), which may raise anything."""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import NamedTuple, ParamSpec, TypeVar, final

P = ParamSpec("P")
T = TypeVar("T")

#: Exceptions that end a process: they interrupt a host's code and are no failure of it.
ENDS_PROCESS = (KeyboardInterrupt, SystemExit)


@final
class Raised(NamedTuple):
    """An exception of a host's code. Test for it with `type(value) is Raised`: a host's value may fake its class."""

    error: BaseException


def captured(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T | Raised:
    """Call a host's code, and return its result, or its exception of any class as `Raised`.

    A coroutine is closed first: the caller refuses it, and Python does not warn that it was never awaited.

    Raises:
        KeyboardInterrupt, SystemExit: from a signal handler, which may run at any point.
    """
    try:
        result = function(*arguments, **keywords)
        value: object = result
        if type(value) is CoroutineType:
            value.close()
        return result
    except ENDS_PROCESS:
        raise
    except BaseException as error:
        return Raised(error)
