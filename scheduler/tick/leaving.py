"""Leaving a loop before its last tick, or after an error.

Whoever takes ticks cannot say that the body of the last one has ended: after `break`, a last `next` or the end of a
`zip` nobody asks for another. So the loop is told: `finish` says that it has ended, `abandon` that it has not. With the
first the tick is committed, with the second it never happened; either way the run's status says that no host is left.
"""

from __future__ import annotations

import inspect
import sys
import threading
from contextlib import suppress
from typing import Literal

import structlog
from redis.exceptions import RedisError

from scheduler.ledger.errors import LedgerError
from scheduler.ledger.ledger import HostLedger
from scheduler.tick.loop import TickLoop

log = structlog.get_logger()

SAID_SOON = 2.0  # seconds that a host which fails may take to say so to its ledger


class LeavableLoop(TickLoop):
    """A tick loop that can be left at any tick."""

    @property
    def body_failed(self) -> bool:
        """Whether an error that came up in the body of the tick that is open is being handled now."""
        return self._open is not None and sys.exception() not in (None, self._open.handling)

    def finish(self) -> None:
        """Commit the tick that is open, whose body has ended, and say that this host has left the run.

        The run can be resumed, unless that was its last tick. After an error of the loop's own this is `abandon`.

        Raises:
            Fenced, LedgerUnavailable: as when a tick is committed.
            LedgerError: when it is called while the loop itself is at work, as by the handler of a signal.
        """
        self._check_process()
        if inspect.getgeneratorstate(self._ticks) == inspect.GEN_RUNNING:
            raise LedgerError(f"run {self.ledger.run!r}: its loop is in the midst of a step; call loop.stop() instead")
        if self.failed:
            self.abandon()
        self._closed = True
        if self._left:
            return
        try:
            self._commit()
            self._finish()
        except BaseException:
            self.abandon()
            raise
        self._ticks.close()

    def abandon(self) -> None:
        """Leave after an error: the tick that is open never happened.

        That this host has left is said to a ledger that answers soon; nothing is raised, whatever it answers.
        """
        if self._left or self.forked:
            return
        self._left, self._closed, self._open, self._body = True, True, None, False
        with suppress(ValueError):  # it is in the midst of a step, and what has interrupted that ends it
            self._ticks.close()
        let_go(self.ledger, self.ending)


def let_go(ledger: HostLedger, status: Literal["finished", "stopped", "cancelled"]) -> None:
    """Say how a host that meets an error has left its run, to a ledger that answers soon; raise nothing."""

    def say() -> None:
        try:
            ledger.let_go(status)
        except (RedisError, LedgerError, OSError) as error:  # there is an error already: this one would hide it
            log.info("run.left_unsaid", run=ledger.run, error=f"{type(error).__name__}: {error}"[:200])

    saying = threading.Thread(target=say, name="leaving", daemon=True)
    saying.start()
    saying.join(SAID_SOON)
