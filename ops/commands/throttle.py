"""`cogitate throttle`: show or set how often agents reflect."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, read_settings
from cogitate.ops.commands.control_requests import NoWait, request_controls
from cogitate.ops.formatting.steering import format_cadence
from cogitate.ops.open_state import open_state
from cogitate.ops.operator_requests import cadence_request
from cogitate.scheduler.inspection.stored_run import clock_of
from cogitate.scheduler.inspection.vitals import steering_of
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.throttle import KIND

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
            help="Share of the usual cadence, up to 1; 0: never. Without it, show the cadence.",
        ),
    ] = None,
    pin: Annotated[
        bool, typer.Option("--pin", help="Keep this share; otherwise the controller continues from it.")
    ] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Return control to the controller.")] = False,
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Set or show how often agents reflect. Agents with the most new experience come first; no memory is lost."""
    logs.configure(verbose)
    control = cadence_request(run, kind, factor, pin=pin, auto=auto)
    if factor is None and not pin and not auto:
        with open_state(read_settings(data_dir=data_dir)) as client:
            store = RunStore.open(client, run)
            found, clock = steering_of(store), clock_of(store)
        with clock.in_force():
            Terminal(stderr=as_json).print(format_cadence(found), highlight=False, soft_wrap=True)
        if as_json:
            print(json.dumps({"run": run, **msgspec.to_builtins(found)}), flush=True)
        return 0
    named = " ".join(
        [
            "throttle",
            kind,
            *([] if factor is None else [f"{factor:g}"]),
            *(["pinned"] if pin else []),
            *(["auto"] if auto else []),
        ]
    )
    return request_controls(run, [control], named=[named], data_dir=data_dir, as_json=as_json, no_wait=no_wait)
