"""The last word of a host that meets an error."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Literal

import structlog
from redis.exceptions import RedisError

from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.ledger import HostLedger

log = structlog.get_logger()

SAID_SOON = 2.0  # seconds that a host which fails may take to tell its ledger


def let_go(
    ledger: HostLedger, status: Literal["finished", "stopped", "cancelled"], sent: Future[Any] | None = None
) -> None:
    """Tell a ledger that answers soon how a host that meets an error has left its run; raise nothing.

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
