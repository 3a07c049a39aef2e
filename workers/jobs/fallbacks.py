"""The staging of fallbacks: while a model is asked, a thread computes what the host needs if no answer comes in time.

The call does not wait for it. A job that is settled before its turn comes needs no fallback any more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis.exceptions import RedisError

from cogitate.scheduler.intake.fallbacks import Fallbacks
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.tasks.recall import replaced_entry
from cogitate.tasks.registry import UnknownKind, kind_of, kinds


class FallbackStaging:
    """The thread of one worker process that stages fallbacks, one after the other."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._fallbacks = Fallbacks(kinds())
        self._waiting: dict[str, Claim] = {}  # by token, in order of arrival
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def of(self, claim: Claim) -> Iterator[None]:
        """Stage the fallback of a claimed job while the block runs, if the job is to ask a model."""
        if not needs_fallback(claim):
            yield
            return
        with self._changed:
            self._waiting[claim.token] = claim
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fallbacks", daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._waiting.pop(claim.token, None)

    def stage(self, claim: Claim) -> None:
        """Compute and stage the fallback of one job. If the ledger is away, the host computes it.

        A `SystemExit` of a kind's heuristic does not end the thread: the host meets it if it needs the heuristic.
        """
        with suppress(RedisError, UnknownKind, SystemExit):
            fallback = self._fallbacks.make(kind_of(claim.job.key.kind), claim.case)
            if fallback:
                self._claims.stage_fallback(claim, fallback)

    def close(self) -> None:
        """End the thread. Call it when no job runs any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                if self._closed:
                    return
                claim = self._waiting.pop(next(iter(self._waiting)))
            self.stage(claim)


def needs_fallback(claim: Claim) -> bool:
    """Return whether a heuristic may stand in for a job: it asks a model, and what it makes is no repair."""
    return bool(claim.job.model) and not replaced_entry(claim.job)
