"""Pack sizes: how many cases of a kind one request puts to a model. They grow while no answer has a fault.

A fault counts only for its kind: a model that cannot make ten plans at once may still rate for ten owners.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cogitate.workers.jobs.call import Call

FIRST = 2
MOST = 32  # cases of one request; with more, no published measurement shows a further saving
FIRST_PAUSE = 8  # calls made alone after a model failed with two cases, before it is asked for two again
LONGEST_PAUSE = 512


@dataclass
class _PackSize:
    size: int = FIRST
    alone: int = 0  # further calls to make alone
    pause: int = FIRST_PAUSE
    failed: bool = False  # whether a pack had a fault
    output: int = 0  # tokens of an answer: the largest mean of a pack
    trying: bool = False  # whether a pack in flight may raise the size


class PackSizes:
    """The sizes of the packs of one process, by model and kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._known: dict[tuple[str, str], dict[str, _PackSize]] = {}  # by endpoint and model, then by kind

    def next(self, call: Call) -> int:
        """Return how many cases the next request of this call's kind may have; 1: ask alone."""
        with self._lock:
            known = self._of(call)
            if known.alone:
                known.alone -= 1
                return 1
            return known.size

    def grows(self, call: Call) -> bool:
        """Return whether no pack has had a fault so far, and the size is below its limit."""
        with self._lock:
            known = self._of(call)
            return not known.failed and known.size < MOST

    @contextmanager
    def shown(self, call: Call, cases: int, seconds: float) -> Iterator[int]:
        """Yield how many of these cases to ask for now: at most the current size.

        While another thread asks for a pack that may raise the size, wait for it, at most this many seconds. Yield 0 if
        it takes longer, or if a pack had a fault.
        """
        with self._lock:
            known = self._of(call)
            ready = self._lock.wait_for(lambda: known.failed or known.size >= cases or not known.trying, seconds)
            size = min(cases, known.size) if ready and not known.failed else 0
            may_raise = 0 < size < cases
            known.trying |= may_raise
        try:
            yield size
        finally:
            if may_raise:
                with self._lock:
                    known.trying = False
                    self._lock.notify_all()

    def expected_output(self, calls: Sequence[Call]) -> int:
        """Estimate the tokens of the answers to calls of one kind, reasoning excluded.

        Each answer counts as twice the largest mean of a pack so far, at most its cap; before the first pack, as its
        cap.
        """
        with self._lock:
            each = 2 * self._of(calls[0]).output
        caps = (one.output_cap - one.model.headroom_of(one.claim.job.key.kind) for one in calls)
        return sum(min(each or cap, cap) for cap in caps)

    def ended(self, call: Call, cases: int, *, clean: bool, output: int = 0) -> None:
        """Record a pack: double the size if it was full and had no fault (`clean`), halve it after a fault.

        After a fault with two cases, further calls are made alone; their number doubles with each such fault.

        Args:
            output: tokens of its answers, reasoning excluded.
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

    def _of(self, call: Call) -> _PackSize:
        """Return the state of a kind; a new kind starts with the largest size of the model's kinds without a fault."""
        kinds = self._known.setdefault((call.model.endpoint, call.model.model), {})
        kind = call.claim.job.key.kind
        if kind not in kinds:
            kinds[kind] = _PackSize(max((known.size for known in kinds.values() if not known.failed), default=FIRST))
        return kinds[kind]
