"""`cogitate job`: show the life of one job from its request to its effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
import typer

from hosting import logs
from hosting.shortfall_lines import format_failure
from hosting.terminal import Terminal
from ops.command_options import AsJson, DataDir, Verbose, read_settings
from ops.formatting.amounts import by_unit, format_cost
from ops.formatting.effects import format_effects
from ops.formatting.run import MEANING
from ops.open_state import open_state
from scheduler.budget.budget import format_cell, format_empty_pool, format_refusal
from scheduler.budget.budget_lines import pools_of
from scheduler.inspection.job_history import JobHistory, JobRecord, LateAnswer
from scheduler.inspection.summary import limits_of
from scheduler.intake.checks import InputError
from scheduler.ledger.run_store import RunStore
from tasks.job import Cost, split_job_id
from workers.jobs.capture import Captured, captured_of

EXAMPLE = "Example: cogitate job town-1/360/plan/agent:isabella/0/0"

_SAVED = ", paid by an identical call"
_STATES = {
    "open": "waits for a result",
    "staged": "has its result, which takes effect at the due tick",
    "dead": "abandoned; its heuristic takes effect at the due tick",
    "held": "refused; its heuristic takes effect at the due tick",
}


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
        refusal = format_refusal(found.refused, limits_of(store).limit_of, pools_of(store).of)
        texts = captured_of(store, settings, key) if prompt else []
    console = Terminal(stderr=as_json)
    for name, text in _life(found, refusal):
        console.print(f"{name:<10} {text}", highlight=False, soft_wrap=True)
    for name, text in _texts(texts) if prompt else ():
        console.print(f"\n{name}\n{text}", highlight=False, soft_wrap=True)
    if as_json:
        kept = {"texts": msgspec.to_builtins(texts)} if prompt else {}
        print(json.dumps(job_json(found) | kept), flush=True)
    return 0


def job_json(one: JobRecord) -> dict[str, Any]:
    """Return all facts of a job for `--json`."""
    facts: dict[str, Any] = msgspec.to_builtins(one)
    if one.late is not None:
        facts["late"]["usage"] = by_unit(one.late.usage)
    costs = {"reserved": one.reserved, "usage": one.usage, "retried": one.retried, "spent": one.spent}
    return facts | {name: by_unit(cost) for name, cost in costs.items()}


def _life(one: JobRecord, refusal: str) -> Iterator[tuple[str, str]]:
    yield "job", one.id
    yield "asked for", f"{one.kind} for {one.owner} at tick {one.tick:,}"
    yield "decision", one.decision + (f": refused by {refusal}" if refusal else "")
    if one.successor:
        yield "next try", one.successor
    if one.due:
        yield "due", f"tick {one.due:,}"
    if one.cells:
        yield "reserved", f"{format_cost(one.reserved)} of {', '.join(map(format_cell, one.cells))}"
    if one.decision == "admitted":
        now = f", now with {', '.join(one.workers)}" if one.workers else ""
        yield "attempts", f"{one.claims}{now}"
    if one.ended:
        yield "end", f"{one.state} at tick {one.ended:,}"
        yield "source", one.source
    else:
        yield "state", f"{one.state}: {_STATES[one.state]}"
    if one.reason != "none":
        meaning = format_reason(one)
        yield "reason", one.reason + (f": {meaning}" if meaning else "")
    if one.failure:
        yield "failure", one.failure + (f" ({one.because})" if one.because else "")
    if one.refusal:
        yield "kind", f"its effects are invalid: {one.refusal}"
    if one.model:
        yield "model", one.model
    if one.prompt:
        yield "prompt", one.prompt
    if one.ended:
        yield "used", format_used(one)
    if one.retried != Cost():
        yield "retries", f"{format_cost(one.retried)} by earlier attempts"
    would = "would" if one.state == "stale" else "effects"
    for line in format_effects(one.effects, one.appended):
        yield would, line
    if one.late is not None:
        yield from _late(one.late)


def format_reason(one: JobRecord) -> str:
    """Return why a job got less than it requested; "" where the reason's name says it all."""
    if one.reason == "failed":
        return format_failure(one.failure)
    return format_dead(one) if one.reason == "dead" else MEANING.get(one.reason, "")


def format_dead(one: JobRecord) -> str:
    """Return why a dead job got no further attempt."""
    if one.empty:
        return format_empty_pool(one.empty)
    lost = "" if one.failure else ", the last of them by a lost worker"
    return f"abandoned after {one.claims} attempts{lost}"


def format_used(one: JobRecord) -> str:
    """Return the usage of the newest attempt of an ended job."""
    if not one.settled:
        return f"not known yet, {format_cost(one.reserved)} at most"
    reasoning = f", {one.reasoning:,} of the tokens for reasoning" if one.reasoning else ""
    return format_cost(one.usage) + reasoning + (_SAVED if one.saved else "")


def _late(answer: LateAnswer) -> Iterator[tuple[str, str]]:
    """Yield what happened to an answer that arrived after the job's end."""
    if answer.end == "applied":
        outcome = "replaced the heuristic's result"
    else:
        outcome = f"was of no use any more{f': {answer.failure}' if answer.failure else ''}"
    yield "late", f"its answer arrived after that, and {outcome} at tick {answer.tick:,}"
    yield "model", answer.model
    for line in format_effects(answer.effects, answer.appended):
        yield "effects" if answer.end == "applied" else "would", line


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
            yield f"{attempt}: failed", one.failure
