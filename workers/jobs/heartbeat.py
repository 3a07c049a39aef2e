"""A worker's heartbeat: one thread per process beats for every run that has a job in the process."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from redis.exceptions import RedisError

from cogitate.workers.processes.lazy_thread import LazyThread

log = structlog.get_logger()


class Heartbeat:
    """The thread that beats while jobs run, so that the host does not expire their leases."""

    def __init__(self, beat: Callable[[str, str], None], interval: float) -> None:
        self._beat = beat
        self._interval = interval
        self._active: Counter[tuple[str, str]] = Counter()
        self._changed = threading.Condition()
        self._thread = LazyThread(self._run, "heartbeat")
        self._closed = False

    @contextmanager
    def of(self, run: str, incarnation: str) -> Iterator[None]:
        """Beat for this run while the block runs."""
        with self._changed:
            if not self._active:
                self._changed.notify()
            self._active[run, incarnation] += 1
            if not self._thread.started:  # each job passes here
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._active[run, incarnation] -= 1
                if not self._active[run, incarnation]:
                    del self._active[run, incarnation]

    def close(self) -> None:
        """End the thread. Call it after the last job has ended."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or bool(self._active))
                if self._closed:
                    return
                runs = list(self._active)
            for run, incarnation in runs:
                try:
                    self._beat(run, incarnation)
                except RedisError as error:
                    log.warning("heartbeat.failed", run=run, error=type(error).__name__)
            with self._changed:
                # A job that ends within the interval needs no heartbeat: its claim counts as the first one.
                self._changed.wait_for(lambda: not self._active, timeout=self._interval)
