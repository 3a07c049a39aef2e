"""A daemon thread that exists only once its owner has work for it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class LazyThread:
    """A thread that is created when it is first started, in the process that starts it.

    Python 3.13 does not start a thread that was created before a fork, and a pool's process is a fork.
    """

    def __init__(self, target: Callable[[], None], name: str) -> None:
        self._target, self._name = target, name
        self._thread: threading.Thread | None = None
        self.started = False

    def start(self) -> None:
        """Start the thread, if it was not started before. The caller holds its owner's lock."""
        if not self.started:
            self.started = True
            self._thread = threading.Thread(target=self._target, name=self._name, daemon=True)
            self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread ends, for at most this many seconds, if it was started."""
        if self._thread is not None:
            self._thread.join(timeout)
