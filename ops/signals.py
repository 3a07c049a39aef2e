"""Handling of Ctrl-C and SIGTERM: the first stops the run after the present tick, the second stops it at once.

The second raises KeyboardInterrupt wherever the main thread is. In the middle of `threading.Event.set` or `wait` the
event's lock would stay taken, and the main thread would deadlock: it must not use a `threading.Event`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """The user's request to stop, if there is one."""

    def __init__(self, print_line: Callable[[str], None]) -> None:
        self._print = print_line
        self._stop: Callable[[], object] | None = None
        self._after = ""
        self.signal: int | None = None

    @property
    def exit_code(self) -> int:
        """Return the exit code of a process that a signal stopped: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal or signal.SIGINT)

    @contextmanager
    def softened(self, stop: Callable[[], object], after: str = "this tick") -> Iterator[None]:
        """Let the first signal within the block call `stop` instead of raising KeyboardInterrupt.

        Args:
            stop: must take no lock.
            after: what still completes, as the message to the user names it.
        """
        self._stop, self._after = stop, after
        try:
            yield
        finally:
            self._stop = None

    def receive(self, number: int, _: FrameType | None) -> None:
        """Handle either signal."""
        first = self.signal is None
        self.signal = number
        if self._stop is None or not first:
            raise KeyboardInterrupt
        self._print(f"stopping after {self._after}; press Ctrl-C again to stop at once")
        self._stop()


@contextmanager
def interruptible(print_line: Callable[[str], None]) -> Iterator[Interruption]:
    """Handle both signals within the block, and restore their handlers after it."""
    interruption = Interruption(print_line)
    before = {number: signal.signal(number, interruption.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
