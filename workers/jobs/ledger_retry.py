"""Repeats a step at the ledger that must not be lost while the ledger is unreachable."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from redis.exceptions import RedisError

BACKOFF = (0.1, 0.5, 2.0, 5.0)  # seconds between tries

log = structlog.get_logger()
T = TypeVar("T")


def until_reached(step: Callable[[], T], job: str) -> T:
    """Return what a step returns, which is the same when it is repeated; repeat it while the ledger is unreachable.

    Raises:
        RedisError: if the ledger stays unreachable; the step may have been carried out.
    """
    for pause in BACKOFF:
        try:
            return step()
        except RedisError as error:
            log.warning("ledger.away", job=job, error=type(error).__name__)
            time.sleep(pause)  # between two tries: a server that is away does not announce that it is back
    return step()
