"""Control requests to a run's host, with the options, output and exit codes that all steering commands share."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import read_settings
from cogitate.ops.open_state import open_state
from cogitate.ops.operator_requests import format_outcome
from cogitate.scheduler.config.controls import Control
from cogitate.scheduler.steering.operators import ControlOutcome, ask

WAIT = 30.0  # seconds
REFUSED, WAITS = 1, 3  # exit codes

NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait until the run's host applies it.")]


def request_controls(
    run: str, controls: Sequence[Control], *, named: Sequence[str], data_dir: Path | None, as_json: bool, no_wait: bool
) -> int:
    """Send control requests to the host, print their outcomes, and return the command's exit code.

    Args:
        named: the name of each request in the output.
    """
    with open_state(read_settings(data_dir=data_dir)) as client:
        outcomes = ask(client, run, controls, wait=0.0 if no_wait else WAIT, by=_operator())
    console = Terminal(stderr=as_json)
    for name, outcome in zip(named, outcomes, strict=True):
        console.print(f"{name}: {format_outcome(outcome)}", highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps({"run": run, "requests": [_facts(outcome) for outcome in outcomes]}), flush=True)
    return exit_code(outcomes, no_wait)


def _operator() -> str:
    """Return the operator as "user@machine"."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without a name
        user = str(os.getuid())
    return f"{user}@{os.uname().nodename}"


def exit_code(outcomes: Sequence[ControlOutcome], no_wait: bool) -> int:
    """Return 1 if a request was refused, 3 if one is still pending after the wait, otherwise 0."""
    states = {outcome.state for outcome in outcomes}
    if "refused" in states:
        return REFUSED
    return WAITS if "waits" in states and not no_wait else 0


def _facts(outcome: ControlOutcome) -> dict[str, object]:
    asked: dict[str, object] = msgspec.to_builtins(outcome.control)
    return {"asked": asked, "state": outcome.state, "tick": outcome.tick, "detail": outcome.detail}
