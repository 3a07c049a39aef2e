"""How many cases of a kind a model is asked at once: as many as it has shown that it can answer.

A fault counts for its kind alone: a model that cannot make ten plans at once may still rate for ten owners.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cogitate.workers.jobs.call import Call

FIRST = 2
MOST = 32  # cases of one request; with more, no published measurement shows a further saving
FIRST_PAUSE = 8  # calls made alone before a model that failed with two cases is asked for two again
LONGEST_PAUSE = 512


@dataclass
class _Known:
    size: int = FIRST
    alone: int = 0  # calls that are still to be made alone
    pause: int = FIRST_PAUSE
    failed: bool = False  # whether a pack had a fault
    output: int = 0  # tokens of an answer in the pack with the longest ones on average
    tried: bool = False  # whether a pack is asked that may show more


class PackSizes:
    """The sizes of the packs of one process, by model and kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._known: dict[tuple[str, str], dict[str, _Known]] = {}  # by endpoint and model, then by kind

    def next(self, call: Call) -> int:
        """Return the cases of the next request of this call's kind; 1: it is made alone."""
        with self._lock:
            known = self._of(call)
            if known.alone:
                known.alone -= 1
                return 1
            return known.size

    def grows(self, call: Call) -> bool:
        """Return whether no pack had a fault so far, and the model may show more."""
        with self._lock:
            known = self._of(call)
            return not known.failed and known.size < MOST

    @contextmanager
    def shown(self, call: Call, cases: int, seconds: float) -> Iterator[int]:
        """Yield how many of these cases to ask for now: as many as the model has shown that it can answer.

        While others try whether it can answer more, wait for what they see; yield 0 if that takes longer, or if a pack
        had a fault.
        """
        with self._lock:
            known = self._of(call)
            ready = self._lock.wait_for(lambda: known.failed or known.size >= cases or not known.tried, seconds)
            size = min(cases, known.size) if ready and not known.failed else 0
            tries = 0 < size < cases
            known.tried |= tries
        try:
            yield size
        finally:
            if tries:
                with self._lock:
                    known.tried = False
                    self._lock.notify_all()

    def expected_output(self, calls: Sequence[Call]) -> int:
        """Return how many tokens the answers to calls of one kind may have, thoughts excluded.

        Those of the pack with the longest answers so far count twice; before the first pack, the caps of answers count.
        """
        with self._lock:
            each = 2 * self._of(calls[0]).output
        caps = (one.output_cap - one.model.headroom_of(one.claim.job.key.kind) for one in calls)
        return sum(min(each or cap, cap) for cap in caps)

    def ended(self, call: Call, cases: int, *, clean: bool, output: int = 0) -> None:
        """Double the size after a full pack without a fault (`clean`); halve it after a pack with one.

        After a fault among two cases, further calls are made alone, twice as many each time.

        Args:
            output: tokens of its answers, thoughts excluded.
        """
        with self._lock:
            known = self._of(call)
            known.failed |= not clean
            known.output = max(known.output, -(-output // cases))
            self._lock.notify_all()
            if clean:
                known.pause = FIRST_PAUSE
                if cases >= known.size:
                    known.size = min(MOST, 2 * known.size)
            elif cases > FIRST:
                known.size = max(FIRST, min(known.size, cases) // 2)
            else:
                known.size, known.alone = FIRST, known.pause
                known.pause = min(LONGEST_PAUSE, 2 * known.pause)

    def _of(self, call: Call) -> _Known:
        """Return what is known of a kind; of a new one, what the model has shown with the others."""
        kinds = self._known.setdefault((call.model.endpoint, call.model.model), {})
        kind = call.claim.job.key.kind
        if kind not in kinds:
            kinds[kind] = _Known(max((known.size for known in kinds.values() if not known.failed), default=FIRST))
        return kinds[kind]
