"""Events of a run since an instant of real time, including those that are over, and totals of its last minutes.

They follow from data that exists anyway: figures of ticks and of game hours, operators' requests, the latest changes
of the run's endpoints, and workers' heartbeats. So their number is bounded, and older ones vanish.
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
GAP = 30.0  # seconds without a tick that are an event, unless the run is as slow as that:
SLOW = 5  # times the usual time between two ticks
MUCH = 0.2  # share of late or failed jobs that is an event, as on the cards
FEW = 3  # the fewest jobs for a meaningful share
MOST_EVENTS = 30


class RealWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of the last real minutes."""

    minutes: int
    ticks: int
    ended: int
    thought: int  # of them, with a model's answer
    late: int
    failed: int
    refused: int  # requests, by limits


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a moment of real time."""

    at: float  # seconds since 1970
    minute: int  # game time, total minutes
    what: str
    bad: bool  # False: an operator asked for it, or it is over


def real_windows(points: Sequence[Figures], now: float) -> list[RealWindow]:
    """Return the sums over the last minutes before `now`, given a run's newest figures."""
    return [_sums([one for one in points if (one.at or 0.0) > now - MINUTE * many], many) for many in WINDOWS]


def _sums(points: Sequence[Figures], minutes: int) -> RealWindow:
    return RealWindow(
        minutes=minutes,
        ticks=sum(one.ticks for one in points),
        ended=sum(sum(one.sources.values()) for one in points),
        thought=sum(one.sources.get("llm", 0) + one.sources.get("cached", 0) for one in points),
        late=sum(one.late for one in points),
        failed=sum(one.failed for one in points),
        refused=sum(one.refused for one in points),
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
        requests: operators' requests in words.
        changes: of the run's endpoints.
    """
    ticks = [one.tick for one in points]

    def minute_at(at: float) -> int:
        return next((one.minute for one in reversed(points) if (one.at or 0.0) <= at), points[0].minute)

    if not points:
        return []
    found = [*_gaps(points), *_shares(points), *_workers(points)]
    for alike in _alike(requests):
        step, said = alike[0]
        place = bisect_left(ticks, step.tick)
        if step.tick and step.tick >= ticks[0] and place < len(points):
            came_of = f"refused: {step.refused}" if step.refused else step.called_off
            why = f"({step.reason})" if step.reason else ""
            what = f"{step.by or 'an operator'}: {' '.join(filter(None, (said, why)))}"
            what += f", {came_of}" if came_of else ""
            what += f", and {len(alike) - 1:,} more of this kind" if len(alike) > 1 else ""
            found.append(Event(at=points[place].at or 0.0, minute=step.minute, what=what, bad=bool(step.refused)))
    for one in changes:
        found.append(Event(at=one.at, minute=minute_at(one.at), what=_changed(one), bad=bool(one.why)))
    for gone in workers.missing:
        at = now - gone.seconds
        found.append(Event(at=at, minute=minute_at(at), what=f"last sign of worker {gone.worker}", bad=True))
    newest = sorted((one for one in found if one.at > since), key=lambda one: (-one.at, one.what))
    return newest[:MOST_EVENTS]


def _alike(requests: Sequence[tuple[SteeringStep, str]]) -> Collection[list[tuple[SteeringStep, str]]]:
    """Group the requests of one kind that an operator sent at once, since one action may retry a hundred jobs."""
    found: dict[tuple[str, int, type, bool], list[tuple[SteeringStep, str]]] = {}
    for step, said in requests:
        found.setdefault((step.by, step.tick, type(step.control), bool(step.refused)), []).append((step, said))
    return found.values()


def _changed(one: EndpointChange) -> str:
    match one.what:
        case "opened":
            return f"breaker of {one.endpoint} opened ({one.why})"
        case "closed":
            return f"breaker of {one.endpoint} closed"
        case "set_aside":
            return f"{one.endpoint} no longer asks {one.model} ({one.why})"
        case "asked_again":
            return f"{one.endpoint} asks {one.model} again"


def _gaps(points: Sequence[Figures]) -> list[Event]:
    """Return when ticks continued after a pause (the host was gone, paused or could not commit), or with a new host."""
    waits = [((later.at or 0.0) - (one.at or 0.0), one, later) for one, later in pairwise(points)]
    usual = [silent for silent, _, later in waits if later.ticks == 1]
    longest = max(GAP, SLOW * median(usual)) if usual else GAP
    found = []
    for silent, one, later in waits:
        gap = f"after {silent:,.0f} s without one" if later.ticks == 1 and silent > longest else ""
        took_over = 0 < one.epoch < later.epoch
        if gap or took_over:
            what = f"ticks continue{' with a new host' if took_over else ''} {gap}".rstrip()
            found.append(Event(at=later.at or 0.0, minute=later.minute, what=what, bad=False))
    return found


def _workers(points: Sequence[Figures]) -> list[Event]:
    """Return when the number of workers that are alive changed."""
    counted = [one for one in points if one.workers is not None]
    return [
        Event(
            at=later.at or 0.0,
            minute=later.minute,
            what=f"workers alive: {later.workers}, before {one.workers}",
            bad=not later.workers,
        )
        for one, later in pairwise(counted)
        if one.workers != later.workers
    ]


_LIMITS = "limits refuse requests"
_SIGNS: tuple[tuple[str, str, Callable[[Figures | RealWindow], int]], ...] = (
    ("many jobs fail", "jobs no longer fail", lambda one: one.failed),
    ("many jobs are late", "jobs are no longer late", lambda one: one.late),
    (_LIMITS, "limits no longer refuse requests", lambda one: one.refused),
)


def _shares(points: Sequence[Figures]) -> list[Event]:
    """Return in which real minutes jobs began and ceased to fail, to be late, or to be refused by limits.

    What began is dated by the minute's first such job, so that it follows its cause.
    """
    minutes: dict[int, list[Figures]] = {}
    for one in points:
        minutes.setdefault(int((one.at or 0.0) // MINUTE), []).append(one)
    found = []
    for bad, good, count in _SIGNS:
        before = False
        for those in minutes.values():
            sums = _sums(those, 1)
            if bad == _LIMITS:
                now = count(sums) > 0
            else:  # without jobs nothing is known
                now = count(sums) >= FEW and count(sums) > MUCH * sums.ended if sums.ended else before
            if now != before:
                first = next(one for one in those if not now or count(one))
                found.append(Event(at=first.at or 0.0, minute=first.minute, what=bad if now else good, bad=now))
            before = now
    return found
