"""`cogitate retry`: repeat jobs with a model whose heuristics had to stand in."""

from __future__ import annotations

from typing import Annotated

import typer

from hosting import logs
from ops.command_options import AsJson, DataDir, Verbose, read_settings
from ops.commands.control_requests import NoWait, request_controls
from ops.open_state import open_state
from scheduler.config.controls import Retry
from scheduler.inspection.job_history import JobHistory, JobRecord
from scheduler.intake.checks import InputError
from tasks.job import split_job_id

EXAMPLE = "Example: cogitate retry town-1/360/plan/agent:isabella/0/0"

RETRYABLE = ("late", "failed", "dead", "denied", "too_slow")


def retry(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="Ids of jobs of one run, as `cogitate jobs` shows them.")
    ],
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Repeat jobs that were late, failed, dead, denied or too_slow: a new job replaces the result of the heuristic.

    The new job is charged to the budget windows of its own tick. It is refused where these have no room, and where the
    heuristic's entry was repaired, summarised or pruned meanwhile.
    """
    logs.configure(verbose)
    try:
        keys = [split_job_id(one) for one in ids]
    except ValueError as error:
        raise InputError(str(error)) from error
    runs = sorted({run for run, _ in keys})
    if len(runs) > 1:
        raise InputError(f"these jobs are of several runs ({', '.join(runs)}): retry those of one run at a time")
    with open_state(read_settings(data_dir=data_dir)) as client:
        history = JobHistory(client, runs[0])
        controls = [_retry(history.find(key)) for _, key in keys]
    names = [f"retry {one}" for one in ids]
    return request_controls(runs[0], controls, named=names, data_dir=data_dir, as_json=as_json, no_wait=no_wait)


def _retry(job: JobRecord) -> Retry:
    """Return the control request for a job.

    Raises:
        InputError: when there is nothing to repeat.
    """
    if not job.ended:
        raise InputError(f"job {job.id} has not ended yet: it is due at tick {job.due}")
    if job.reason not in RETRYABLE:
        raise InputError(
            f"job {job.id} has the result it requested: only jobs that are {', '.join(RETRYABLE)} can be retried"
        )
    if not job.appended:
        raise InputError(f"job {job.id} ended {job.state} and left no entry that could be replaced")
    return Retry(job=job.id.partition("/")[2], owner=job.owner, numbers=tuple(job.appended))
