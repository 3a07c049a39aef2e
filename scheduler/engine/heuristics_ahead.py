"""Compute heuristics ahead of the boundary that may need them, in the idle time of a paced host.

A heuristic is a pure function of what its job read at admission, so the host may compute it at any time while the job
is open. The boundary applies the result only if the job ends without an answer; otherwise the host discards it. These
results exist in memory only: a host that resumes a run computes them again.
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

_SMOOTHING = 8  # a kind's expected duration moves by 1/8 of its difference from the latest one
_UNREAD = 10_000  # newest observations that wait for their reading
_SPARE = 0.001  # seconds that always suffice to read an entry
_EASES = 0.9  # factor of the expected duration of a kind that did not fit: one slow heuristic must not stop it for good


class HeuristicsAhead(Part):
    """The heuristics of open jobs, computed in idle time.

    Args:
        jobs: the run's open jobs.
        make: returns the effects of an open job's heuristic.
        is_answered: returns whether a job's answer is known to have arrived, so it needs no heuristic.
        horizon: ticks; a job that is due later is not computed yet, because its answer may still arrive.
        read: analyses an entry that an owner observed, as a heuristic will, and caches the result.
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
        self._expected: dict[str, float] = {}  # expected seconds of a heuristic, by kind
        self._made: dict[JobKey, KindEffects] = {}
        self.add(jobs.values())

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Discard the heuristic of a job that has ended."""
        self._made.pop(closing.ended.key, None)

    def end(self, tick: TickState) -> None:
        """Queue the jobs that the tick opened and the entries that it observed."""
        self.add(tick.opened)
        self._unread.extend(tick.turn.observed)

    def add(self, opened: Iterable[OpenJob]) -> None:
        """Queue jobs."""
        for item in opened:
            heappush(self._queues.setdefault(item.job.key.kind, []), (item.job.due, item.job.key))

    def work(self, tick: int, left: Callable[[], float]) -> None:
        """Compute heuristics in the order of due ticks, then read entries, until the next tick is due.

        It begins no heuristic that is expected to take longer than the time left.

        Args:
            tick: the last committed tick.
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
        """Return the effects computed ahead for an open job, or None."""
        return self._made.get(key)

    def _next(self, latest: int, unfit: set[str]) -> str | None:
        """Return the kind whose first job is due soonest, no later than `latest`; None if no job is."""
        firsts = [(queue[0], kind) for kind, queue in self._queues.items() if queue and kind not in unfit]
        (due, _), kind = min(firsts, default=((latest + 1, None), None))
        return kind if due <= latest else None

    def _learn(self, kind: str, took: float) -> None:
        expected = self._expected.get(kind, 0.0)
        self._expected[kind] = max(took, expected + (took - expected) / _SMOOTHING)
