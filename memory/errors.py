"""The root of the errors that a host may catch, the base of models that raise them, and the format of quoted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ValidationError

from cogitate.memory.host_code import Raised, captured

_LONGEST = 80  # characters of a value
_MOST, _END = 2_000, 500  # characters of a message, and of its end, which a cut keeps because it has the remedy


class CogitateError(Exception):
    """The root of all errors of Cogitate. The message says what failed, with which value, and what to do.

    A message is one printable line, whatever it quotes: a key, a name, the error of a library.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(CogitateError, ValueError):
    """The host passed an invalid value; the message names it and says what to pass instead."""


class UsageError(CogitateError, RuntimeError):
    """The host used a loop in the wrong place: outside its body, in a forked process, or as a pickle or copy.

    Use it in the body of its `for` statement, in the process that opened it.
    """


class HostInput(BaseModel):
    """Base of the models that a host creates: a wrong field raises an `InputError` instead of pydantic's own error."""

    _label: ClassVar[str]  # what errors call the model

    if not TYPE_CHECKING:  # mypy takes the arguments from the fields

        def __init__(self, /, **given: Any) -> None:
            """Check the values.

            Raises:
                InputError: naming the first invalid one.
            """
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise InputError(f"{self._label}: {first_fault(error)}") from None


def how_to_install(extra: str) -> str:
    """Return the commands that install the packages of an extra, from an index and in a clone."""
    return f"pip install 'cogitate[{extra}]', or in a clone pip install -e '.[{extra}]'"


def printable(text: str) -> str:
    r"""Return a text as one line of bounded length, with each character that is not printable escaped, as "\x1b"."""
    if len(text) > _MOST:
        text = f"{text[: _MOST - _END]} … {text[-_END:]}"
    if text.isprintable():
        return text
    line = " ".join(part.strip() for part in text.splitlines())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


def quoted(value: object) -> str:
    """Return a value for an error message: shortened, in printable ASCII."""
    text = captured(ascii, value if not isinstance(value, str) else value[:_LONGEST])
    if type(text) is Raised:  # too deep a nesting, an integer of too many digits, a faulty __repr__ of the host's
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST + 2 else text[: _LONGEST - 1] + "…"


def text_of(error: BaseException, encoding: str = "utf-8", errors: str = "replace") -> str:
    """Return an error's message as one printable line, or its class if the message is empty or raises an error itself.

    Args:
        encoding: the encoding in which the caller writes the message.
        errors: how to replace characters that it cannot encode, lone surrogates included (see `codecs`).
    """
    message = captured(str, error)
    text = "" if type(message) is Raised else message
    return printable(text or type(error).__name__).encode(encoding, errors).decode(encoding)


def require_list(value: object) -> object:
    """Return a collection that a model converts to a tuple; pydantic itself would consume any iterable, however long.

    A set is sorted: its own order would differ from process to process.

    Raises:
        ValueError: for anything but a list, a tuple or a set.
    """
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("give a list")
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else value


def first_fault(error: ValidationError) -> str:
    """Return the first fault in a model's fields: the field, its value, and a remedy."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(_field(part) for part in fault["loc"])
    return printable(f"{where} {quoted(fault['input'])}: {fault['msg'].removeprefix('Value error, ')}")


def _field(part: int | str) -> str:
    named = str(part)
    return named if named.isidentifier() and len(named) <= _LONGEST else quoted(part)
