"""How many cases a model is asked at once: as many as it has shown that it can answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from cogitate.scheduler.config.endpoints import Model

FIRST = 2
MOST = 32  # cases of one request; with more, no published measurement shows a further saving
FIRST_PAUSE = 8  # calls made alone before a model that failed with two cases is asked for two again
LONGEST_PAUSE = 512


@dataclass
class _Known:
    size: int = FIRST
    alone: int = 0  # calls that are still to be made alone
    pause: int = FIRST_PAUSE


class PackSizes:
    """The sizes of the packs of one process, by model. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], _Known] = {}

    def next(self, model: Model) -> int:
        """Return the cases of the next request; 1: it is made alone."""
        with self._lock:
            known = self._of(model)
            if known.alone:
                known.alone -= 1
                return 1
            return known.size

    def ended(self, model: Model, cases: int, *, clean: bool) -> None:
        """Double the size after a full pack without a fault (`clean`); halve it after a pack with one.

        After a fault among two cases, further calls are made alone, twice as many each time.
        """
        with self._lock:
            known = self._of(model)
            if clean:
                known.pause = FIRST_PAUSE
                if cases >= known.size:
                    known.size = min(MOST, 2 * known.size)
            elif cases > FIRST:
                known.size = max(FIRST, min(known.size, cases) // 2)
            else:
                known.size, known.alone = FIRST, known.pause
                known.pause = min(LONGEST_PAUSE, 2 * known.pause)

    def _of(self, model: Model) -> _Known:
        return self._known.setdefault((model.endpoint, model.model), _Known())
