"""The pace of a run whose ticks follow a real clock."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

KEPT = 14_400  # ticks of which it is known when they began: ten days of a run whose ticks are minutes


class Pace:
    """The times at which ticks are due. A run that is late catches up; one that was paused does not."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self.rate = rate  # ticks a second
        self.behind = 0.0  # ticks that the host was late for the newest one
        self._clock = clock
        self._first, self._began = 0, self._clock()  # the tick after which this rate counts, and when it was over
        self._newest = self._first, self._began
        self._begun: OrderedDict[int, float] = OrderedDict()  # tick -> when it began

    def begin(self, tick: int) -> None:
        """Count from now on: this tick is over."""
        self._newest = self._first, self._began = tick, self._clock()

    def note(self, tick: int) -> None:
        """Note that a tick begins now."""
        self._begun[tick] = self._clock()
        if len(self._begun) > KEPT:
            self._begun.popitem(last=False)

    def ticks_since(self, tick: int) -> float | None:
        """Return for how many ticks of this pace a tick has been under way; None: it is not known when it began.

        A host that catches up takes more ticks in that time, and one that is too slow takes fewer.
        """
        begun = self._begun.get(tick)
        return None if begun is None else (self._clock() - begun) * self.rate

    def change(self, rate: float) -> None:
        """Let the ticks after the one that was due last follow at another rate."""
        self.rate = rate
        self._first, self._began = self._newest

    def due_after(self, tick: int) -> float:
        """Return when the tick after this one is due, on the clock, and note how late the host is for it."""
        due = self._began + (tick - self._first) / self.rate
        self._newest = tick, due
        self.behind = max(0.0, (self._clock() - due) * self.rate)
        return due
