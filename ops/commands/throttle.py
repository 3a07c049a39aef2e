"""`cogitate throttle`: show or set how often agents reflect."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer

from hosting import logs
from hosting.terminal import Terminal
from ops.command_options import AsJson, DataDir, RunName, Verbose, read_settings
from ops.commands.control_requests import NoWait, request_controls
from ops.formatting.steering import format_cadence
from ops.open_state import open_state
from scheduler.config.controls import FULL, SetCadence
from scheduler.config.settings import ConfigurationError
from scheduler.inspection.steering_vitals import steering_of
from scheduler.ledger.run_store import RunStore
from scheduler.steering.throttle import KIND

EXAMPLE = """
Example: cogitate throttle town-1 reflect 0.5

Example: cogitate throttle town-1 reflect 0.25 --pin

Example: cogitate throttle town-1 reflect --auto
"""


def throttle(
    run: RunName,
    kind: Annotated[str, typer.Argument(metavar="[KIND]", help="The kind to throttle: reflect.")] = KIND,
    factor: Annotated[
        float | None,
        typer.Argument(
            metavar="[FACTOR]",
            help="Share of the usual cadence, up to 1; 0: none at all. Without it, show the cadence.",
        ),
    ] = None,
    pin: Annotated[
        bool, typer.Option("--pin", help="Keep this share; otherwise the controller goes on from it.")
    ] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Return control to the controller.")] = False,
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Set or show how often agents reflect. Agents with most to reflect on come first; no memory is lost."""
    logs.configure(verbose)
    if pin and auto:
        raise ConfigurationError("give --pin or --auto, not both")
    if factor is not None and not (factor == 0 or 1 / FULL <= factor <= 1):
        raise ConfigurationError(
            f"{factor:g} is not a share of the usual cadence: give {1 / FULL:g} to 1, or 0 for none"
        )
    if kind != KIND:
        raise ConfigurationError(
            f"only {KIND} can be throttled; for others set a limit: cogitate budget {run} set day.kind:{kind}.calls N"
        )
    if factor is None and not pin and not auto:
        with open_state(read_settings(data_dir=data_dir)) as client:
            found = steering_of(RunStore.open(client, run))
        Terminal(stderr=as_json).print(format_cadence(found), highlight=False, soft_wrap=True)
        if as_json:
            print(json.dumps({"run": run, **msgspec.to_builtins(found)}), flush=True)
        return 0
    control = SetCadence(
        kind=kind,
        factor=None if factor is None else round(factor * FULL),
        pinned=True if pin else False if auto else None,
    )
    named = " ".join(["throttle", kind, *([] if factor is None else [f"{factor:g}"]), *(["pinned"] if pin else []),
                      *(["auto"] if auto else [])])  # fmt: skip
    return request_controls(run, [control], named=[named], data_dir=data_dir, as_json=as_json, no_wait=no_wait)
