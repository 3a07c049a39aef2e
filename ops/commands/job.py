"""`cogitate job`: show the life of one job from its request to its effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, Verbose, read_settings
from cogitate.ops.formatting.endpoints import format_class
from cogitate.ops.formatting.job_life import job_json, job_life
from cogitate.ops.open_state import open_state
from cogitate.scheduler.budget.budget import format_refusal
from cogitate.scheduler.budget.budget_lines import pools_of
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.run_clock import clock_of
from cogitate.scheduler.inspection.summary import limits_of
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import split_job_id
from cogitate.workers.jobs.capture import Captured, captured_of

EXAMPLE = "Example: cogitate job town-1/360/plan/agent:isabella/0/0"


def job(
    job_id: Annotated[str, typer.Argument(metavar="ID", help="The job's id, as `cogitate jobs` and Flower show it.")],
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Also show its prompts and answers, if `capture` kept them.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show a job from its request to its effects: budget, attempts, model, prompt, failure, end, source, reason."""
    logs.configure(verbose)
    try:
        run, key = split_job_id(job_id)
    except ValueError as error:
        raise InputError(str(error)) from error
    settings = read_settings(data_dir=data_dir)
    with open_state(settings) as client:
        found = JobHistory(client, run).find(key)
        store = RunStore.open(client, run)
        limit_of = limits_of(store).limit_of
        clock = clock_of(store)
        with clock.in_force():
            refusal = format_refusal(found.refused, limit_of, pools_of(store).of)
        texts = captured_of(store, settings, key) if prompt else []
    console = Terminal(stderr=as_json)
    with clock.in_force():
        life = list(job_life(found, refusal, limit_of))
    for name, text in life:
        console.print(f"{name:<10} {text}", highlight=False, soft_wrap=True)
    for name, text in _texts(texts) if prompt else ():
        console.print(f"\n{name}\n{text}", highlight=False, soft_wrap=True)
    if as_json:
        kept = {"texts": msgspec.to_builtins(texts)} if prompt else {}
        print(json.dumps(job_json(found) | kept), flush=True)
    return 0


def _texts(texts: Sequence[Captured]) -> Iterator[tuple[str, str]]:
    if not texts:
        yield "texts", "None are stored: set `capture` before the run, and look within `capture_hours`."
    for one in texts:
        attempt = f"attempt {one.attempt} ({one.model})"
        yield f"{attempt}: system", one.system
        yield f"{attempt}: user", one.user
        if one.answer:
            yield f"{attempt}: {'answer of an identical call' if one.saved else 'answer'}", one.answer
        if one.failure:
            yield f"{attempt}: failed", format_class(one.failure) + (f": {one.fault}" if one.fault else "")
