"""Derive the events of a run since an instant of real time, past ones included, and the totals of its last minutes.

The sources are data that exists anyway: figures of ticks and of game hours, operators' requests, the latest changes of
the run's endpoints, and workers' heartbeats. So the number of events is bounded, and older ones vanish.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from cogitate.scheduler.inspection.endpoint_vitals import EndpointChange
from cogitate.scheduler.inspection.vitals import SteeringStep
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.scheduler.tick.figure_history import Figures

WINDOWS = (1, 5, 15)  # real minutes
MINUTE = 60  # seconds
GAP = 30.0  # seconds without a tick that count as an event
SLOW = 5  # in a slow run, a gap must also exceed so many times the usual time between two ticks
MUCH = 0.2  # share of late or failed jobs that counts as an event, as on the cards
FEW = 3  # fewest jobs for a meaningful share
MOST_EVENTS = 30


class RealWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of the last real minutes."""

    minutes: int
    ticks: int
    ended: int
    thought: int  # ended jobs with a model's answer
    late: int
    failed: int
    refused: int  # requests that limits refused


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a run, with its real time."""

    at: float  # seconds since 1970
    minute: int  # game time, total minutes
    what: str
    bad: bool  # False: an operator requested it, or a problem has ended


def real_windows(points: Sequence[Figures], now: float) -> list[RealWindow]:
    """Return the sums over the last minutes before `now`, given a run's newest figures."""
    return [_sums([point for point in points if (point.at or 0.0) > now - MINUTE * many], many) for many in WINDOWS]


def _sums(points: Sequence[Figures], minutes: int) -> RealWindow:
    return RealWindow(
        minutes=minutes,
        ticks=sum(point.ticks for point in points),
        ended=sum(sum(point.sources.values()) for point in points),
        thought=sum(point.sources.get("llm", 0) + point.sources.get("cached", 0) for point in points),
        late=sum(point.late for point in points),
        failed=sum(point.failed for point in points),
        refused=sum(point.refused for point in points),
    )


def recent_events(
    points: Sequence[Figures],
    requests: Sequence[tuple[SteeringStep, str]],
    changes: Sequence[EndpointChange],
    workers: WorkersSeen,
    now: float,
    since: float,
) -> list[Event]:
    """Return the newest events between two instants, in seconds since 1970, the newest first.

    Args:
        points: the run's newest figures, oldest first.
        requests: operators' requests, each with its description.
        changes: of the run's endpoints.
    """
    ticks = [point.tick for point in points]

    def minute_at(at: float) -> int:
        return next((point.minute for point in reversed(points) if (point.at or 0.0) <= at), points[0].minute)

    if not points:
        return []
    events = [*_gaps(points), *_shares(points), *_workers(points)]
    for group in _grouped(requests):
        step, description = group[0]
        place = bisect_left(ticks, step.tick)
        if step.tick and step.tick >= ticks[0] and place < len(points):
            outcome = f"refused: {step.refused}" if step.refused else step.called_off
            why = f"({step.reason})" if step.reason else ""
            what = f"{step.by or 'an operator'}: {' '.join(filter(None, (description, why)))}"
            what += f", {outcome}" if outcome else ""
            what += f", and {len(group) - 1:,} more of this kind" if len(group) > 1 else ""
            events.append(Event(at=points[place].at or 0.0, minute=step.minute, what=what, bad=bool(step.refused)))
    for change in changes:
        events.append(Event(at=change.at, minute=minute_at(change.at), what=_described(change), bad=bool(change.why)))
    for gone in workers.missing:
        at = now - gone.seconds
        events.append(Event(at=at, minute=minute_at(at), what=f"last sign of worker {gone.worker}", bad=True))
    newest = sorted((event for event in events if event.at > since), key=lambda event: (-event.at, event.what))
    return newest[:MOST_EVENTS]


def _grouped(requests: Sequence[tuple[SteeringStep, str]]) -> Collection[list[tuple[SteeringStep, str]]]:
    """Group requests of one kind that an operator sent at the same tick, because one action may retry many jobs."""
    groups: dict[tuple[str, int, type, bool], list[tuple[SteeringStep, str]]] = {}
    for step, description in requests:
        group = groups.setdefault((step.by, step.tick, type(step.control), bool(step.refused)), [])
        group.append((step, description))
    return groups.values()


def _described(change: EndpointChange) -> str:
    match change.what:
        case "opened":
            return f"breaker of {change.endpoint} opened ({change.why})"
        case "closed":
            return f"breaker of {change.endpoint} closed"
        case "set_aside":
            return f"{change.endpoint} no longer asks {change.model} ({change.why})"
        case "asked_again":
            return f"{change.endpoint} asks {change.model} again"


def _gaps(points: Sequence[Figures]) -> list[Event]:
    """Return an event for each gap between ticks (the host was gone, paused or could not commit) and each new host."""
    waits = [((later.at or 0.0) - (point.at or 0.0), point, later) for point, later in pairwise(points)]
    usual = [silent for silent, _, later in waits if later.ticks == 1]
    longest = max(GAP, SLOW * median(usual)) if usual else GAP
    events = []
    for silent, point, later in waits:
        gap = f"after {silent:,.0f} s without one" if later.ticks == 1 and silent > longest else ""
        took_over = 0 < point.epoch < later.epoch
        if gap or took_over:
            what = f"ticks continue{' with a new host' if took_over else ''} {gap}".rstrip()
            events.append(Event(at=later.at or 0.0, minute=later.minute, what=what, bad=False))
    return events


def _workers(points: Sequence[Figures]) -> list[Event]:
    """Return an event for each change of the number of living workers."""
    counted = [point for point in points if point.workers is not None]
    return [
        Event(
            at=later.at or 0.0,
            minute=later.minute,
            what=f"workers alive: {later.workers}, before {point.workers}",
            bad=not later.workers,
        )
        for point, later in pairwise(counted)
        if point.workers != later.workers
    ]


_LIMITS = "limits refuse requests"
_SIGNS: tuple[tuple[str, str, Callable[[Figures | RealWindow], int]], ...] = (
    ("many jobs fail", "jobs no longer fail", lambda figures: figures.failed),
    ("many jobs are late", "jobs are no longer late", lambda figures: figures.late),
    (_LIMITS, "limits no longer refuse requests", lambda figures: figures.refused),
)


def _shares(points: Sequence[Figures]) -> list[Event]:
    """Return an event for each real minute in which jobs begin or cease to fail, to be late or to be refused by limits.

    The beginning gets the time of the minute's first such job, so it follows its cause.
    """
    minutes: dict[int, list[Figures]] = {}
    for point in points:
        minutes.setdefault(int((point.at or 0.0) // MINUTE), []).append(point)
    events = []
    for bad, good, count in _SIGNS:
        before = False
        for of_minute in minutes.values():
            sums = _sums(of_minute, 1)
            if bad == _LIMITS:
                now = count(sums) > 0
            else:  # a minute without jobs changes nothing
                now = count(sums) >= FEW and count(sums) > MUCH * sums.ended if sums.ended else before
            if now != before:
                first = next(point for point in of_minute if not now or count(point))
                events.append(Event(at=first.at or 0.0, minute=first.minute, what=bad if now else good, bad=now))
            before = now
    return events
