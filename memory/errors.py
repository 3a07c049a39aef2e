"""The root of all errors that a host may catch, and functions that write their messages."""

from __future__ import annotations

from pydantic import ValidationError

_LONGEST = 80  # characters of a value


class CogitateError(Exception):
    """The root of all errors of Cogitate. The message says what failed, with which value, and what to do."""


class InputError(CogitateError, ValueError):
    """A value that the host passed in cannot be used; the message names it and says what to pass instead."""


class UsageError(CogitateError, RuntimeError):
    """The host called a loop where that is not possible: outside its body, in a forked process, or as a pickle or copy.

    Call it in the body of its `for` statement, in the process that opened it.
    """


def quoted(value: object) -> str:
    """Return a value as an error shows it: cut, in printable characters, whatever it is."""
    try:
        text = ascii(value if not isinstance(value, str) else value[:_LONGEST])
    except KeyboardInterrupt:
        raise
    except BaseException:  # nested too deep, an integer of too many digits, a __repr__ of somebody's own
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST + 2 else text[: _LONGEST - 1] + "…"


def text_of(error: BaseException) -> str:
    """Return what an error says, without halves of characters; the name of its class where it says nothing."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a __str__ of somebody's own
        text = ""
    return text.encode("utf-8", "replace").decode() or type(error).__name__


def listed(value: object) -> object:
    """Return a value that a model is to take as a tuple; pydantic makes room for any iterable, however long.

    Raises:
        ValueError: for anything but a list, a tuple or a set.
    """
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("a list is meant")
    return value


def first_fault(error: ValidationError) -> str:
    """Return the first thing that is wrong with a model's fields: where, the value, and what would be right."""
    found = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in found["loc"])
    return f"{where} {quoted(found['input'])}: {found['msg'].removeprefix('Value error, ')}"
