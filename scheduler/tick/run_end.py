"""The end of a run for its host: at its last tick, or because the host leaves a run that another may resume."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Literal

import structlog
from redis.exceptions import RedisError

from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.tick.result_collector import ResultCollector
from cogitate.scheduler.tick.world_calls import WorldCalls

log = structlog.get_logger()

SAID_SOON = 2.0  # seconds for which a failing host tries to inform its ledger


class RunEnd(ABC):
    """The part of a loop that decides whether another tick follows."""

    state: RunState
    calls: WorldCalls
    collector: ResultCollector
    stopping = False  # whether the present tick is the last one of this host
    _closed = False
    _left = False  # whether the ledger knows how this host left the run
    _interrupted: threading.Event  # set: no other tick begins

    @property
    @abstractmethod
    def tick(self) -> int:
        """Return the last committed tick."""

    def stop(self) -> None:
        """Leave the run after the present tick; a host may resume it, and workers stop claiming its jobs."""
        self.calls.check_process()
        self.stopping = True

    def interrupt(self) -> None:
        """End another thread's wait for the next tick, and leave the run without beginning that tick."""
        self.stopping = self.collector.interrupted = True
        self._interrupted.set()

    @property
    def over(self) -> bool:
        """Return whether no tick follows: the last one has passed, this host has left, or an operator ended the run."""
        return self._closed or self._left or self.stopping or self.done

    @property
    def done(self) -> bool:
        """Return whether the run has ended for every host: at its last tick, or by an operator."""
        return self.state.steering.over or self._at_end

    @property
    def _status(self) -> Literal["finished", "stopped", "cancelled"]:
        """Return the status of the run if this host leaves it now."""
        if self.state.steering.mode == "cancelled":
            return "cancelled"
        return "finished" if self._at_end else "stopped"

    @property
    def _at_end(self) -> bool:
        return self.state.due.last is not None and self.tick >= self.state.due.last


def let_go(
    ledger: HostLedger, status: Literal["finished", "stopped", "cancelled"], sent: Future[Any] | None = None
) -> None:
    """Record in the ledger how a host leaves its run after an error, if the ledger answers soon; raise nothing.

    Args:
        sent: the reply to a commit in flight, which comes first.
    """

    def record() -> None:
        if sent is not None:
            with suppress(Exception):  # this error would hide the first one
                sent.result()
        try:
            ledger.let_go(status)
        except (RedisError, LedgerError, OSError) as error:  # as above
            log.info("run.left_unsaid", run=ledger.run, error=f"{type(error).__name__}: {error}"[:200])

    leaving = threading.Thread(target=record, name="leaving", daemon=True)
    leaving.start()
    leaving.join(SAID_SOON)
