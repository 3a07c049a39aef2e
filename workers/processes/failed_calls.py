"""Endpoints at which the calls of this process fail while those of other workers are answered.

Such a process has a wrong URL or key, or no way to the endpoint. Its heartbeat says so: the endpoint's breaker, which
all workers share, only says that calls fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import msgspec

from cogitate.scheduler.ledger.worker_signs import FailedCalls

FEW = 3  # the fewest failures in a row that are told


class _InTurn(msgspec.Struct):
    failures: int
    why: str
    answered: int  # calls of all workers that had been answered at the first of these failures
    others: bool = False  # whether calls of others were answered since


class CallsInTurn:
    """The latest calls of one process. Thread-safe."""

    def __init__(self) -> None:
        self._failing: dict[str, _InTurn] = {}
        self._lock = threading.Lock()

    def failed(self, endpoint: str, why: str, answered: Callable[[], int]) -> None:
        """Count a call that may have failed by this process's own fault.

        Args:
            why: the class of its failure.
            answered: returns how many calls of all workers the endpoint has answered.
        """
        count = answered()
        with self._lock:
            found = self._failing.setdefault(endpoint, _InTurn(0, why, count))
            found.failures, found.why = found.failures + 1, why
            found.others |= count > found.answered

    def answered(self, endpoint: str) -> None:
        """Forget an endpoint's failures: it has answered."""
        if endpoint in self._failing:
            with self._lock:
                self._failing.pop(endpoint, None)

    def told(self) -> Mapping[str, FailedCalls]:
        """Return, by endpoint, the failures in a row between which calls of other workers were answered."""
        with self._lock:
            return {
                name: FailedCalls(failures=one.failures, why=one.why)
                for name, one in sorted(self._failing.items())
                if one.others and one.failures >= FEW
            }


CALLS = CallsInTurn()  # of this process
