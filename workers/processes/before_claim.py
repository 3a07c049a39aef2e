"""Failures of this worker process before it has a job: they cost no attempt, so no journal and no job would show them.

A worker that fails so takes messages that another worker could use. Its signs of life tell of it, and after
`MOST_IN_TURN` failures without a claim in between it takes no further message and ends, with the reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from cogitate.memory.errors import CogitateError, text_of

MOST_IN_TURN = 20
MOST_WHY = 300  # characters of a reason

log = structlog.get_logger()


class FailuresBeforeClaim:
    """The failures of one process. Thread-safe."""

    def __init__(self) -> None:
        self.in_turn = 0  # since the newest claim
        self.why = ""  # of the newest failure
        self._give_up: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def end_with(self, give_up: Callable[[], None]) -> None:
        """Have this called once this process has proven useless."""
        self._give_up = give_up

    @property
    def useless(self) -> bool:
        """Return whether it has failed so often that it ends."""
        return self.in_turn >= MOST_IN_TURN

    def failed(self, why: str) -> None:
        """Count a message of which this worker could not claim the job, through a fault of its own."""
        with self._lock:
            self.in_turn, self.why = self.in_turn + 1, why
            first, last = self.in_turn == 1, self.in_turn == MOST_IN_TURN
        if first:
            log.error("worker.cannot_claim", why=why)
        if last and self._give_up is not None:
            log.error("worker.useless", failures=MOST_IN_TURN, why=why, then="it ends")
            self._give_up()

    def claimed(self) -> None:
        """Note that a job was claimed: the failures so far are over."""
        if self.in_turn and not self.useless:
            with self._lock:
                self.in_turn = 0


def reason_of(error: BaseException) -> str:
    """Return an error as a reason, on one line."""
    text = " ".join(text_of(error).split())
    told = text if isinstance(error, CogitateError) else f"{type(error).__name__}: {text}"
    return told[:MOST_WHY]


BEFORE_CLAIM = FailuresBeforeClaim()  # of this process
