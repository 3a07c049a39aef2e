"""The commands that ask a run's host for a change: `pause`, `resume`, `drain`, `cancel`, `throttle` and `retry`."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import (
    AsJson,
    DataDir,
    FromTick,
    Minutes,
    OfKind,
    OfModel,
    OfOwner,
    OfWorker,
    RunName,
    State,
    ToTick,
    Verbose,
    Yes,
    is_confirmed,
    open_state,
    read_settings,
)
from cogitate.ops.formatting.vitals import format_cadence
from cogitate.ops.operator_requests import (
    cadence_request,
    format_outcome,
    parse_job_id,
    retry_requests,
    retryable_matches,
)
from cogitate.scheduler.config.controls import Control, Retry, SetMode
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import EVERY_JOB, JobQuery
from cogitate.scheduler.inspection.stored_run import clock_of
from cogitate.scheduler.inspection.vitals import steering_of
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.operators import ControlOutcome, ask
from cogitate.scheduler.steering.throttle import KIND

WAIT = 30.0  # seconds
REFUSED, WAITS = 1, 3  # exit codes

NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait until the run's host applies it.")]


def request_controls(
    run: str,
    controls: Sequence[Control],
    *,
    named: Sequence[str],
    data_dir: Path | None,
    as_json: bool,
    no_wait: bool,
    reason: str = "",
) -> int:
    """Send control requests to the host, print their outcomes, and return the command's exit code.

    Args:
        named: the name of each request in the output.
        reason: why the operator asks, for the audit trail.
    """
    with open_state(read_settings(data_dir=data_dir)) as client:
        outcomes = ask(client, run, controls, wait=0.0 if no_wait else WAIT, by=_operator(), reason=reason)
    console = Terminal(stderr=as_json)
    for name, outcome in zip(named, outcomes, strict=True):
        console.print(f"{name}: {format_outcome(outcome)}")
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


def pause(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Pause a run after its present tick. Its workers claim no further job; jobs in flight end.

    The run stays paused until `cogitate resume`, also under another host.
    """
    return _set(run, SetMode("paused"), "pause", no_wait, data_dir, as_json, verbose)


def resume(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Resume a paused or draining run.

    To resume a run without a host, use `cogitate run --run RUN --resume`.
    """
    return _set(run, SetMode("running"), "resume", no_wait, data_dir, as_json, verbose)


def drain(
    run: RunName, no_wait: NoWait = False, data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0
) -> int:
    """Stop a run once its open jobs have ended; it admits no new one. A resumed run admits jobs again."""
    return _set(run, SetMode("draining"), "drain", no_wait, data_dir, as_json, verbose)


def cancel(
    run: RunName,
    yes: Yes = False,
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """End a run for good after its present tick and cancel its open jobs. Their cost stays charged.

    This cannot be undone: a cancelled run cannot be resumed. The exit code is 1 when you answer no.
    """
    if not yes and not is_confirmed("cancel", run, f"End run {run} for good? It cannot be resumed."):
        Terminal(stderr=True).print("the run continues")
        return 1
    return _set(run, SetMode("cancelled"), "cancel", no_wait, data_dir, as_json, verbose)


def _set(run: str, control: SetMode, verb: str, no_wait: bool, data_dir: DataDir, as_json: bool, verbose: int) -> int:
    logs.configure(verbose)
    return request_controls(
        run, [control], named=[f"{verb} {run}"], data_dir=data_dir, as_json=as_json, no_wait=no_wait
    )


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
            Terminal(stderr=as_json).print(format_cadence(found))
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


def retry(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="ID…|RUN", help="Ids of jobs of one run; or the run, for all jobs that match."),
    ],
    state: State = None,
    kind: OfKind = None,
    owner: OfOwner = None,
    model: OfModel = None,
    worker: OfWorker = None,
    first: FromTick = None,
    until: ToTick = None,
    minutes: Minutes = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why you ask, for the run's audit trail.")
    ] = "",
    yes: Yes = False,
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Repeat jobs that were late, failed, dead, denied or too_slow: a new job replaces the result of the heuristic.

    The new job is charged to the budget windows of its tick. It is refused if these have no room, or if the heuristic's
    entry was repaired, summarised or pruned meanwhile. Jobs that cannot be repeated are named, and the others sent.

    With the name of a run, the newest matching jobs are repeated, at most as many as may wait for a host. This requires
    a reason and asks for confirmation.
    """
    logs.configure(verbose)
    query = JobQuery(
        state=state, kind=kind, owner=owner, model=model, worker=worker, first=first, last=until, minutes=minutes
    )
    if len(targets) == 1 and "/" not in targets[0]:
        run, faults = targets[0], list[str]()
        with open_state(read_settings(data_dir=data_dir)) as client:
            found = retryable_matches(JobHistory(client, run), query)  # a run that is missing is named first
        if not reason:
            raise ConfigurationError("give --reason TEXT: it stands in the run's audit trail of operators' requests")
        if not found.requests:
            raise InputError(f"run {run!r}: {found.text()}")
        if not yes and not is_confirmed("retry", run, f"{found.text()} Retry {len(found.requests)}?"):
            Terminal(stderr=True).print("nothing was sent")
            return 1
        controls = found.requests
    else:
        if query != EVERY_JOB:
            raise ConfigurationError("filters choose among the jobs of a run: give the run's name instead of ids")
        run, controls, faults = _retries(targets, data_dir)
    for fault in faults:
        typer.echo(f"not sent: {fault}", err=True)
    sent = request_controls(
        run,
        controls,
        named=[f"retry {run}/{one.job}" for one in controls],
        data_dir=data_dir,
        as_json=as_json,
        no_wait=no_wait,
        reason=reason,
    )
    return REFUSED if faults else sent


def _retries(ids: Sequence[str], data_dir: Path | None) -> tuple[str, list[Retry], list[str]]:
    """Return the run of these jobs, the requests to repeat them, and why others of them cannot be repeated.

    Raises:
        InputError: if none can be repeated, or they are of several runs.
    """
    keys = [parse_job_id(one) for one in ids]
    runs = sorted({run for run, _ in keys})
    if len(runs) > 1:
        raise InputError(f"these jobs are of several runs ({', '.join(runs)}): retry those of one run at a time")
    with open_state(read_settings(data_dir=data_dir)) as client:
        controls, faults = retry_requests(JobHistory(client, runs[0]), [key for _, key in keys])
    if not controls:
        raise InputError("; ".join(faults))
    return runs[0], controls, faults
