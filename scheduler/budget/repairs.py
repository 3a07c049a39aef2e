"""Repairs: spend the budget left near the end of a day on the most valuable provisional entries of that day.

A heuristic writes a provisional entry when the budget or the time runs out or the model fails. Its repair is a new job
of the same kind, charged to the windows of the tick that admits it. Admission decides about repairs last, and admits
only those that fit. The result replaces the entry, and is stale if the entry is gone. If the model gives no result, the
repair changes nothing, and its owner gets no other until the next day. Runs without a model have no repairs: the
heuristic would write the same again.

The most important entry is repaired first; of several, the oldest. A plan is repaired only while it still covers half a
day, a summary only while all lines of its conversation are stored and fit into one prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import SetCounter
from cogitate.memory.entry import Entry, rating
from cogitate.memory.errors import CogitateError
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import AdmissionRound, Decided, first_fitting, hold
from cogitate.scheduler.latency.due_ticks import RUN_ENDS, TOO_SLOW
from cogitate.tasks.job import JobKey, Request

EVERY = 10  # game minutes between rounds of repairs
HOUR = 60  # game minutes
AT_ONCE = 2  # repairs in one round, to leave budget for later requests of the day
FAILED = "repair.failed"  # counter of an owner: the game day after its last failed repair
WORTH_PLANNING = 12 * 60  # game minutes that a plan must still cover to be repaired
ENOUGH = 3  # observations needed for a useful reflection
MOST = 300  # observations that the repair of a reflection reads at most
MOST_TOLD = 4_000  # characters of conversation that the repair of a summary reads at most
_PRIORITY = -1


class RepairRefused(CogitateError, ValueError):
    """An operator's retry cannot be admitted; the operator receives the message."""


def is_time(minute: int, before: int, start: int) -> bool:
    """Return whether repairs are due at game time `minute`, with the previous tick at `before`.

    Args:
        start: minutes after 00:00 at which repairs begin; `DAY`: never. If ticks are longer than an hour, repairs are
            also due at the day's last tick.
    """
    long = minute - before
    begun = minute % DAY >= start or (long > HOUR and start < DAY and day_of(minute + long) > day_of(minute))
    return begun and minute // EVERY != before // EVERY


def repairs(streams: Mapping[str, Stream], minute: int) -> list[Request]:
    """Return the possible repairs, most valuable first."""
    ranked: list[tuple[tuple[int, int, str, int], Request]] = []
    for owner, stream in streams.items():
        if stream.head.counters.get(FAILED, 0) > day_of(minute):
            continue
        for entry in stream.provisional():
            request = _repair(stream, entry, minute)
            if request is not None:
                ranked.append(((-rating(entry), entry.minute, owner, entry.number), request))
    return [request for _, request in sorted(ranked, key=lambda pair: pair[0])]


def admit_repairs(streams: Mapping[str, Stream], at: AdmissionRound, busy: Callable[[str, str], bool]) -> list[Decided]:
    """Admit at most `AT_ONCE` repairs that fit.

    Args:
        busy: returns whether a job of (kind, owner) is open, deferred, or decided in this tick.
    """
    admitted: list[Decided] = []
    for request in repairs(streams, at.minute):
        kind = at.rules.kind_of(request.kind)
        key = JobKey(at.tick, request.kind, request.owner, 0, 0)
        if not at.rules.model_of(kind) or busy(request.kind, request.owner) or any(d.line.key == key for d in admitted):
            continue
        fit = first_fitting(at, key, request)
        if not fit.refused:
            admitted += hold(at, [(key, request)], fit)
            if len(admitted) == AT_ONCE:
                break
    return admitted


def admit_retry(
    streams: Mapping[str, Stream],
    owner: str,
    numbers: Iterable[int],
    at: AdmissionRound,
    busy: Callable[[str, str], bool],
) -> Decided:
    """Admit the repair of one of these entries that an operator requested. Arguments as in `admit_repairs`.

    Raises:
        RepairRefused: if no repair is possible.
    """
    if owner not in streams:
        raise RepairRefused(f"{owner} has left the run")
    stream = streams[owner]
    provisional = {entry.number: entry for entry in stream.provisional()}
    repairable = [provisional[number] for number in numbers if number in provisional]
    if not repairable:
        raise RepairRefused("the job has no provisional entries left: all were repaired or archived")
    request = _repair(stream, repairable[0], at.minute)
    if request is None:
        raise RepairRefused(f"too little input is left to repair {repairable[0].type} {repairable[0].number}")
    kind = at.rules.kind_of(request.kind)
    if not at.rules.model_of(kind):
        raise RepairRefused(f"this run has no model for {kind.name}: the heuristic would write the same result again")
    if busy(request.kind, owner):
        raise RepairRefused(f"another {request.kind} of {owner} is open: try again after it ends")
    key = JobKey(at.tick, request.kind, owner, 0, 0)
    fit = first_fitting(at, key, request)
    if fit.refused == TOO_SLOW:
        raise RepairRefused(
            f"the model is currently too slow for {request.kind}, or has not answered yet: try again later"
        )
    if fit.refused == RUN_ENDS:
        raise RepairRefused(f"the answer for {request.kind} would come after the run's last tick")
    if fit.refused:
        raise RepairRefused(f"the limit {at.view.describe_limit(fit.refused)} has no room for the repair")
    return hold(at, [(key, request)], fit)[0]


def failed_repair(owner: str, minute: int) -> SetCounter:
    """Return the effect that records a failed repair."""
    return SetCounter(owner=owner, name=FAILED, value=day_of(minute) + 1)


def _repair(stream: Stream, entry: Entry, minute: int) -> Request | None:
    params = {"replaces": entry.number, "minute": entry.minute}
    if entry.type == "plan" and entry.valid_until - minute >= WORTH_PLANNING:
        return Request(kind="plan", owner=stream.owner, priority=_PRIORITY, params=params)
    if entry.type == "reflection":
        numbers = _reflected(stream, entry)
        if len(numbers) < ENOUGH:
            return None
        return Request(kind="reflect", owner=stream.owner, priority=_PRIORITY, params=params, numbers=numbers)
    if entry.type == "summary" and entry.source == "dialogue" and _fit_one_prompt(stream, entry.evidence):
        return Request(kind="summarise", owner=stream.owner, priority=_PRIORITY, params=params, numbers=entry.evidence)
    return None


def _reflected(stream: Stream, reflection: Entry) -> tuple[int, ...]:
    """Return the observations between the previous reflection and this one, archived entries included."""
    numbers: list[int] = []
    for number in range(reflection.number - 1, 0, -1):
        entry = stream.entries.get(number)
        if entry is None:
            continue
        if entry.type == "reflection" or len(numbers) == MOST:
            break
        if entry.type in ("observation", "message"):
            numbers.append(number)
    return tuple(reversed(numbers))


def _fit_one_prompt(stream: Stream, numbers: Iterable[int]) -> bool:
    """Return whether all these entries are stored and fit into one prompt untruncated."""
    entries = [stream.entries.get(number) for number in numbers]
    stored = [entry for entry in entries if entry is not None]
    return bool(stored) and len(stored) == len(entries) and sum(len(entry.text) for entry in stored) <= MOST_TOLD
