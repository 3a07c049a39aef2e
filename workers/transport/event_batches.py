"""Batches of events for Flower: a worker creates three for each job, and each message costs as much as a call.

Celery sends buffered events at each turn of its event loop, which at a few hundred jobs a second is nearly every event
by itself. Here a timer sends them: Flower sees a job a moment later and a worker has a fifth more time.
"""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.worker.consumer.events import Events

INTERVAL = 0.25  # seconds
LIMIT = 1_000  # events that are sent at once, before the timer


class EventBatches(bootsteps.StartStopStep):  # type: ignore[misc]
    """A step that sends buffered events by a timer. It leaves worker events (online, heartbeat) unbuffered."""

    requires = (Events,)

    _timer: Any = None

    def start(self, consumer: Any) -> None:
        """Start the timer, with the dispatcher of this connection."""
        dispatcher = consumer.event_dispatcher
        if consumer.hub and dispatcher is not None:
            dispatcher.on_send_buffered, dispatcher.buffer_limit = None, LIMIT
            self._timer = consumer.timer.call_repeatedly(INTERVAL, consumer._flush_events)

    def stop(self, consumer: Any) -> None:
        """Stop the timer; buffered events stay with the dispatcher, which passes them to the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
