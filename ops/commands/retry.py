"""`cogitate retry`: repeat jobs whose heuristics replaced a model."""

from __future__ import annotations

from typing import Annotated

import typer

from cogitate.hosting import logs
from cogitate.ops.command_options import AsJson, DataDir, Verbose, read_settings
from cogitate.ops.commands.control_requests import REFUSED, NoWait, request_controls
from cogitate.ops.open_state import open_state
from cogitate.ops.operator_requests import retry_request
from cogitate.scheduler.config.controls import Retry
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.intake.checks import InputError
from cogitate.tasks.job import split_job_id

EXAMPLE = "Example: cogitate retry town-1/360/plan/agent:isabella/0/0"


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

    The new job is charged to the budget windows of its tick. It is refused if these have no room, or if the heuristic's
    entry was repaired, summarised or pruned meanwhile. Jobs that cannot be repeated are named, and the others sent.
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
        controls: dict[str, Retry] = {}
        faults = []
        for one, (_, key) in zip(ids, keys, strict=True):
            try:
                controls[f"retry {one}"] = retry_request(history.find(key))
            except InputError as error:
                faults.append(str(error))
    if not controls:
        raise InputError("; ".join(faults))
    for fault in faults:
        typer.echo(f"not sent: {fault}", err=True)
    sent = request_controls(
        runs[0], [*controls.values()], named=[*controls], data_dir=data_dir, as_json=as_json, no_wait=no_wait
    )
    return REFUSED if faults else sent
