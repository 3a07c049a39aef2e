"""Pass the boundary of a tick: give every job that is due its one end, in canonical order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Append, Effect
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.repairs import failed_repair
from cogitate.scheduler.engine.open_jobs import OpenJob, reservation
from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, KindEffects, made_without_model, without_strangers
from cogitate.scheduler.journal.ends import Change
from cogitate.scheduler.journal.lines import Ended, EndNote, reason_of
from cogitate.scheduler.latency.due_ticks import TOO_SLOW
from cogitate.scheduler.ledger.claims import Reason, Result
from cogitate.scheduler.ledger.step_replies import DueJob
from cogitate.tasks.job import Cost, JobKey
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.recall import replaced_entry

_WITHOUT_RESULT: Mapping[str, Reason] = {"open": "late", "dead": "dead"}
#: Fields that a note copies from the result.
OF_RESULT = sorted(set(Result.__struct_fields__) & set(EndNote.__struct_fields__))


class Closing(NamedTuple):
    """The end of a job, or the late answer to it."""

    ended: Ended
    note: EndNote
    counts_as: Cost  # the job's cost in admission's view from now on; nothing for a late answer
    changes: tuple[Change, ...]


def close_due(
    rows: Sequence[DueJob],
    open_jobs: Mapping[JobKey, OpenJob],
    streams: Mapping[str, Stream],
    *,
    tick: int,
    kind_of: Callable[[str], Kind],
    case_of: Callable[[OpenJob], Case],
    made_ahead: Callable[[DueJob], KindEffects | None] = lambda row: None,
    retired: Collection[str] = (),
) -> list[Closing]:
    """End every job of `rows` and apply its effects to `streams`.

    The order is (due tick, kind order, owner, ordinal, enqueue tick), regardless of which job finished first. A job
    without a result gets the effects of its kind's heuristic, computed here from the entries that the job may read
    unless the host computed them ahead. In that case a job that asks no model is in time, because a worker would have
    computed the same.

    Args:
        made_ahead: returns the effects of a job's heuristic if the host computed them ahead, else None.
        retired: the owners that have left. Effects for them are stale; effects for an unknown owner are refused.
    """
    ordered = sorted(
        rows,
        key=lambda row: (
            open_jobs[row.key].job.due,
            kind_of(row.key.kind).order,
            row.key.owner,
            row.key.ordinal,
            row.key.tick,
            row.key.trial,
        ),
    )

    def without_model(row: DueJob) -> KindEffects:
        made = made_ahead(row)
        if made is None:
            made = made_without_model(kind_of(row.key.kind), case_of(open_jobs[row.key]))
        return known_only(row, made, "heuristic")

    def known_only(row: DueJob, made: KindEffects, method: str) -> KindEffects:
        kind = kind_of(row.key.kind)
        return without_strangers(kind, made, method, lambda owner: owner in streams or owner in retired)

    def is_in_time(row: DueJob) -> bool:
        return row.state == "open" and not open_jobs[row.key].job.model and made_ahead(row) is not None

    return [
        _close(row, open_jobs[row.key], streams, tick, kind_of(row.key.kind), without_model, known_only, is_in_time)
        for row in ordered
    ]


def cancelled(item: OpenJob, because: str = "") -> Closing:
    """Return the end of a cancelled job.

    It keeps its full reservation for now, because the cost of its attempts may still be unknown.

    Args:
        because: the operator's reason for cancelling it.
    """
    key = item.job.key
    ended = Ended(key=key, end="cancelled", reason="cancelled")
    return Closing(ended, EndNote(key=key, source="none", because=because), reservation(item), ())


def _close(
    row: DueJob,
    item: OpenJob,
    streams: Mapping[str, Stream],
    tick: int,
    kind: Kind,
    without_model: Callable[[DueJob], KindEffects],
    known_only: Callable[[DueJob, KindEffects, str], KindEffects],
    is_in_time: Callable[[DueJob], bool],
) -> Closing:
    result = row.result if row.state == "staged" else None
    if result is not None and result.reason == "late":  # in a fork: late in its source, even if it was answered later
        row, result = row._replace(state="open", arrival=0, claims=max(row.claims, int(result.late > 0))), None
    if result is None:
        made = without_model(row)
        reason = _WITHOUT_RESULT.get(row.state) or reason_of(item.job.refused)  # held
        failure = row.failure or (EFFECTS_REFUSED if made.refusal else "")
        if is_in_time(row) and not made.refusal:
            reason, failure = "none", ""
        model = item.job.model if row.failure else ""
        result = Result(
            effects=made.effects,
            source="heuristic",
            reason=reason,
            model=model,
            failure=failure,
            refusal=made.refusal,
            because="" if failure or reason not in ("denied", "too_slow") else item.job.refused.replace(TOO_SLOW, ""),
        )
        counts_as = Cost() if reason == "none" else reservation(item)
    else:
        counts_as = result.usage
        by_model = result.source in ("llm", "cached")
        used = known_only(row, KindEffects(result.effects), "effects" if by_model else "heuristic")
        if used.refusal:  # the heuristic's effects apply instead; if it fails too, none do
            made = without_model(row) if by_model else used
            result = msgspec.structs.replace(
                result,
                effects=made.effects,
                source="heuristic",
                failure=result.failure or EFFECTS_REFUSED,
                reason="failed" if result.reason == "none" else result.reason,
                refusal=used.refusal,
            )
    effects = result.effects
    if result.reason != "none" and replaced_entry(item.job):
        effects = (failed_repair(row.key.owner, item.job.minute),)
    elif result.reason != "none" and kind.output_cap:  # the result of a kind without a model is final
        effects = provisional(effects)
    ended = Ended(key=row.key, end="applied", reason=result.reason, effects=effects)
    note = msgspec.structs.replace(note_of(row.key, result, row.claims, row.arrival), empty=row.empty)
    return close(ended, note, counts_as, streams, tick)


def note_of(key: JobKey, result: Result, attempts: int = 0, arrival: int = 0) -> EndNote:
    """Return the circumstances of a job's end with a result."""
    copied = {name: getattr(result, name) for name in OF_RESULT}
    return EndNote(key=key, attempts=attempts, arrival=arrival, **copied)


def close(ended: Ended, note: EndNote, counts_as: Cost, streams: Mapping[str, Stream], tick: int) -> Closing:
    """Apply the effects of an end; if a precondition fails, apply none and make the end stale."""
    effects, replace = ended.effects, msgspec.structs.replace
    failed = unmet(streams, effects)
    if failed is not None:
        return Closing(replace(ended, end="stale"), replace(note, failure=failed), counts_as, ())
    appended = apply(streams, effects, tick)
    entries = iter(appended)
    changes = tuple(
        Change(
            effect.owner,
            effect,
            next(entries) if isinstance(effect, Append) else None,
            ended.key.kind,
            note.source,
            ended.reason,
        )
        for effect in effects
    )
    return Closing(ended, replace(note, appended=tuple(entry.number for entry in appended)), counts_as, changes)


def provisional(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return the effects with their entries marked as provisional, so a repair may replace them."""
    return tuple(
        msgspec.structs.replace(effect, entry=msgspec.structs.replace(effect.entry, provisional=True))
        if isinstance(effect, Append)
        else effect
        for effect in effects
    )
