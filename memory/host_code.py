"""The boundary of a host's own code: kinds, classes of answers, functions and values that may raise anything."""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import NamedTuple, ParamSpec, TypeVar, final

P = ParamSpec("P")
T = TypeVar("T")

#: What ends a process: a host's own code does not fail with it, it is interrupted by it.
ENDS_PROCESS = (KeyboardInterrupt, SystemExit)


@final
class Raised(NamedTuple):
    """What a host's code raised instead of returning. Compare `type(value)`: a host's value may lie about its class."""

    error: BaseException


def captured(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T | Raised:
    """Call a host's code, and return what it returns or what it raises: an error of any class, but no interrupt.

    A coroutine is returned closed: the caller refuses it, and Python does not warn that nothing awaited it.

    Raises:
        KeyboardInterrupt, SystemExit: which a handler of a signal raises, wherever the process is.
    """
    try:
        found = function(*arguments, **keywords)
        value: object = found
        if type(value) is CoroutineType:
            value.close()
        return found
    except ENDS_PROCESS:
        raise
    except BaseException as error:
        return Raised(error)
