"""Repairs: the rest of a day's budget near its end goes to the most valuable provisional entries of that day.

A provisional entry was made by a heuristic because budget, time or the model ran out. Its repair is a new job of the
same kind, charged to the windows of its own tick, admitted only after everything else and only where it fits; its
result replaces the entry (and is stale if that is gone). A repair without a model's result changes nothing, and its
owner is left alone until the next day. Without a model there is nothing to repair: a denied heuristic writes the same
as an admitted one.

The most important goes first, then the oldest. A plan is repaired only while half a day of it is left. Summaries are
repaired where they stand for a conversation whose lines are still kept and fit into one prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.errors import CogitateError
from cogitate.memory.retrieval.scoring import rating
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import Decided, first_fitting, hold
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.due_ticks import TOO_SLOW, DueTicks
from cogitate.tasks.job import JobKey, Request

EVERY = 10  # game minutes between two rounds of repairs
AT_ONCE = 2  # repairs in one round, so that later requests of the day find budget too
FAILED = "repair.failed"  # counter of a head: the game day after the one on which a repair of the owner failed
WORTH_PLANNING = 12 * 60  # game minutes
ENOUGH = 3  # observations; fewer leave a model nothing to add
MOST = 300  # observations that a reflection's repair may read
MOST_TOLD = 4_000  # characters of the lines that a summary's repair tells anew
_PRIORITY = -1


class RepairRefused(CogitateError, ValueError):
    """An operator's retry cannot be admitted; the message says why, and the operator gets it as the answer."""


def is_time(minute: int, before: int, start: int) -> bool:
    """Return whether repairs are due at game time `minute`, the previous tick being at `before`.

    Args:
        start: minutes after 00:00 from which repairs are due.
    """
    return minute % DAY >= start and minute // EVERY != before // EVERY


def repairs(streams: Mapping[str, Stream], minute: int) -> list[Request]:
    """Return the repairs that are possible now, the most valuable first."""
    found: list[tuple[tuple[int, int, str, int], Request]] = []
    for owner, stream in streams.items():
        if stream.head.counters.get(FAILED, 0) > day_of(minute):
            continue
        for entry in stream.provisional():
            request = _repair(stream, entry, minute)
            if request is not None:
                found.append(((-rating(entry), entry.minute, owner, entry.number), request))
    return [request for _, request in sorted(found, key=lambda pair: pair[0])]


def admit_repairs(
    streams: Mapping[str, Stream],
    *,
    tick: int,
    minute: int,
    view: BudgetView,
    rules: Rules,
    offers_of: Callable[[Request], Sequence[ModelOption]],
    busy: Callable[[str, str], bool],
    due: DueTicks,
) -> list[Decided]:
    """Return the repairs of this tick, held in `view`: at most `AT_ONCE`, and only those that fit.

    Args:
        offers_of: the options of a request, the best first.
        busy: whether a job of (kind, owner) is open, waits for another trial, or was decided in this tick.
        due: the run's due ticks.
    """
    found: list[Decided] = []
    for request in repairs(streams, minute):
        kind = rules.kind_of(request.kind)
        key = JobKey(tick, request.kind, request.owner, 0, 0)
        if not rules.model_of(kind) or busy(request.kind, request.owner) or any(d.line.key == key for d in found):
            continue
        fit = first_fitting(view, key, minute, request, offers_of(request), due)
        if not fit.refused:
            found.append(hold(view, key, request, fit, due))
            if len(found) == AT_ONCE:
                break
    return found


def admit_retry(
    streams: Mapping[str, Stream],
    owner: str,
    numbers: Iterable[int],
    *,
    tick: int,
    minute: int,
    view: BudgetView,
    rules: Rules,
    offers_of: Callable[[Request], Sequence[ModelOption]],
    busy: Callable[[str, str], bool],
    due: DueTicks,
) -> Decided:
    """Return the repair that an operator requested of one of these entries. Arguments as in `admit_repairs`.

    Raises:
        RepairRefused: saying why no repair is possible.
    """
    if owner not in streams:
        raise RepairRefused(f"{owner} has left the run")
    stream = streams[owner]
    waiting = {entry.number: entry for entry in stream.provisional()}
    found = [waiting[number] for number in numbers if number in waiting]
    if not found:
        raise RepairRefused("nothing that it made is provisional any more: it was repaired or archived meanwhile")
    request = _repair(stream, found[0], minute)
    if request is None:
        raise RepairRefused(f"there is too little left for a repair of the {found[0].type} {found[0].number}")
    kind = rules.kind_of(request.kind)
    if not rules.model_of(kind):
        raise RepairRefused(f"no model makes a {kind.name} in this run: the heuristic would write the same again")
    if busy(request.kind, owner):
        raise RepairRefused(f"another {request.kind} of {owner} is open: try again once it has ended")
    key = JobKey(tick, request.kind, owner, 0, 0)
    fit = first_fitting(view, key, minute, request, offers_of(request), due)
    if fit.refused == TOO_SLOW:
        raise RepairRefused(f"the model takes too long for a {request.kind} at present: try again when it is faster")
    if fit.refused:
        raise RepairRefused(f"the limit {view.describe_limit(fit.refused)} has no room for it")
    return hold(view, key, request, fit, due)


def failed_repair(owner: str, minute: int) -> SetCounter:
    """Return the effect of a failed repair."""
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
    """Return whether all these entries are kept, and short enough to be shown together in full."""
    found = [stream.entries.get(number) for number in numbers]
    kept = [entry for entry in found if entry is not None]
    return bool(kept) and len(kept) == len(found) and sum(len(entry.text) for entry in kept) <= MOST_TOLD
