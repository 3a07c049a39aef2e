"""The ends of jobs: the changes that they make, the form in which a host gets them, and counts of missing answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.scheduler.budget.budget import format_empty_pool, format_no_room
from cogitate.scheduler.budget.value_round import LOW_VALUE
from cogitate.scheduler.config.controls import CancelJobs, SetMode
from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, PROMPT_FAILED
from cogitate.scheduler.journal.lines import Core, Ended, EndNote, ReadLine, reason_of
from cogitate.scheduler.latency.due_ticks import RUN_ENDS
from cogitate.scheduler.ledger.claims import KIND_FAILED, UNUSABLE, Reason, Source, named_failure
from cogitate.tasks.job import job_id


class Change(NamedTuple):
    """One applied effect, in the form that the host's world gets."""

    owner: str
    effect: Effect
    entry: Entry | None  # the numbered entry, if the effect appended one
    kind: str
    source: Source
    reason: Reason


def changes_of_end(ended: Ended, note: EndNote, tick: int) -> Iterator[Change]:
    if ended.end != "applied":
        return
    numbers = iter(note.appended)
    for effect in ended.effects:
        entry = None
        if isinstance(effect, Append):
            entry = msgspec.structs.replace(effect.entry, number=next(numbers), tick=tick)
        yield Change(effect.owner, effect, entry, ended.key.kind, note.source, ended.reason)


HowEnded = Literal["applied", "refused", "stale", "cancelled", "dropped", "deferred"]
LEFT = "left"  # refusal of a request for an owner that leaves with the same tick
#: Explanations of reasons and refusals.
MEANING: Mapping[str, str] = {
    "denied": "refused by a limit of the budget",
    "too_slow": "no answer was expected by the due tick, so the model was not called",
    LOW_VALUE: "its expected value is below what the limits of the day afford",
    RUN_ENDS: "its answer would come after the run's last tick, so the model was not called",
    "late": "not ready when due",
    "failed": "without a usable answer of a model, or the code of the kind failed",
    "dead": "abandoned after too many attempts, or because a retry pool was empty",
    "cancelled": "an operator cancelled its call",
}


class JobEnd(NamedTuple):
    """The end of one job.

    `end` is "applied": its effects took effect, if it had any; "refused": its kind returned an unusable result;
    "stale": a precondition of its effects no longer held; "cancelled": an owner has left, or an operator cancelled the
    job, and job `next` applies its heuristic; "dropped": the budget refused it, and its kind drops refused jobs;
    "deferred": the budget refused it, and it is tried again as job `next`.
    """

    id: str  # as `loop.request` returns it
    kind: str
    owner: str
    end: HowEnded
    source: Source  # "llm" or "cached": a model's answer; "heuristic"; "none": no effects
    reason: Reason  # why it is not a model's result: "late", "denied", "failed", "dead", …; "none": it is
    why: str  # the cause in words or as a class of failure, such as the limit that refused it; "": none
    next: str = ""  # id of the next trial of a deferred job, unless its owner leaves, or of a cancelled job
    applied: tuple[Change, ...] = ()  # the changes by its effects, as in `tick.applied`


def ends_at_boundary(run: str, tick: int, ended: Iterable[Ended], notes: Iterable[EndNote]) -> Iterator[JobEnd]:
    """Yield the ends of jobs that were due at the boundary of a tick."""
    for job, note in zip(ended, notes, strict=True):
        if job.end != "cancelled":
            yield _end_of(run, job, note, _why(job, note), tuple(changes_of_end(job, note, tick)))


def ends_after_turn(run: str, core: Core, notes: Iterable[EndNote]) -> Iterator[JobEnd]:
    """Yield the ends that a tick decided after the world's turn: cancelled jobs, dropped and deferred requests."""
    with_run = SetMode("cancelled") in core.controls
    called_off = {key for control in core.controls if isinstance(control, CancelJobs) for key in control.jobs}
    instead = {decided.instead: decided.key for decided in core.decided}
    for ended, note in zip(core.ended, notes, strict=True):
        if ended.end != "cancelled":
            continue
        if ended.key.owner in core.left:
            why = "its owner has left"
        elif ended.key.text() in called_off:
            why = "an operator cancelled it" + (f": {note.because}" if note.because else "")
        else:
            why = "an operator cancelled the run" if with_run else "an owner that it reads has left"
        following = instead.get(ended.key)
        job_end = _end_of(run, ended, note, why)
        yield job_end if following is None else job_end._replace(next=job_id(run, following))
    for decided in core.decided:
        if decided.decision in ("dropped", "deferred"):
            end: HowEnded = "dropped" if decided.decision == "dropped" else "deferred"
            yield JobEnd(
                job_id(run, decided.key),
                decided.key.kind,
                decided.key.owner,
                end,
                "none",
                reason_of(decided.refused),
                _refusal(decided.refused),
                "" if decided.successor is None else job_id(run, decided.successor),
            )


def ends_of(run: str, line: ReadLine) -> Iterator[JobEnd]:
    yield from ends_at_boundary(run, line.core.tick, line.core.ended, line.notes.ended)
    yield from ends_after_turn(run, line.core, line.notes.ended)


def how_ended(ended: Ended, note: EndNote) -> HowEnded:
    """Return the end of a job; "refused" if its kind's result was unusable and nothing was applied."""
    return "refused" if ended.end == "applied" and note.refusal and not ended.effects else ended.end


def _refusal(refused: str) -> str:
    """Return why admission refused a request: the limit, the end of the run, or a reason such as "draining"."""
    return format_no_room(refused) if " " in refused else MEANING.get(refused, refused)


def _why(ended: Ended, note: EndNote) -> str:
    """Return why a job did not get its intended result; "" if it did."""
    if note.refusal:
        return note.refusal
    if note.empty:
        return format_empty_pool(note.empty)
    if note.failure:
        return note.failure + (f", since {note.because}" if note.because else "")
    return _refusal(note.because) or MEANING.get(ended.reason, "")


def _end_of(run: str, ended: Ended, note: EndNote, why: str, applied: tuple[Change, ...] = ()) -> JobEnd:
    return JobEnd(
        job_id(run, ended.key),
        ended.key.kind,
        ended.key.owner,
        how_ended(ended, note),
        note.source,
        ended.reason,
        why,
        applied=applied,
    )


REASONS = ("failed", "late", "dead")  # of jobs whose model failed or was not asked in time
UNCLAIMED = "unclaimed"  # class of the failure of a late job that no worker had claimed

#: Failures of a kind's own code, which no model caused or could have prevented.
OF_KINDS = frozenset({EFFECTS_REFUSED, PROMPT_FAILED, named_failure(UNUSABLE, KIND_FAILED)})


class Shortfall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The jobs of one model that one class of failure left without an answer."""

    model: str
    failure: str  # class of the failure
    because: str = ""  # for "breaker_open": class of the failure that opened it
    first: int  # tick at which the first of the jobs ended
    first_minute: int  # game time, total minutes
    last: int
    last_minute: int
    kinds: dict[str, int] = msgspec.field(default_factory=dict)  # kind -> jobs


Shortfalls = dict[str, Shortfall]  # by "model|failure|because"


def breaker_cause(note: EndNote) -> str:
    """Return the class of the failure that opened the breaker; "" unless the open breaker kept a job from its model."""
    return note.because if note.failure == "breaker_open" else ""


def note_shortfall(shortfalls: Shortfalls, ended: Ended, note: EndNote, model: str, tick: int, minute: int) -> None:
    """Count a job's end if a classified failure caused it, or if it was late and no worker had claimed it.

    Args:
        model: that admission assigned to the job; empty: it asks none.
    """
    if ended.reason not in REASONS or ended.end == "stale":  # the failure of a stale end is a precondition
        return
    failure = note.failure or (UNCLAIMED if ended.reason == "late" and not note.attempts else "")
    if not model or not failure or failure in OF_KINDS:
        return
    because = breaker_cause(note)
    key = f"{model}|{failure}|{because}"
    shortfall = shortfalls.get(key)
    if shortfall is None:
        shortfall = shortfalls[key] = Shortfall(
            model=model,
            failure=failure,
            because=because,
            first=tick,
            first_minute=minute,
            last=tick,
            last_minute=minute,
        )
    shortfall.last, shortfall.last_minute = tick, minute
    shortfall.kinds[ended.key.kind] = shortfall.kinds.get(ended.key.kind, 0) + 1
