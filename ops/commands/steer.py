"""The commands that ask a host to change its whole run: `pause`, `resume`, `drain`, `cancel` and `throttle`."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import RequestOptions, RunName, SharedOptions, Yes, is_confirmed, open_state
from cogitate.ops.formatting.vitals import format_cadence
from cogitate.ops.operator_requests import cadence_request, format_control, format_outcome
from cogitate.scheduler.config.controls import Control, SetMode
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.overview import OWN_PROGRAM, resume_command
from cogitate.scheduler.inspection.stored_run import clock_of
from cogitate.scheduler.inspection.vitals import steering_of
from cogitate.scheduler.ledger.presence import host_of
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.operators import ControlOutcome, ask
from cogitate.scheduler.steering.throttle import KIND

WAIT = 30.0  # seconds
REFUSED, WAITS = 1, 3  # exit codes


def request_controls(
    run: str, controls: Sequence[Control], named: Sequence[str], request: RequestOptions, options: SharedOptions
) -> int:
    """Send control requests to the host, print their outcomes, and return the command's exit code.

    Args:
        named: a name for each request in the output.
    """
    wait = 0.0 if request.no_wait else WAIT
    with open_state(options.settings()) as client:
        outcomes = ask(client, run, controls, wait=wait, by=_operator(), reason=request.reason)
        waits = any(outcome.state == "waits" for outcome in outcomes)
        store = RunStore.open(client, run)
        to_resume = resume_command(store) if waits and host_of(store) is None else None
    console = Terminal(stderr=options.as_json)
    for name, outcome in zip(named, outcomes, strict=True):
        console.print(f"{name}: {format_outcome(outcome)}")
    if to_resume is not None:
        console.print(f"no host is active; {f'resume the run with: {to_resume}' if to_resume else OWN_PROGRAM}")
    if options.as_json:
        print(json.dumps({"run": run, "requests": [_facts(outcome) for outcome in outcomes]}), flush=True)
    return exit_code(outcomes, request.no_wait)


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
    facts: dict[str, object] = {
        "asked": msgspec.to_builtins(outcome.control),
        "state": outcome.state,
        "tick": outcome.tick,
        "detail": outcome.detail,
    }
    return facts | (outcome.called_off._asdict() if outcome.called_off is not None else {})


def pause(run: RunName, request: RequestOptions, options: SharedOptions) -> int:
    """Pause a run after its present tick. Its workers claim no further job; jobs in flight end.

    The run stays paused until `cogitate resume`, even under another host.
    """
    return _set_mode(run, SetMode("paused"), request, options)


def resume(run: RunName, request: RequestOptions, options: SharedOptions) -> int:
    """Resume a paused or draining run.

    To resume a run without a host, use `cogitate run --run RUN --resume`.
    """
    return _set_mode(run, SetMode("running"), request, options)


def drain(run: RunName, request: RequestOptions, options: SharedOptions) -> int:
    """Stop a run once its open jobs have ended; it admits no new one. A resumed run admits jobs again."""
    return _set_mode(run, SetMode("draining"), request, options)


def cancel(run: RunName, yes: Yes = False, *, request: RequestOptions, options: SharedOptions) -> int:
    """End a run for good after its present tick and cancel its open jobs. Their cost stays charged.

    This cannot be undone: a cancelled run cannot be resumed. The exit code is 1 when you answer no. To cancel jobs
    while the run continues, use `cogitate cancel-jobs`.
    """
    if "/" in run:
        raise ConfigurationError(f"{run} is a job: cancel it with cogitate cancel-jobs {run}")
    if not yes and not is_confirmed("cancel", run, f"End run {run} for good? It cannot be resumed."):
        Terminal(stderr=True).print("the run continues")
        return 1
    return _set_mode(run, SetMode("cancelled"), request, options)


def _set_mode(run: str, control: SetMode, request: RequestOptions, options: SharedOptions) -> int:
    return request_controls(run, [control], [f"{format_control(control)} {run}"], request, options)


def throttle(
    run: RunName,
    kind: Annotated[str, typer.Argument(metavar="[KIND]", help="The kind to throttle: reflect.")] = KIND,
    factor: Annotated[
        float | None,
        typer.Argument(
            metavar="[FACTOR]", help="Share of the usual cadence, up to 1; 0: never. Without it, show the cadence."
        ),
    ] = None,
    pin: Annotated[
        bool, typer.Option("--pin", help="Keep this share; otherwise the controller continues from it.")
    ] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Return control to the controller.")] = False,
    *,
    request: RequestOptions,
    options: SharedOptions,
) -> int:
    """Set or show how often agents reflect. Agents with the most new experience come first; no memory is lost."""
    control = cadence_request(run, kind, factor, pin=pin, auto=auto)
    if factor is None and not pin and not auto:
        with open_state(options.settings()) as client:
            store = RunStore.open(client, run)
            steering, clock = steering_of(store), clock_of(store)
        with clock.in_force():
            Terminal(stderr=options.as_json).print(format_cadence(steering))
        if options.as_json:
            print(json.dumps({"run": run, **msgspec.to_builtins(steering)}), flush=True)
        return 0
    return request_controls(run, [control], [format_control(control)], request, options)
