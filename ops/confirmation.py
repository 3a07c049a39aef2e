"""Asks for confirmation before a command that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cogitate.scheduler.config.settings import ConfigurationError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def is_confirmed(command: str, run: str, question: str) -> bool:
    """Ask the user. Ctrl-C and the end of the input mean no.

    Raises:
        ConfigurationError: without a terminal.
    """
    if not sys.stdin.isatty():
        raise ConfigurationError(
            f"{command} changes run {run!r} for good and cannot ask for confirmation without a terminal: give --yes"
        )
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False
