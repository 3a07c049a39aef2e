"""Handles Ctrl-C and SIGTERM: the first stops the run after the current tick, the second stops it at once.

The second raises KeyboardInterrupt anywhere in the main thread. Within `threading.Event.set` or `wait` it would leave
the event's lock locked and deadlock the main thread, so that must not use a `threading.Event`. In a finalizer or a weak
reference's callback, Python prints the exception and continues; this module then raises it again.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

RAISED_AGAIN_AFTER = 0.01
"""Seconds after which an ignored interrupt is raised again; by then the finalizer has usually ended."""


class Interruption:
    """The user's request to stop, if any."""

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
            stop: called from the signal handler; it must take no lock.
            after: the work that still completes, for the message to the user.
        """
        self._stop, self._after = stop, after
        try:
            yield
        finally:
            self._stop = None

    def receive(self, number: int, _: FrameType | None) -> None:
        first = self.signal is None
        self.signal = number
        if self._stop is None or not first:
            raise KeyboardInterrupt
        self._print(f"stopping after {self._after}; press Ctrl-C again to stop at once")
        self._stop()


def _raise(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def interruptible(print_line: Callable[[str], None]) -> Iterator[Interruption]:
    """Handle both signals within the block, and restore their handlers after it."""
    interruption = Interruption(print_line)
    before = {number: signal.signal(number, interruption.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    report = sys.unraisablehook

    def raise_again(ignored: sys.UnraisableHookArgs) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            report(ignored)
            return
        handler = signal.signal(signal.SIGALRM, _raise)
        before.setdefault(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, RAISED_AGAIN_AFTER)

    sys.unraisablehook = raise_again
    try:
        yield interruption
    finally:
        sys.unraisablehook = report
        if signal.SIGALRM in before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
