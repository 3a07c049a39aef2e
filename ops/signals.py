"""Ctrl-C and SIGTERM: the first ends the run after the present tick, the second ends it at once.

The second raises KeyboardInterrupt wherever the main thread is. In the middle of `threading.Event.set` or `wait` that
leaves the event's lock taken for good, and the main thread waits for itself: it must not use any.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether and how the user asked to stop."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._stop: Callable[[], object] | None = None
        self._after = ""
        self.signal: int | None = None

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that a signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or signal.SIGINT)

    @contextmanager
    def softened(self, stop: Callable[[], object], after: str = "this tick") -> Iterator[None]:
        """In this block the first signal calls `stop` instead of raising KeyboardInterrupt.

        Args:
            stop: takes no lock.
            after: what is still ended, as it is told to the user.
        """
        self._stop, self._after = stop, after
        try:
            yield
        finally:
            self._stop = None

    def receive(self, number: int, _: FrameType | None) -> None:
        """The handler of both signals."""
        first = self.signal is None
        self.signal = number
        if self._stop is None or not first:
            raise KeyboardInterrupt
        self._say(f"stopping after {self._after}; once more to stop at once")
        self._stop()


@contextmanager
def interruptible(say: Callable[[str], None]) -> Iterator[Interruption]:
    """Handle both signals within the block; what they did before is restored after it."""
    interruption = Interruption(say)
    before = {number: signal.signal(number, interruption.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
