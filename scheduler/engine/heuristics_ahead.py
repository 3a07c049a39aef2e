"""Heuristics computed before the boundary that may need them, in time that a paced host would sleep away.

A heuristic is a pure function of what its job read at admission, so it may be computed at any time while the job is
open. The boundary applies it only if the job then ends without a result; otherwise it is thrown away. What is computed
ahead lives in memory only: a host that resumes a run computes it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush

from cogitate.memory.entry import Entry
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.intake.kind_effects import KindEffects
from cogitate.tasks.job import JobKey

_FORGETS = 8  # a kind's expected seconds approach what a heuristic took by this part of the difference
_UNREAD = 10_000  # the newest observations that wait to be read
_SPARE = 0.001  # seconds in which an entry is surely read
_EASES = 0.9  # factor of the expected seconds of a kind that did not fit: one slow heuristic must not stop it for ever


class HeuristicsAhead(Part):
    """The heuristics of open jobs, computed in idle time.

    Args:
        jobs: the run's open jobs.
        make: returns what the heuristic of an open job gives.
        is_answered: returns whether the answer to a job is known to have come: it will need no heuristic.
        horizon: ticks; a job that is due later is left alone for now, as its answer may still come.
        read: finds what a heuristic will look for in an entry that an owner observed, and keeps it.
    """

    def __init__(
        self,
        jobs: Mapping[JobKey, OpenJob],
        make: Callable[[OpenJob], KindEffects],
        is_answered: Callable[[JobKey], bool],
        horizon: int,
        read: Callable[[str, Entry], None],
    ) -> None:
        self._jobs = jobs
        self._make = make
        self._is_answered = is_answered
        self._horizon = horizon
        self._read = read
        self._unread: deque[tuple[str, Entry]] = deque(maxlen=_UNREAD)
        self._queues: dict[str, list[tuple[int, JobKey]]] = {}  # heaps by kind: due tick, key
        self._expected: dict[str, float] = {}  # seconds that a heuristic of a kind takes
        self._made: dict[JobKey, KindEffects] = {}
        self.add(jobs.values())

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Drop what was computed for a job that has ended."""
        self._made.pop(closing.ended.key, None)

    def end(self, tick: TickState) -> None:
        """Take in the jobs that were opened, and what was observed."""
        self.add(tick.opened)
        self._unread.extend(tick.turn.observed)

    def add(self, opened: Iterable[OpenJob]) -> None:
        """Take in jobs that have been opened."""
        for item in opened:
            heappush(self._queues.setdefault(item.job.key.kind, []), (item.job.due, item.job.key))

    def work(self, tick: int, left: Callable[[], float]) -> None:
        """Compute heuristics, those of the jobs that are due soonest first, then read entries, until the time is over.

        No heuristic begins that is expected to last beyond the end.

        Args:
            tick: the last committed one.
            left: returns the seconds until the next tick is due.
        """
        unfit: set[str] = set()
        while (now := left()) > 0:
            kind = self._next(tick + self._horizon, unfit)
            if kind is None:
                break
            if self._expected.get(kind, 0.0) > now:
                unfit.add(kind)
                continue
            _, key = heappop(self._queues[kind])
            item = self._jobs.get(key)
            if item is None or self._is_answered(key):
                continue
            self._made[key] = self._make(item)
            self._learn(kind, now - left())
        for kind in unfit:
            self._expected[kind] *= _EASES
        while self._unread and left() > _SPARE:
            self._read(*self._unread.popleft())

    def made(self, key: JobKey) -> KindEffects | None:
        """Return what was computed for an open job, or None."""
        return self._made.get(key)

    def _next(self, latest: int, unfit: set[str]) -> str | None:
        """Return the kind whose first job is due soonest, at `latest` or before; None without one."""
        firsts = [(queue[0], kind) for kind, queue in self._queues.items() if queue and kind not in unfit]
        (due, _), kind = min(firsts, default=((latest + 1, None), None))
        return kind if due <= latest else None

    def _learn(self, kind: str, took: float) -> None:
        expected = self._expected.get(kind, 0.0)
        self._expected[kind] = max(took, expected + (took - expected) / _FORGETS)
