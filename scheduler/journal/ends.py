"""The ends of jobs: the changes they make, how a host is told of them, and those that got no answer from a model."""

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
    """One applied effect, as it is handed to the host's world."""

    owner: str
    effect: Effect
    entry: Entry | None  # the numbered entry, when the effect appended one
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
MEANING: Mapping[str, str] = {  # of the reason of an end that a cheaper result has, and of one refusal
    "denied": "refused by a limit of the budget",
    "too_slow": "the model is too slow for the due tick and was not called",
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
    "stale": a precondition of its effects no longer held; "cancelled": because an owner has left, or by an operator,
    then job `next` applies its heuristic; "dropped": the budget refused it, and its kind drops refused jobs;
    "deferred": refused, and tried again as job `next`.
    """

    id: str  # as `loop.request` returns it
    kind: str
    owner: str
    end: HowEnded
    source: Source  # "llm" or "cached": a model's answer; "heuristic"; "none": no effects were made
    reason: Reason  # why it is not what a model said: "late", "denied", "failed", "dead", …; "none" without one
    why: str  # in words, or as a class: what was refused, which limit, until when, how the model failed; "" without
    next: str = (
        ""  # of a deferred one: the id of the job that tries again, if its owner stays; of a cancelled one: above
    )
    applied: tuple[Change, ...] = ()  # what its effects changed, as in `tick.applied`


def ends_at_boundary(run: str, tick: int, ended: Iterable[Ended], notes: Iterable[EndNote]) -> Iterator[JobEnd]:
    """Yield the ends of jobs that were due at the boundary of a tick."""
    for one, note in zip(ended, notes, strict=True):
        if one.end != "cancelled":
            yield _end_of(run, one, note, _why(one, note), tuple(changes_of_end(one, note, tick)))


def ends_after_turn(run: str, core: Core, notes: Iterable[EndNote]) -> Iterator[JobEnd]:
    """Yield the ends that a tick decided after the world's turn: jobs cancelled, requests dropped or deferred."""
    with_run = SetMode("cancelled") in core.controls
    called_off = {key for control in core.controls if isinstance(control, CancelJobs) for key in control.jobs}
    instead = {decided.instead: decided.key for decided in core.decided}
    for one, note in zip(core.ended, notes, strict=True):
        if one.end != "cancelled":
            continue
        if one.key.owner in core.left:
            why = "its owner has left"
        elif one.key.text() in called_off:
            why = "an operator cancelled it" + (f": {note.because}" if note.because else "")
        else:
            why = "an operator cancelled the run" if with_run else "an owner that it reads has left"
        following = instead.get(one.key)
        ended = _end_of(run, one, note, why)
        yield ended if following is None else ended._replace(next=job_id(run, following))
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
    """Return the end of a job; "refused" where its kind made what cannot be used, and so nothing was applied."""
    return "refused" if ended.end == "applied" and note.refusal and not ended.effects else ended.end


def _refusal(refused: str) -> str:
    """Return why admission refused a request: the limit, the end of the run, or a word such as "draining"."""
    return format_no_room(refused) if " " in refused else MEANING.get(refused, refused)


def _why(ended: Ended, note: EndNote) -> str:
    """Return why an end is not what its job was for; "" if it is."""
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


REASONS = ("failed", "late", "dead")  # of jobs that a model was asked for, or was to be

#: Failures of a kind's own code: no model could have helped, or is to blame.
OF_KINDS = frozenset({EFFECTS_REFUSED, PROMPT_FAILED, named_failure(UNUSABLE, KIND_FAILED)})


class Shortfall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The jobs of one model that one class of failure left without its answer."""

    model: str
    failure: str  # its class
    because: str = ""  # where that is "breaker_open": class of the failure that opened it
    first: int  # tick at which the first of them ended
    first_minute: int  # game time, total minutes
    last: int
    last_minute: int
    kinds: dict[str, int] = msgspec.field(default_factory=dict)  # kind -> jobs


Shortfalls = dict[str, Shortfall]  # "model|failure|because" -> it


def breaker_cause(note: EndNote) -> str:
    """Return the class of the failure that opened the breaker, if a job's model was not asked because of it, or ""."""
    return note.because if note.failure == "breaker_open" else ""


def note_shortfall(found: Shortfalls, ended: Ended, note: EndNote, model: str, tick: int, minute: int) -> None:
    """Count a job's end, if a classified failure caused it.

    Args:
        model: that admission gave to the job; empty: it asks none.
    """
    if not model or not note.failure or note.failure in OF_KINDS:
        return
    if ended.reason not in REASONS or ended.end == "stale":  # of a stale one the failure is a precondition
        return
    because = breaker_cause(note)
    key = f"{model}|{note.failure}|{because}"
    one = found.get(key)
    if one is None:
        one = found[key] = Shortfall(
            model=model,
            failure=note.failure,
            because=because,
            first=tick,
            first_minute=minute,
            last=tick,
            last_minute=minute,
        )
    one.last, one.last_minute = tick, minute
    one.kinds[ended.key.kind] = one.kinds.get(ended.key.kind, 0) + 1
