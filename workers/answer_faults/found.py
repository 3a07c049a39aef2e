"""What a check has found wrong with an answer."""

from __future__ import annotations


class Fault(str):
    """What is wrong with an answer, in words for the model; `check` names the check that found it.

    The words may quote the answer, so only the name of the check is kept and logged.
    """

    check: str

    def __new__(cls, told: str, check: str) -> Fault:
        """Return a fault with the name of its check, an identifier."""
        made = super().__new__(cls, told)
        made.check = check
        return made


def found(told: str | None, check: str) -> Fault | None:
    """Return what a check says as a fault of that name, unless it has named a finer one itself; None for none."""
    return told if told is None or isinstance(told, Fault) else Fault(told, check)
