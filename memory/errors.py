"""The class that every error derives from which a host may meet; it stands below all that raises one."""

from __future__ import annotations

from pydantic import ValidationError

_LONGEST = 80  # characters of a value


class CogitateError(Exception):
    """Something cannot be used or was refused; the message says what, with which value, and what to do."""


class InputError(CogitateError, ValueError):
    """Something a host passed in cannot be used; the message names the value and what would be right."""


class UsageError(CogitateError, RuntimeError):
    """A loop is used where it cannot be: outside of its body, in a fork of its process, as a pickle."""


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
