"""Prepares the standard streams of a command: closed streams, full disks, any encoding."""

from __future__ import annotations

import io
import os
import sys

WIDEST = 10_000  # the most columns or lines of a terminal; libraries accept any number in the variables


def prepare_streams() -> None:
    """Replace closed streams by null streams, and let the others escape characters that their encoding lacks.

    Drop an impossible width or height of the terminal.
    """
    for size in ("COLUMNS", "LINES"):
        told = os.environ.get(size, "")
        if not (told.isascii() and told.isdigit() and len(told) <= 5 and 0 < int(told) <= WIDEST):
            os.environ.pop(size, None)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            _open_on_nothing(number)
            setattr(sys, name, open(number, "r+" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def leave_streams() -> None:
    """Discard unwritten output, which the interpreter would try to flush again and report with a traceback."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):  # full, closed by its reader, or closed here
            _open_on_nothing(number)


def _open_on_nothing(number: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)
