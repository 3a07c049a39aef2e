"""How a run ends for its host: at its last tick, or because the host leaves it to be resumed."""

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

SAID_SOON = 2.0  # seconds that a failing host may take to inform its ledger


class RunEnd(ABC):
    """The part of a loop that decides whether a further tick comes."""

    state: RunState
    calls: WorldCalls
    collector: ResultCollector
    stopping = False  # the present tick is the last one of this host
    _closed = False
    _left = False  # the ledger knows how this host left the run
    _interrupted: threading.Event  # no further tick is to begin

    @property
    @abstractmethod
    def tick(self) -> int:
        """The last committed tick."""

    def stop(self) -> None:
        """Leave the run after the present tick, to be resumed; workers stop claiming its jobs."""
        self.calls.check_process()
        self.stopping = True

    def interrupt(self) -> None:
        """End another thread's wait for the next tick, and leave the run; a tick that has not begun does not begin."""
        self.stopping = self.collector.interrupted = True
        self._interrupted.set()

    @property
    def over(self) -> bool:
        """Return whether no further tick comes: the last has, this host has left the run, or an operator ended it."""
        return self._closed or self._left or self.stopping or self.done

    @property
    def done(self) -> bool:
        """Return whether the run has ended for every host: at its last tick, or by an operator."""
        return self.state.steering.over or self._at_end

    @property
    def _status(self) -> Literal["finished", "stopped", "cancelled"]:
        """Return the status in which this host leaves the run now."""
        if self.state.steering.mode == "cancelled":
            return "cancelled"
        return "finished" if self._at_end else "stopped"

    @property
    def _at_end(self) -> bool:
        return self.state.due.last is not None and self.tick >= self.state.due.last


def let_go(
    ledger: HostLedger, status: Literal["finished", "stopped", "cancelled"], sent: Future[Any] | None = None
) -> None:
    """Tell the ledger how a host that meets an error leaves its run, if it answers soon; raise nothing.

    Args:
        sent: the reply to a commit that is under way, which comes first.
    """

    def say() -> None:
        if sent is not None:
            with suppress(Exception):  # there is an error already: this one would hide it
                sent.result()
        try:
            ledger.let_go(status)
        except (RedisError, LedgerError, OSError) as error:  # as above
            log.info("run.left_unsaid", run=ledger.run, error=f"{type(error).__name__}: {error}"[:200])

    saying = threading.Thread(target=say, name="leaving", daemon=True)
    saying.start()
    saying.join(SAID_SOON)
