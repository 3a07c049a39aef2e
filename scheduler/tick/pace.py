"""The pace of a host whose ticks follow a real clock, and the part of a job's time that counts as its model's latency.

Due ticks follow the model. A job that waited for dead workers, or for another worker to take over, counts only from its
claim. A host that was stopped catches up on missed ticks, and many of them pass while a model answers in a second. So
no job counts for more ticks than the pace allows in its real time, and a job that ends late counts only while a worker
has it. Once a fault is over, it has no further effect.

Jobs that wait while workers are busy wait for their model: the number of jobs ahead is part of a latency.

These observations depend on a clock and on workers. They become facts of a boundary, and the journal records them.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from threading import Event

from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.step_replies import BoundaryInput, Collected
from cogitate.scheduler.tick.garbage import FullCollections
from cogitate.tasks.job import JobKey

SECONDS_AHEAD = 10.0  # the host computes heuristics for jobs that are due within so many seconds
KEPT = 14_400  # ticks whose start times are remembered: ten days of a run with ticks of a minute
MOST_LOST = 1_000  # remembered jobs that have lost a worker
BEATS = 2  # a living worker must beat within a lease divided by this


class Pace:
    """The times at which ticks are due. A late run catches up; a paused run does not."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self.rate = rate  # ticks per second
        self.behind = 0.0  # ticks by which the host was late for the newest tick
        self._clock = clock
        self._first, self._began = 0, self._clock()  # the last tick before this rate, and the time of its end
        self._newest = self._first, self._began
        self._begun: OrderedDict[int, float] = OrderedDict()  # tick -> its start time

    def begin(self, tick: int) -> None:
        """Start the pace now, after the end of a tick."""
        self._newest = self._first, self._began = tick, self._clock()

    def note(self, tick: int) -> None:
        """Note that a tick begins now."""
        self._begun[tick] = self._clock()
        if len(self._begun) > KEPT:
            self._begun.popitem(last=False)

    def ticks_since(self, tick: int) -> float | None:
        """Return how many ticks of this pace have passed since a tick began; None if its start time is unknown.

        A host that catches up runs more ticks in this time, and a slow host runs fewer.
        """
        begun = self._begun.get(tick)
        return None if begun is None else (self._clock() - begun) * self.rate

    def change(self, rate: float) -> None:
        """Change the rate from the newest due tick on."""
        self.rate = rate
        self._first, self._began = self._newest

    def due_after(self, tick: int) -> float:
        """Return the clock time at which the tick after this one is due, and note how late the host is for it."""
        due = self._began + (tick - self._first) / self.rate
        self._newest = tick, due
        self.behind = max(0.0, (self._clock() - due) * self.rate)
        return due


def keep(
    pace: Pace,
    tick: int,
    clock: Callable[[], float],
    interrupted: Event,
    collections: FullCollections | None,
    work_ahead: Callable[[int, Callable[[], float], int], None],
) -> None:
    """Wait until the tick after this one is due, and meanwhile work ahead for boundaries.

    Args:
        interrupted: ends the wait.
        work_ahead: computes heuristics, given a tick, a function that returns the seconds left, and a horizon in ticks.
    """
    due = pace.due_after(tick)

    def left() -> float:
        return 0.0 if interrupted.is_set() else due - clock()

    ahead = left()
    if ahead <= 0:
        return
    if collections is not None:
        collections.collect(ahead)
    needed = 0.0 if collections is None else collections.needed
    work_ahead(tick, lambda: left() - needed, max(1, round(SECONDS_AHEAD * pace.rate)))
    if collections is not None and (ahead := left()) > 0:
        collections.collect(ahead)  # the garbage of `work_ahead`
    if (ahead := left()) > 0:
        interrupted.wait(ahead)


class ModelTimes:
    """Corrects the times of answers for missing workers and for the host's own absence.

    Args:
        lease: seconds without a heartbeat after which a worker is lost.
        interval: seconds after which an unclaimed hint is repeated.
        pace: of the host; None: its ticks have no real duration.
        awaited: returns the jobs that ended late and count as slow until their answers arrive.
    """

    def __init__(
        self, *, lease: float, interval: float, pace: Pace | None, awaited: Callable[[], Iterable[JobKey]]
    ) -> None:
        self._lease = lease
        self._interval = interval
        self._pace = pace
        self._awaited = awaited
        self._running: dict[str, tuple[str, int]] = {}  # token -> job, heartbeat of its worker
        self._unclaimed: dict[str, float] = {}  # job -> observed time since which it is unclaimed
        self._time = 0.0  # seconds during which this host has observed the workers
        self._signed = 0.0  # this time at the newest sign of a worker at work
        self._looked: float | None = None
        self._absent = 0  # the newest tick at which jobs waited while no worker was at work
        self._lost: deque[str] = deque(maxlen=MOST_LOST)  # jobs that have lost a worker

    def look(self, tick: int, collected: Collected, expired: Sequence[str], now: float) -> None:
        """Note which workers are active."""
        if self._looked is not None:  # during a longer gap, this host observed nothing
            self._time += min(now - self._looked, self._interval)
        self._looked = now
        self._lost += [self._running[token][0] for token in expired if token in self._running]
        running = {
            token: (attempt.job, collected.beats.get(attempt.worker, 0))
            for token, attempt in collected.attempts.items()
        }
        ended = self._running.keys() - running.keys() - set(expired)
        if ended or any(self._running.get(token) != sign for token, sign in running.items()):
            self._signed = self._time
        self._running = running
        self._unclaimed = {key: self._unclaimed.get(key, self._time) for key in collected.unclaimed}
        patience = self._lease / BEATS if running else self._interval
        waits = any(self._time - since >= self._interval for since in self._unclaimed.values())
        if waits and self._time - self._signed >= patience:
            self._absent = tick

    def missed(self, tick: int) -> None:
        """Note that the ledger is away, so the host cannot observe workers."""
        self._absent = tick

    def corrected(self, tick: int, shown: BoundaryInput) -> BoundaryInput:
        """Return the input of a boundary with the corrected times of answers and with overdue jobs."""
        timed = [fact and self._timed(fact, shown) for fact in shown.timed]
        running = {job for job, _ in self._running.values()}
        late = [row.key for row in shown.rows if row.state == "open" and row.key.text() in running]
        overdue = [Overdue(key, self._within(tick - key.tick, key.tick)) for key in late if not self._is_apart(key)]
        arrived = {fact.key for fact in timed if fact is not None}
        given_up = (key for key in sorted(self._awaited()) if key.text() not in running and key not in arrived)
        overdue += [Overdue(key, 0) for key in given_up]
        return shown._replace(timed=timed, overdue=overdue) if timed or overdue else shown

    def _timed(self, fact: Timed, shown: BoundaryInput) -> Timed:
        begun = fact.key.tick
        if self._is_apart(fact.key):
            begun = max(begun, shown.claimed.get(fact.key, begun))
        return fact._replace(ticks=self._within(fact.ticks + fact.key.tick - begun, begun))

    def _is_apart(self, key: JobKey) -> bool:
        """Return whether a job may have waited for a missing worker."""
        return key.tick <= self._absent or key.text() in self._lost

    def _within(self, ticks: int, begun: int) -> int:
        """Return the ticks since the tick `begun`, at most those that the pace allows in this time, at least 1."""
        paced = self._pace.ticks_since(begun) if self._pace is not None else None
        return max(1, ticks if paced is None else min(ticks, math.ceil(paced)))
