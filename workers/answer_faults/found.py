"""The fault that a check found in an answer."""

from __future__ import annotations


class Fault(str):
    """A fault of an answer, worded for the model; `check` names the check that found it.

    The text may quote the answer, so only the name of the check is stored and logged.
    """

    check: str

    def __new__(cls, told: str, check: str) -> Fault:
        """Return a fault with the name of its check, an identifier."""
        made = super().__new__(cls, told)
        made.check = check
        return made


def found(told: str | None, check: str) -> Fault | None:
    """Return a check's text as a fault with the check's name, unless the text is a named fault already."""
    return told if told is None or isinstance(told, Fault) else Fault(told, check)
