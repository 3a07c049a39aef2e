"""Flower under a user of Redis that may read and subscribe, but tell workers nothing.

flower 2.2.0 asks workers to show themselves before it listens to their events, and starts over for ever when it may not
ask. Here it listens all the same: workers beat by themselves. What it can only ask for (a worker's own page: pool,
settings, queues) stays empty, and its buttons are refused by Redis.
"""

from __future__ import annotations

from typing import Any

import structlog
from celery.events import EventReceiver
from flower import events
from kombu.exceptions import OperationalError
from redis.exceptions import NoPermissionError

log = structlog.get_logger()


class Receiver(EventReceiver):  # type: ignore[misc]  # celery is untyped
    """Receives events whether or not workers may be asked for them."""

    def wakeup_workers(self, channel: Any = None) -> None:
        """Ask workers to show themselves, if that is allowed."""
        try:
            super().wakeup_workers(channel=channel)
        except (NoPermissionError, OperationalError) as error:
            if not isinstance(error, NoPermissionError) and not isinstance(error.__cause__, NoPermissionError):
                raise
            log.info("flower.looks_on", why=str(error)[:200])


def register() -> None:
    """Let Flower in this process receive events so."""
    events.EventReceiver = Receiver
