"""A daemon thread that starts once its owner has work for it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class LazyThread:
    """A thread that its first start creates, in the process that starts it.

    Python 3.13 does not start a thread that was created before a fork, and a pool's processes are forks.
    """

    def __init__(self, target: Callable[[], None], name: str) -> None:
        self._target, self._name = target, name
        self._thread: threading.Thread | None = None
        self.started = False

    def start(self) -> None:
        """Start the thread unless it has been started. The caller holds the owner's lock."""
        if not self.started:
            self.started = True
            self._thread = threading.Thread(target=self._target, name=self._name, daemon=True)
            self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait at most `timeout` seconds until the thread ends, if it was started."""
        if self._thread is not None:
            self._thread.join(timeout)
