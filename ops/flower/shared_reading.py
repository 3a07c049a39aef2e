"""Readings that several viewers share, so that a server reads its runs once a second, not once a viewer."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, NamedTuple

GOOD_FOR = 1.0  # seconds


class _Begun(NamedTuple):
    at: float  # monotonic
    result: Future[dict[str, Any]]


class SharedReadings:
    """The readings of the last second, by key. Thread-safe; callers must not change a reading."""

    def __init__(self, good_for: float = GOOD_FOR) -> None:
        self._good_for = good_for
        self._begun: dict[Hashable, _Begun] = {}
        self._lock = Lock()

    def get(self, key: Hashable, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the reading that another thread has begun within the last second, or read.

        Whoever waits for a reading that fails gets its error too: a server that does not answer is asked once.
        """
        now = time.monotonic()
        with self._lock:
            self._begun = {name: one for name, one in self._begun.items() if now - one.at < self._good_for}
            begun = self._begun.get(key)
            if begun is not None:
                result, reads = begun.result, False
            else:
                result, reads = Future[dict[str, Any]](), True
                self._begun[key] = _Begun(now, result)
        if reads:
            try:
                result.set_result(read())
            except BaseException as error:  # raised below, and to all who wait
                result.set_exception(error)
        return result.result()
