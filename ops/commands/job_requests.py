"""The commands that send a run's host requests about jobs, by id or by filters: `retry` and `cancel-jobs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import (
    JobFilters,
    RequestOptions,
    SharedOptions,
    Yes,
    is_confirmed,
    of_server,
    open_state,
)
from cogitate.ops.commands.steer import REFUSED, request_controls
from cogitate.ops.operator_requests import (
    cancel_request,
    cancellable_matches,
    format_control,
    parse_job_id,
    retry_requests,
    retryable_matches,
)
from cogitate.scheduler.config.controls import CancelJobs, Retry
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import EVERY_JOB, JobQuery
from cogitate.scheduler.intake.checks import InputError
from cogitate.tasks.job import JobKey

Targets = Annotated[
    list[str],
    typer.Argument(metavar="ID…|RUN", help="Ids of jobs of one run; or the run, for all jobs that match."),
]


def retry(
    targets: Targets, *, filters: JobFilters, yes: Yes = False, request: RequestOptions, options: SharedOptions
) -> int:
    """Repeat jobs that were late, failed, dead, denied or too_slow: a new job replaces the result of the heuristic.

    The new job is charged to the budget windows of its tick. It is refused if these have no room, or if the heuristic's
    entry was repaired, summarised or pruned meanwhile. The command names jobs that cannot be repeated, and sends the
    others.

    With the name of a run, it repeats the newest matching jobs, at most as many as may wait for a host. This requires a
    reason and asks for confirmation.
    """
    query = filters.query()
    if run := _run_of(targets):
        faults = list[str]()
        with open_state(options.settings()) as client:
            found = retryable_matches(
                JobHistory(client, run), query
            )  # a missing run is reported before a missing reason
        _check_reason(request.reason)
        if not found.requests:
            raise InputError(f"run {run!r}: {found.text()}")
        if not yes and not is_confirmed("retry", run, f"{found.text()} Retry {len(found.requests)}?"):
            Terminal(stderr=True).print("nothing was sent")
            return 1
        controls = found.requests
    else:
        _check_no_filters(query)
        run, controls, faults = _retries(targets, options)
    for fault in faults:
        typer.echo(f"not sent: {fault}", err=True)
    sent = request_controls(run, controls, [f"retry {run}/{one.job}" for one in controls], request, options)
    return REFUSED if faults else sent


def cancel_jobs(
    targets: Targets, *, filters: JobFilters, yes: Yes = False, request: RequestOptions, options: SharedOptions
) -> int:
    """Cancel open jobs while their run continues: workers call no model for them any more, and heuristics replace them.

    The heuristic's result takes effect when the answer was due. An answer in flight is discarded, and its cost stays
    charged. A job that has ended meanwhile is no error: the outcome counts such jobs.

    With the name of a run, the command asks for confirmation, and cancels all open jobs that match; without filters,
    every one. The run itself continues. A reason is required.
    """
    _check_reason(request.reason)
    query = filters.query()
    if run := _run_of(targets):
        with open_state(options.settings()) as client:
            found = cancellable_matches(JobHistory(client, run), query)
        if not found.jobs:
            raise InputError(f"run {run!r}: {found.text()}")
        if not yes and not is_confirmed("cancel-jobs", run, f"{found.text()} Cancel {len(found.jobs):,}?"):
            Terminal(stderr=True).print("nothing was sent")
            return 1
        control = CancelJobs(tuple(found.jobs))
    else:
        _check_no_filters(query)
        run, keys = _keys_of(targets)
        with open_state(options.settings()) as client:
            control = cancel_request(JobHistory(client, run), keys)
    return request_controls(run, [control], [format_control(control)], request, options)


def _retries(ids: Sequence[str], options: SharedOptions) -> tuple[str, list[Retry], list[str]]:
    """Return the run of these jobs, the requests to repeat them, and the reasons why the others cannot be repeated.

    Raises:
        InputError: if no job can be repeated, or the jobs are of several runs.
    """
    run, keys = _keys_of(ids)
    with open_state(options.settings()) as client:
        controls, faults = retry_requests(JobHistory(client, run), keys)
    if not controls:
        raise InputError("; ".join(faults))
    return run, controls, faults


def _run_of(targets: Sequence[str]) -> str:
    """Return the run whose jobs the filters select; "" if the targets are ids of jobs.

    Raises:
        InputError: if the target is the file of a capsule.
    """
    return of_server(targets[0]) if len(targets) == 1 and "/" not in targets[0] else ""


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise ConfigurationError("give --reason TEXT, for the run's audit trail")


def _check_no_filters(query: JobQuery) -> None:
    if query != EVERY_JOB:
        raise ConfigurationError("filters select among the jobs of a run: give the run's name instead of ids")


def _keys_of(ids: Sequence[str]) -> tuple[str, list[JobKey]]:
    """Return the run of these jobs, and their keys.

    Raises:
        InputError: if a text is not the id of a job, or the jobs are of several runs.
    """
    keys = [parse_job_id(text) for text in ids]
    runs = sorted({run for run, _ in keys})
    if len(runs) > 1:
        raise InputError(f"these jobs are of several runs ({', '.join(runs)}): name those of one run at a time")
    return runs[0], [key for _, key in keys]
