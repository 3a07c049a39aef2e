"""Failures of this worker process before it claims a job: they cost no attempt, so no job or journal would show them.

A worker that fails like this takes messages that another worker could use. Its heartbeat reports the failures, and
after `MOST_IN_TURN` failures without a claim in between it takes no further messages and exits with the reason.
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
        self.in_turn = 0  # since the latest claim
        self.why = ""  # reason of the latest failure
        self._give_up: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def end_with(self, give_up: Callable[[], None]) -> None:
        """Set the function to call once this process has failed too often."""
        self._give_up = give_up

    @property
    def useless(self) -> bool:
        """Return whether this process has failed so often that it must exit."""
        return self.in_turn >= MOST_IN_TURN

    def failed(self, why: str) -> None:
        """Count a message whose job this worker could not claim through its own fault."""
        with self._lock:
            self.in_turn, self.why = self.in_turn + 1, why
            first, last = self.in_turn == 1, self.in_turn == MOST_IN_TURN
        if first:
            log.error("worker.cannot_claim", why=why)
        if last and self._give_up is not None:
            log.error("worker.useless", failures=MOST_IN_TURN, why=why, then="it ends")
            self._give_up()

    def claimed(self) -> None:
        """Reset the count of failures: a job was claimed."""
        if self.in_turn and not self.useless:
            with self._lock:
                self.in_turn = 0


def reason_of(error: BaseException) -> str:
    """Describe an error on one line."""
    text = " ".join(text_of(error).split())
    described = text if isinstance(error, CogitateError) else f"{type(error).__name__}: {text}"
    return described[:MOST_WHY]


BEFORE_CLAIM = FailuresBeforeClaim()  # of this process
