"""Describes a thought's origin, cost and lateness in words for a reader."""

from __future__ import annotations

from collections.abc import Mapping

from cogitate.memory.clock import clock_in_force, day_and_time, span
from cogitate.ops.formatting.budget import format_cost
from cogitate.ops.formatting.job_life import format_reason, format_used
from cogitate.scheduler.budget.budget import format_window
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.inspection.minds import Written
from cogitate.tasks.job import Cost

_UNITS = {"usd_micros": "dollars"}


def is_by_model(written: Written) -> bool:
    """Return whether an entry is a model's answer, new or reused; otherwise a heuristic wrote it."""
    answer = written.job.late if written.late and written.job.late is not None else written.job
    return answer.source in ("llm", "cached")


def origin_of(written: Written, models: Mapping[str, str]) -> str:
    """Return who wrote an entry: "by the model gpt-5-mini", or "by a heuristic" with the reason why no model did.

    Args:
        models: name of a model in the run -> its name at the endpoint.
    """
    job, late = written.job, written.job.late if written.late else None
    if not is_by_model(written):
        why = _why_no_model(job)
        return f"by a heuristic: {why}" if why else "by a heuristic, without a model"
    model = job.model if late is None else late.model
    by = f"by the model {models.get(model, model)}" if model else "by a model"
    if late is not None:
        return f"{by}, in place of a heuristic's result"
    return by + (", from its earlier answer to the same prompt" if job.source == "cached" else "")


def _why_no_model(job: JobRecord) -> str:
    """Return why a heuristic took the place of a model; "" if no model was to be called."""
    if " " in job.refused:
        return f"the limit of {_limit(job.refused)} had no room for it"
    if job.reason == "late":
        return "the model's answer was not ready in time"
    return format_reason(job) if job.reason != "none" else ""


def _limit(cell: str) -> str:
    """Return the limit of a cell such as "day:0 kind:plan calls" in words: "calls for day 1, for jobs of kind plan"."""
    window, _, rest = cell.partition(" ")
    scope, _, unit = rest.rpartition(" ")
    period, _, index = window.partition(":")
    when = format_window(window)
    if period == "tick" and index.isdecimal():
        when = day_and_time(clock_in_force().minute(int(index)), int(index))
    whose, _, name = scope.partition(":")
    of = {"run": "", "kind": f", for jobs of kind {name}", "owner": ", for this agent"}.get(whose, f", for {scope}")
    return f"{_UNITS.get(unit, unit)} for {'the ' if period == 'run' else ''}{when}{of}"


def cost_of(written: Written) -> str:
    """Return the cost of an entry, including failed attempts."""
    job, late = written.job, written.job.late if written.late else None
    used = format_used(job) if late is None else "nothing" if late.saved else format_cost(late.usage)
    return used if job.retried == Cost() else f"{used}; and {format_cost(job.retried)} for failed attempts"


def lateness_of(written: Written) -> str:
    """Return how long after its due tick an entry took effect, such as "37 game minutes"; "" if in time."""
    late = written.job.late if written.late else None
    if late is None or late.tick <= written.job.due:
        return ""
    return span(clock_in_force().minutes(late.tick - written.job.due))
