"""The HTML page of what agents remember: a timeline, and each thought with its evidence and its job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import DAY, clock_in_force, clock_time, day_and_time, span
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.stream import Stream
from cogitate.ops.formatting.budget import format_cost
from cogitate.ops.formatting.job_life import format_reason, format_used, job_life
from cogitate.ops.report.minds_promises import (
    of_others,
    promises_data,
    remembered_promises,
)
from cogitate.ops.report.page import script_data, script_page, write_page
from cogitate.scheduler.budget.budget import format_window
from cogitate.scheduler.config.limits import LimitUnit
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.inspection.minds import Mind, Owner, Written
from cogitate.tasks.job import Cost

LANES = {
    "observed": "Observation",
    "talk": "Talk",
    "plans": "Plan",
    "reflections": "Reflection",
    "summaries": "Summary",
}
"""Lanes of the timeline, and the name of an entry in each."""
MOST_FOUND = 500  # the most memories that a search lists
_LANE = {"observation": 0, "message": 1, "plan": 2, "reflection": 3, "summary": 4}
_STEPS = (
    *("asked for", "decision", "source", "reason", "failure", "kind", "model", "attempts", "attempt", "used"),
    *("retries", "memories", "prompt", "due", "end", "late"),
)
"""The steps of a job's life that its thought's card shows; `cogitate job` shows all."""


class ShownRun(NamedTuple):
    """A run on the page."""

    run: str
    at: str  # the time of the memories in game time, in words
    tick: int  # the same as a tick
    times: str  # the format in which its clock names times of day; "": it has none
    trimmed: int  # the tick after which its journal begins
    owners: list[Owner]
    minds: list[Markup] | None  # each owner's memories as script data; None: the page fetches them from its server


def shown_run(run: str, tick: int, minute: int, trimmed: int, owners: Iterable[Owner]) -> ShownRun:
    """Return a run whose memories the page fetches from its server. The clock in force names its times."""
    clock = clock_in_force()
    names = clock.names if clock.has_times else ""
    return ShownRun(run, day_and_time(minute), tick, names, trimmed, list(owners), None)


def shown_minds(
    run: str, tick: int, minute: int, trimmed: int, minds: Sequence[Mind], models: Mapping[str, str]
) -> ShownRun:
    """Return a run with all of its memories. The clock in force names its times.

    Args:
        models: name of a model in the run -> its name at the endpoint.
    """
    promises = {
        mind.owner.id: remembered_promises(mind.owner.id, mind.stream.entries.values(), mind.names) for mind in minds
    }
    others = of_others(chain.from_iterable(promises.values()))
    data = []
    for mind in minds:
        shown = promises_data(promises[mind.owner.id], others.get(mind.owner.id, ()))
        data.append(script_data({**mind_data(mind, models), "promises": shown}))
    return shown_run(run, tick, minute, trimmed, (mind.owner for mind in minds))._replace(minds=data)


def write_minds(shown: Sequence[ShownRun], path: Path) -> None:
    """Write the page of one run, or of two side by side, with all memories.

    Raises:
        OSError: when the file cannot be written.
    """
    write_page(minds_page(shown), path)


def minds_page(shown: Sequence[ShownRun], *, at: str = "", runs: Sequence[str] = ()) -> str:
    """Return the page of one run, or of two side by side.

    Args:
        at: the time that a visitor requested; "": now.
        runs: the runs that the page's server offers, if there are several.
    """
    served = any(one.minds is None for one in shown)
    owners = [
        [visible(owner.id), visible(owner.name), index] for index, one in enumerate(shown) for owner in one.owners
    ]
    about = {
        "runs": [visible(one.run) for one in shown],
        "at": visible(at),
        "served": served,
        "lanes": [*LANES],
        "types": [*LANES.values()],
        "trimmed": [one.trimmed for one in shown],
        "owners": owners,
        "clock": shown[0].times,
        "found": MOST_FOUND,
    }
    return script_page(
        "minds",
        parts=("minds_card", "minds_agent", *(("minds_served",) if served else ())),
        asks=served,
        shown=shown,
        runs=runs,
        at=at,
        about=script_data(about),
        minds=[mind for one in shown for mind in one.minds or ()],
    )


def mind_data(mind: Mind, models: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return an owner's memories, without its promises.

    Args:
        models: name of a model in the run -> its name at the endpoint.
    """
    clock = clock_in_force()
    entries = sorted(mind.stream.entries.values(), key=lambda entry: (entry.minute, entry.number))
    return {
        "owner": visible(mind.owner.id),
        "name": visible(mind.owner.name),
        "left": mind.owner.left,
        "summary": visible(mind.stream.head.summary),
        "days": {str(day): clock.day_window(day) for day in sorted({entry.minute // DAY for entry in entries})},
        "entries": [entry_data(mind.stream, entry, mind.written.get(entry.number), models) for entry in entries],
        "places": {
            visible(place): visible(mind.names[place])
            for place in sorted({entry.location for entry in entries} & mind.names.keys())
        },
        "relations": {visible(who): visible(words) for who, words in mind.stream.head.character.relationships.items()},
    }


def entry_data(
    stream: Stream, entry: Entry, written: Written | None = None, models: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return an entry without fields that are empty, since a page may have a hundred thousand entries."""
    marks, archived = stream.marks.get(entry.number), stream.archived.get(entry.number)
    facts: dict[str, Any] = {
        "n": entry.number,
        "lane": 1 if is_dialogue(entry) else _LANE[entry.type],
        "minute": entry.minute,
        "time": clock_time(entry.minute, entry.tick),
        "tick": entry.tick,
        "text": visible(entry.text),
        "importance": entry.importance,
        "evidence": list(entry.evidence),
        "subjects": [visible(subject) for subject in entry.subjects],
        "items": [
            [
                "" if item.minute is None else clock_time(item.minute),
                visible(item.description),
                stream.head.plan_status.get(item.id, item.status),
            ]
            for item in entry.items
        ],
        "location": visible(entry.location),
        "provisional": entry.provisional,
        "heuristic": entry.provisional,
        "repeats": marks.repeats if marks is not None else 0,
        "archived": archived.tick if archived is not None else 0,
        "into": archived.into if archived is not None else 0,
        "gone": day_and_time(clock_in_force().minute(archived.tick)) if archived is not None else "",
    }
    if written is not None:
        facts |= writing_data(written, models or {})
    return {name: value for name, value in facts.items() if value or name == "lane"}


def writing_data(written: Written, models: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts about the job that wrote an entry.

    Args:
        models: name of a model in the run -> its name at the endpoint.
    """
    job, by_model = written.job, is_by_model(written)
    return {
        "job": visible(job.id),
        "steps": _steps(job),
        "model": by_model,
        "heuristic": not by_model,
        "origin": visible(origin_of(written, models)),
        "cost": cost_of(written),
        "lateness": lateness_of(written),
        "requested": day_and_time(clock_in_force().minute(job.tick), job.tick),
        "replaced": written.replaced,
        "shown": written.shown,
        "asked": job.tick if written.chosen else 0,
        "changes": [_texts(one.data, "agent", "change", "reason") for one in written.relations],
    }


def _texts(data: Mapping[str, Any], *names: str) -> list[str]:
    return [visible(str(data.get(name, ""))) for name in names]


def _steps(job: JobRecord) -> list[list[str]]:
    """Return the steps of a job that explain its thought, as [name, text]."""
    return [[name, visible(text)] for name, text in job_life(job, "", _no_limit, texts=False) if name in _STEPS]


def _no_limit(window: str, scope: str, unit: LimitUnit) -> None:
    return None


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
