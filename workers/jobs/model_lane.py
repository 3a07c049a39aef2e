"""The model lane: it limits how many jobs that ask a model run in a worker process at a time.

A job that asks a model may wait for its endpoint's limits, or for an answer, until its deadline. If all slots of the
worker did that, a job without a model would wait behind them, although it takes milliseconds. So jobs that ask a model
share a limited number of places, and one slot stays free for other jobs. If no place is free, the lane puts the hint
aside, unclaimed, which frees its slot; a job that ends hands its place to the next hint. If no hint is aside, the job's
thread draws the next one from the broker itself, if it can: a hint through Celery's event loop takes two more thread
switches. Few hints wait here, because the transport takes such hints only while the lane has `room`; the others wait in
their queue for their run's turn and for the first worker with a free place. Losing a hint costs nothing, whether its
process ends or another worker claims the job first: the ledger is authoritative, and hosts repeat the hints of
unclaimed jobs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from celery import signals

if TYPE_CHECKING:
    from celery.apps.worker import Worker


class Hint(Protocol):
    """A hint at a job."""

    @property
    def job_id(self) -> str: ...


H = TypeVar("H", bound=Hint)

MOST = 10_000  # hints put aside; the lane drops further ones, and their hosts repeat them
SPARE = 1  # slots reserved for jobs that do not ask a model
FEWEST_AHEAD = 2  # hints put aside in each process, so that a freed place need not wait for the next one
PLACES_AHEAD = 4  # places for each further hint put aside

_slots: list[int] = []  # of this worker, once Celery reports them


class ModelLane(Generic[H]):
    """The places of one process. Thread-safe.

    Args:
        slots: the number of jobs that the process runs at a time.
        asks_model: returns whether a job may ask a model; it is called only if no place is free.
        run: runs a job until it ends.
    """

    def __init__(self, slots: int, asks_model: Callable[[str], bool], run: Callable[[H], None]) -> None:
        self._free = max(1, slots - SPARE)
        self._ahead = max(FEWEST_AHEAD, self._free // PLACES_AHEAD)
        self._asks_model = asks_model
        self._run = run
        self._draw: Callable[[], Sequence[H]] | None = None
        self._aside: dict[str, H] = {}  # by job id, in order of arrival
        self._lock = threading.Lock()
        self._closed = False

    def draw_with(self, draw: Callable[[], Sequence[H]]) -> None:
        """Draw the next hints at jobs that ask a model from the broker; `draw` returns none if none waits there."""
        self._draw, self._ahead = draw, 0

    def run(self, hint: H) -> None:
        """Run a job, then those that take over its place; or put the hint aside."""
        if not self._enter(hint, may_wait=False):
            if not self._asks_model(hint.job_id):
                self._run(hint)
                return
            if not self._enter(hint, may_wait=True):
                return
        following: H | None = hint
        while following is not None:
            following = self._run_in_place(following)

    def _run_in_place(self, hint: H) -> H | None:
        """Run a job in its place, and return the hint that takes the place over; free the place if none does."""
        drawn: Sequence[H] = ()
        with ExitStack() as undo:
            undo.callback(self._leave)
            self._run(hint)
            if self._draw is not None and not self._aside and not self._closed:
                drawn = self._draw()
            undo.pop_all()
        return self._next(drawn)

    def room(self) -> int:
        """Return how many more jobs that ask a model this process accepts, to run or to put aside."""
        return self._free + max(0, self._ahead - len(self._aside))

    def close(self) -> None:
        """Drop the jobs put aside and accept no more: this process is about to exit."""
        with self._lock:
            self._closed = True
            self._aside.clear()

    def _enter(self, hint: H, *, may_wait: bool) -> bool:
        """Take a place and return True if one is free; otherwise put the job aside if it may wait."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            if may_wait and not self._closed and len(self._aside) < MOST:
                self._aside[hint.job_id] = hint
            return False

    def _leave(self) -> None:
        with self._lock:
            self._free += 1

    def _next(self, drawn: Sequence[H]) -> H | None:
        """Return the hint that has waited longest, which takes over the place; free the place if none waits."""
        with self._lock:
            if not self._closed:
                self._aside |= {hint.job_id: hint for hint in drawn}
            if not self._aside:
                self._free += 1
                return None
            return self._aside.pop(next(iter(self._aside)))


def register() -> None:
    """Record how many jobs a worker of this process runs at a time."""
    signals.celeryd_after_setup.connect(_note_slots)


def _note_slots(instance: Worker, **_: object) -> None:
    _slots[:] = [instance.concurrency]


def slots_of_worker(usual: int) -> int:
    """Return how many jobs this process runs at a time: its worker's concurrency, else `usual`."""
    return _slots[0] if _slots else usual
