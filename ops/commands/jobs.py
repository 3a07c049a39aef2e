"""`cogitate jobs` lists a run's jobs that match filters; `cogitate job` shows one from request to effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.command_options import JobFilters, RunOrFile, SharedOptions
from cogitate.ops.formatting.budget import format_cost
from cogitate.ops.formatting.job_life import format_delay, format_shortfall, job_json, job_life
from cogitate.ops.formatting.vitals import format_class
from cogitate.ops.operator_requests import parse_job_id
from cogitate.scheduler.budget.budget import format_refusal
from cogitate.scheduler.budget.budget_lines import pools_of
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.inspection.stored_run import clock_of, limits_of
from cogitate.scheduler.ledger.recorded_answers import RecordedAnswer
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.jobs.stored_texts import recorded_of


def jobs(
    run: RunOrFile,
    *,
    filters: JobFilters,
    most: Annotated[
        int, typer.Option("--last", min=0, metavar="N", help="How many of the newest to show; 0: all.")
    ] = 40,
    options: SharedOptions,
) -> int:
    """List open jobs from the ledger, then ended jobs from the journal, the newest first."""
    with open_run(options.settings(), run) as (client, run):
        history = JobHistory(client, run)
        found = history.newest(most, filters.query())
    console = Terminal(stderr=options.as_json)
    for line in _lines(found) if found else ["no such job"]:
        console.print(line)
    if history.trimmed and (not most or len(found) < most):
        console.print(f"jobs that ended up to tick {history.trimmed:,} are no longer in the journal")
    if options.as_json:
        print(json.dumps({"run": run, "jobs": [_brief(one) for one in found]}), flush=True)
    return 0


def _brief(job: JobRecord) -> dict[str, Any]:
    """Return all facts of a job except its effects, which `cogitate job` shows."""
    facts = job_json(job)
    for part in (facts, facts["late"] or {}):
        part.pop("effects", None)
    return facts


def _lines(found: list[JobRecord]) -> Iterator[str]:
    """Yield rows of aligned columns that never wrap, so that a user can copy an id."""
    any_late = any(one.reason == "late" for one in found)
    rows = [("job", "state", "at tick", "source", "reason", *(("late by",) if any_late else ()), "used", "failure")]
    for one in found:
        at = f"{one.ended:,}" if one.ended else f"due {one.due:,}"
        used = (format_cost(one.spent) if one.settled else "not known") if one.ended else "-"
        source, reason = ("-" if value == "none" else value for value in (one.source, one.reason))
        delay = (format_delay(one) or "-",) if any_late else ()
        rows.append((one.id, one.state, at, source, reason, *delay, used, format_shortfall(one)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip()


def job(
    job_id: Annotated[str, typer.Argument(metavar="ID", help="The job's id, as `cogitate jobs` and Flower show it.")],
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Show its prompts and answers too, if `record` kept them.")
    ] = False,
    *,
    options: SharedOptions,
) -> int:
    """Show a job from its request to its effects: budget, attempts, model, prompt, failure, end, source, reason."""
    run, key = parse_job_id(job_id)
    settings = options.settings()
    with open_run(settings, run) as (client, run):
        found = JobHistory(client, run).find(key)
        store = RunStore.open(client, run)
        limit_of = limits_of(store).limit_of
        clock = clock_of(store)
        with clock.in_force():
            refusal = format_refusal(found.refused, limit_of, pools_of(store).of)
        texts = recorded_of(store, settings, key) if prompt else []
    console = Terminal(stderr=options.as_json)
    with clock.in_force():
        life = list(job_life(found, refusal, limit_of))
    for name, text in life:
        console.print(f"{name:<10} {text}")
    for name, text in _texts(texts) if prompt else ():
        console.print(f"\n{name}\n{text}")
    if options.as_json:
        kept = {"texts": msgspec.to_builtins(texts)} if prompt else {}
        print(json.dumps(job_json(found) | kept), flush=True)
    return 0


def _texts(texts: Sequence[RecordedAnswer]) -> Iterator[tuple[str, str]]:
    if not texts:
        yield "texts", "None are recorded: set `record` before the run, and look within 30 days."
    for one in texts:
        attempt = f"attempt {one.attempt} ({one.model})"
        yield f"{attempt}: system", one.system
        yield f"{attempt}: user", one.user
        if one.answer:
            yield f"{attempt}: {'answer of an identical call' if one.saved else 'answer'}", one.answer
        if one.failure:
            yield f"{attempt}: failed", format_class(one.failure) + (f": {one.fault}" if one.fault else "")
