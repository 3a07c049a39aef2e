"""`cogitate retry`: ask a model again for what jobs had to leave to their heuristics."""

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

AGAIN = ("late", "failed", "dead", "denied", "too_slow")


def retry(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Jobs of one run, as `cogitate jobs` shows them.")],
    no_wait: NoWait = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Ask again about jobs that were late, failed, dead, denied or too_slow: a new job replaces what was made.

    It is charged to the windows of its own tick, and refused where there is no room, or where what the heuristic made
    was repaired, summarised or pruned meanwhile.
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
    """The request for a job.

    Raises:
        InputError: when there is nothing to ask again.
    """
    if not job.ended:
        raise InputError(f"job {job.id} has not ended yet: it is due at tick {job.due}")
    if job.reason not in AGAIN:
        raise InputError(f"job {job.id} got what it asked for: only jobs that are {', '.join(AGAIN)} can be retried")
    if not job.appended:
        raise InputError(f"job {job.id} ended {job.state} and left nothing that could be replaced")
    return Retry(job=job.id.partition("/")[2], owner=job.owner, numbers=tuple(job.appended))
