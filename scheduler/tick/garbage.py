"""Move Python's full garbage collections from the ticks of a paced host to the idle time between them.

A full collection walks every container of the process. With ten thousand agents it takes a tenth of a second, and
Python starts it at an arbitrary allocation. While a paced loop runs, Python's own full collections are postponed, and
the loop collects in its idle time. Survivors are frozen, so the next collection walks only new objects. At long
intervals, everything is thawed and walked, because frozen objects may have become garbage.

The collector belongs to the whole process: loops in several threads share these changes, and the last one to end undoes
them. Settings that the program has chosen itself stay unchanged.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Self

PUT_OFF = 50  # factor for the number of middle collections before an automatic full one
WHOLE_AGAIN = 300.0  # seconds until everything is walked again, if idle time allows
WHOLE_AT_LAST = 1200.0  # seconds until everything is walked even without idle time
PYTHONS_OWN = 1000  # Python 3.12 freezes some hundreds of immortal objects; a program that freezes has thousands
MANY_YOUNG = 20_000  # objects of the younger generations; Python does not count those that replaced older ones
ROOM = 1.25  # idle time that a collection needs, as a multiple of the last duration


class FullCollections:
    """Makes the full collections of this process in idle time while at least one paced loop runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Reentrant, because a collection may finalise a loop that was dropped between its ticks, which calls `end`.
        self._lock = threading.RLock()
        self._loops = 0
        self._found: tuple[int, int, int] | None = None  # the program's own thresholds; None: nothing is changed
        self._set: tuple[int, int, int] | None = None  # the thresholds in their place
        self._freezes = False
        self._new = 0.0  # seconds that a collection of new objects takes
        self._whole = 0.0  # seconds that a collection of everything takes
        self._walked: float | None = None  # time of the last walk over everything; None: not yet

    def begin(self) -> None:
        """Postpone automatic full collections, unless the program controls them itself."""
        with self._lock:
            self._loops += 1
            young, middle, full = gc.get_threshold()
            if self._found is not None or not gc.isenabled() or 0 in (young, middle, full):
                return
            self._found, self._set = (young, middle, full), (young, middle, full * PUT_OFF)
            self._freezes = gc.get_freeze_count() < PYTHONS_OWN  # otherwise thawing would undo the program's own
            self._walked, self._new, self._whole = None, 0.0, 0.0
            gc.set_threshold(*self._set)

    def end(self) -> None:
        """Restore the collector's settings once no loop is running."""
        with self._lock:
            self._loops -= 1
            if self._loops or self._found is None:
                return
            if gc.get_threshold() == self._set:
                gc.set_threshold(*self._found)
            if self._freezes and self._walked is not None:
                gc.unfreeze()
            self._found = None

    def collect(self, left: float) -> None:
        """Collect if garbage is likely and the seconds left suffice.

        The first collection, and a long overdue walk over everything, happen in any case.
        """
        if self._found is None or not self._lock.acquire(blocking=False):  # another loop collects
            return
        try:
            now = self._clock()
            since = None if self._walked is None else now - self._walked
            rests = since is not None and since > WHOLE_AGAIN and left >= ROOM * self._whole
            if since is None or since > WHOLE_AT_LAST or rests:
                if self._freezes and since is not None:
                    gc.unfreeze()
                self._whole = self._collected()
                self._walked = self._clock()
            elif left >= self.needed and (gc.get_count()[2] or _count_young() > MANY_YOUNG):
                took = self._collected()
                self._new = max(took, (7 * self._new + took) / 8)
        finally:
            self._lock.release()

    @property
    def needed(self) -> float:
        """Return the idle seconds that a collection of new objects needs, by the duration of the last ones."""
        return ROOM * self._new

    def _collected(self) -> float:
        """Collect, freeze the survivors, and return the duration in seconds."""
        began = self._clock()
        gc.collect()
        if self._freezes:
            gc.freeze()
        return self._clock() - began

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _count_young() -> int:
    """Return how many objects a tick's young collections would walk.

    Python starts a collection once enough more objects were made than freed. A full cache frees one object for each new
    one, so new objects accumulate uncounted.
    """
    return len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))


full_collections = FullCollections()
