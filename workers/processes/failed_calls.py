"""Finds endpoints that answer other workers but fail this process's calls.

Such a process has a wrong URL or key, or no route to the endpoint. Its heartbeat reports it: the endpoint's breaker,
which all workers share, only shows that calls fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import msgspec

from cogitate.scheduler.ledger.worker_signs import FailedCalls

FEW = 3  # the fewest failures in a row that the heartbeat reports


class _InTurn(msgspec.Struct):
    failures: int
    why: str
    answered: int  # calls of all workers that the endpoint had answered at the first of these failures
    others: bool = False  # whether it has answered calls of other workers since


class CallsInTurn:
    """One process's failures in a row at each endpoint. Thread-safe."""

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
            series = self._failing.setdefault(endpoint, _InTurn(0, why, count))
            series.failures, series.why = series.failures + 1, why
            series.others |= count > series.answered

    def answered(self, endpoint: str) -> None:
        """Forget the failures of an endpoint that has answered."""
        if endpoint in self._failing:
            with self._lock:
                self._failing.pop(endpoint, None)

    def told(self) -> Mapping[str, FailedCalls]:
        """Return, by endpoint, the failures in a row during which the endpoint answered other workers."""
        with self._lock:
            return {
                name: FailedCalls(failures=series.failures, why=series.why)
                for name, series in sorted(self._failing.items())
                if series.others and series.failures >= FEW
            }


CALLS = CallsInTurn()  # of this process
