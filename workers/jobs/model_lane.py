"""The lane of jobs that ask a model: fewer of them run in a worker process than it has slots.

A job that asks a model may wait for its endpoint's limits, or for an answer, as long as its deadline allows. If all
slots did that, a job without a model would wait with them, although it takes milliseconds. So jobs that ask a model
take one of a number of places, and one more slot is left for the others. A hint that finds no place is put aside,
unclaimed, and its slot is free at once; a job that leaves its place hands it to the next one. Few wait so, as the
transport takes such hints only while there is `room`: others wait in their queue, for the turn of their run and for
whichever worker has a place first. Nothing depends on it: a
hint that is put aside in a process that ends, or whose job another worker claims first, costs nothing, since the ledger
is the truth and hosts repeat the hints of unclaimed jobs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Generic, TypeVar

from celery import signals

if TYPE_CHECKING:
    from celery.apps.worker import Worker

T = TypeVar("T")

MOST = 10_000  # hints that are put aside; further ones are dropped, and their hosts repeat them
SPARE = 1  # slots in which no job waits for a model
FEWEST_AHEAD = 2  # hints put aside for each process, so that a place that gets free need not wait for the next
PLACES_AHEAD = 4  # places for each further one

_slots: list[int] = []  # of this worker, once Celery reports them


class ModelLane(Generic[T]):
    """The places of one process. Thread-safe.

    Args:
        slots: the number of jobs that the process runs at a time.
        asks_model: returns whether a job may ask a model; it is called only if no place is free.
        run: runs a job to its end.
    """

    def __init__(self, slots: int, asks_model: Callable[[str], bool], run: Callable[[str], T]) -> None:
        self._free = max(1, slots - SPARE)
        self._ahead = max(FEWEST_AHEAD, self._free // PLACES_AHEAD)
        self._asks_model = asks_model
        self._run = run
        self._aside: dict[str, None] = {}  # in order of arrival
        self._lock = threading.Lock()
        self._closed = False

    def run(self, job_id: str) -> T | None:
        """Run a job and then those that were put aside meanwhile, or put it aside; return what came of the job."""
        if not self._enter(job_id, may_wait=False):
            if not self._asks_model(job_id):
                return self._run(job_id)
            if not self._enter(job_id, may_wait=True):
                return None
        outcome = self._run_in_place(job_id)
        while (turn := self._next()) is not None:
            self._run_in_place(turn)
        return outcome

    def _run_in_place(self, job_id: str) -> T:
        with ExitStack() as undo:
            undo.callback(self._leave)
            outcome = self._run(job_id)
            undo.pop_all()
        return outcome

    def room(self) -> int:
        """Return how many further jobs that ask a model may come: to a free place, or to be next at one."""
        return self._free + max(0, self._ahead - len(self._aside))

    def close(self) -> None:
        """Drop the jobs that were put aside, and accept no more: this process is about to end."""
        with self._lock:
            self._closed = True
            self._aside.clear()

    def _enter(self, job_id: str, *, may_wait: bool) -> bool:
        """Take a place and return True if one is free; otherwise put the job aside where it may wait."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            if may_wait and not self._closed and len(self._aside) < MOST:
                self._aside[job_id] = None
            return False

    def _leave(self) -> None:
        with self._lock:
            self._free += 1

    def _next(self) -> str | None:
        """Return the job that has waited longest, which takes over the place; free the place if none waits."""
        with self._lock:
            if not self._aside:
                self._free += 1
                return None
            job_id = next(iter(self._aside))
            del self._aside[job_id]
            return job_id


def register() -> None:
    """Record how many jobs a worker of this process runs at a time."""
    signals.celeryd_after_setup.connect(_note_slots)


def _note_slots(instance: Worker, **_: object) -> None:
    _slots[:] = [instance.concurrency]


def slots_of_worker(usual: int) -> int:
    """Return how many jobs this process runs at a time: its worker's concurrency, else `usual`."""
    return _slots[0] if _slots else usual
