"""The life of one job in lines, from its request to its effects, for `cogitate job` and Flower's page of a job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from cogitate.hosting.shortfalls import format_failure
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    ForgetWaiting,
    MarkAccessed,
    Rate,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    TakeWaiting,
    Tell,
)
from cogitate.ops.formatting.budget import by_unit, format_cost
from cogitate.ops.formatting.vitals import format_class
from cogitate.scheduler.budget.budget import format_empty_pool, format_limited_cell
from cogitate.scheduler.config.limits import LIMIT_UNITS, LimitUnit
from cogitate.scheduler.inspection.job_records import JobRecord, LateAnswer
from cogitate.scheduler.journal.ends import MEANING
from cogitate.scheduler.ledger.claims import Tried
from cogitate.tasks.job import Cost

LimitOf = Callable[[str, str, LimitUnit], int | None]  # by window, scope and unit
_STATES = {
    "open": "waits for a result",
    "staged": "has a result, which takes effect at the due tick",
    "dead": "abandoned; its heuristic takes effect at the due tick",
    "held": "refused; its heuristic takes effect at the due tick",
}


def job_json(one: JobRecord) -> dict[str, Any]:
    """Return all facts of a job for `--json`."""
    facts: dict[str, Any] = msgspec.to_builtins(one)
    if one.late is not None:
        facts["late"]["usage"] = by_unit(one.late.usage)
    costs = {"reserved": one.reserved, "usage": one.usage, "retried": one.retried, "spent": one.spent}
    return facts | {name: by_unit(cost) for name, cost in costs.items()}


def job_life(one: JobRecord, refusal: str, limit_of: LimitOf, *, texts: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the life of a job as (name, text), in the order of its steps.

    Args:
        refusal: the limit that refused it, in words.
        limit_of: returns the limit of a window, scope and unit, if there is one.
        texts: whether to show the texts of memories in effects.
    """
    yield "job", one.id
    yield "asked for", f"{one.kind} for {one.owner} at tick {one.tick:,}"
    yield "decision", one.decision + (f": refused by {refusal}" if refusal else "")
    if one.successor:
        yield "next try", one.successor
    if one.due:
        yield "due", f"tick {one.due:,}"
    if one.cells:
        yield "reserved", format_cost(one.reserved) + _of_limits(one, limit_of)
    if one.decision == "admitted":
        now = f", now with {', '.join(one.workers)}" if one.workers else ""
        by = f", the last by {one.worker}" if one.worker else ""
        yield "attempts", f"{one.claims}{now}{by}"
        yield from _tries(one.tries)
    if one.ended:
        yield "end", f"{one.state} at tick {one.ended:,}"
        yield "source", one.source
    else:
        yield "state", f"{one.state}: {_STATES[one.state]}"
    if one.reason != "none":
        meaning = format_reason(one)
        yield "reason", one.reason + (f": {meaning}" if meaning else "")
    if one.failure:
        yield "failure", format_class(one.failure) + (f" ({format_class(one.because)})" if one.because else "")
    if one.refusal:
        yield "kind", f"its code failed: {one.refusal}"
    if one.model:
        yield "model", one.model
    if one.prompt:
        yield "prompt", one.prompt
    if one.hybrid:
        yield "memories", "chosen by words and vectors"
    if one.ended:
        yield "used", format_used(one)
    if one.retried != Cost():
        yield "retries", f"{format_cost(one.retried)} by earlier attempts"
    would = "would" if one.state == "stale" else "effects"
    for line in format_effects(one.effects, one.appended, texts=texts):
        yield would, line
    if one.late is not None:
        yield from _late(one.late, texts)


def format_reason(one: JobRecord) -> str:
    """Return why a job was degraded; "" if the reason's name suffices."""
    if one.reason == "failed":
        return format_failure(one.failure)
    if one.state == "cancelled":
        by_operator = "by an operator" + (f": {one.because}" if one.because else "")
        return by_operator if one.successor else "its owner left, or the run was cancelled"
    return format_dead(one) if one.reason == "dead" else MEANING.get(one.refused, MEANING.get(one.reason, ""))


def format_dead(one: JobRecord) -> str:
    """Return why a dead job got no further attempt."""
    if one.empty:
        return format_empty_pool(one.empty)
    lost = "" if one.failure else ", the last of them by a lost worker"
    return f"abandoned after {one.claims} attempts{lost}"


def format_shortfall(one: JobRecord) -> str:
    """Return the failure of a job's last attempt, and why a dead job got no further one; "" without either."""
    return "; ".join(filter(None, (format_class(one.failure), format_dead(one) if one.reason == "dead" else "")))


def format_delay(one: JobRecord) -> str:
    """Return how late the answer of a late job arrived, or that none has; "" for other jobs."""
    if one.reason != "late":
        return ""
    if one.late is None:
        return "no answer so far" if one.claims else "no worker took it"
    ticks = one.late.tick - one.ended
    return f"{ticks:,} tick{'' if ticks == 1 else 's'}"


def format_used(one: JobRecord) -> str:
    """Return the usage of the newest attempt of an ended job."""
    if not one.settled:
        return f"not known yet, {format_cost(one.reserved)} at most"
    reasoning = f", {one.reasoning:,} of the tokens for reasoning" if one.reasoning else ""
    vectors = f", {one.embedded:,} of the tokens for vectors" if one.embedded else ""
    packed = f", its share of one request for {one.packed} jobs" if one.packed else ""
    less = f", ${one.discount / 1e6:,.6f} less than in the standard one" if one.discount else ""
    tier = f", in the service tier {one.service_tier}{less}" if one.service_tier else ""
    return format_cost(one.usage) + reasoning + vectors + packed + tier + (_saved(one) if one.saved else "")


def _saved(one: JobRecord) -> str:
    """Return which call paid for an answer that cost this attempt nothing."""
    if one.retried == Cost():
        return ", paid by an identical call"
    return f", of a call that was paid for earlier; this job's earlier attempts paid {format_cost(one.retried)}"


def _of_limits(one: JobRecord, limit_of: LimitOf) -> str:
    """Return the limited cells that a reservation is charged to; "" without a limit."""
    limited = []
    for cell in one.cells:
        window, _, scope = cell.partition(" ")
        if any(limit_of(window, scope, unit) is not None for unit in LIMIT_UNITS):
            limited.append(cell)
    return f" of {', '.join(map(format_limited_cell, limited))}" if limited else ""


def _tries(tries: Sequence[Tried]) -> Iterator[tuple[str, str]]:
    """Yield the usage of each attempt that the worker with the result made."""
    for one in tries:
        why = f": {format_class(one.failure)}" if one.failure else ""
        yield "attempt", f"{one.number} by {one.model}: {one.ms / 1000:,.2f} s, {format_cost(one.used)}{why}"


def _late(answer: LateAnswer, texts: bool) -> Iterator[tuple[str, str]]:
    """Yield what happened to an answer that arrived after the job's end."""
    if answer.end == "applied":
        outcome = "replaced the heuristic's result"
    else:
        outcome = f"was of no use by then{f': {answer.failure}' if answer.failure else ''}"
    yield "late", f"its answer arrived after that, and {outcome} at tick {answer.tick:,}"
    yield "model", answer.model
    yield from _tries(answer.tries)
    for line in format_effects(answer.effects, answer.appended, texts=texts):
        yield "effects" if answer.end == "applied" else "would", line


def format_effects(effects: Sequence[Effect], appended: Sequence[int], *, texts: bool = True) -> Iterator[str]:
    """Yield a line for each effect, in the order in which they are applied.

    Args:
        appended: the numbers of the appended entries; empty if no effect was applied.
        texts: whether to show the texts of memories and of messages to the world.
    """
    numbers = iter(appended)
    for effect in effects:
        match effect:
            case Append(entry=entry, replaces=replaces):
                number = next(numbers, None)
                named = f" as entry {number}" if number is not None else ""
                kept = ", provisional" if entry.provisional else ""
                instead = f", in place of entry {replaces}" if replaces else ""
                content = f": {entry.text}" if texts else ""
                article = "an" if entry.type == "observation" else "a"
                text = f"append {article} {entry.type}{named}{kept}{instead}{content}"
                if entry.items:
                    text += f" ({len(entry.items)} items)"
            case Archive():
                into = " into the entry just appended" if effect.into_appended else ""
                into = " into the long-term summary" if effect.into_summary else into
                text = f"archive {_entries(effect.numbers)}{into}"
            case ReplaceSummary():
                content = f": {effect.text}" if texts else ""
                text = f"replace version {effect.version} of the long-term summary{content}"
            case TakeWaiting():
                text = f"append the oldest {effect.count} waiting observations"
            case ForgetWaiting():
                text = f"forget {effect.count} waiting observations"
            case SetCharacter():
                text = "replace the description of the character"
            case SetPlanStatus():
                text = f"plan item {effect.item}: {effect.expects} becomes {effect.status}"
            case AdvanceCursor():
                text = f"move the cursor {effect.name} from {effect.start} to {effect.end}"
            case SetCounter():
                text = f"set the counter {effect.name} to {effect.value}"
            case MarkAccessed():
                text = f"mark {_entries(effect.numbers)} as read"
            case Rate():
                pairs = zip(effect.numbers, effect.ratings, strict=False)
                text = "rate " + ", ".join(f"entry {number} as {rating}" for number, rating in pairs)
            case Tell():
                content = f": {json.dumps(effect.data, ensure_ascii=False)}" if texts else ""
                text = f"tell the world of {effect.topic}{content}"
        yield f"{effect.owner}: {text}"


def _entries(numbers: Sequence[int]) -> str:
    return f"entr{'y' if len(numbers) == 1 else 'ies'} {', '.join(map(str, numbers)) or 'none'}"
