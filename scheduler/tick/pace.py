"""The pace of a run whose ticks follow a real clock."""

from __future__ import annotations

from collections.abc import Callable


class Pace:
    """The times at which ticks are due. A run that is late catches up; one that was paused does not."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self.rate = rate  # ticks a second
        self.behind = 0.0  # ticks that the host was late for the newest one
        self._clock = clock
        self._first, self._began = 0, self._clock()  # the tick after which this rate counts, and when it was over
        self._newest = self._first, self._began

    def begin(self, tick: int) -> None:
        """Count from now on: this tick is over."""
        self._newest = self._first, self._began = tick, self._clock()

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
