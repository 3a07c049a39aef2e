"""Events for Flower, some at a time: a worker makes three for each job, and each message costs as much as a call.

Celery sends what is buffered as soon as its event loop comes round, which under a few hundred jobs a second is nearly
every event by itself. Here a timer sends it: Flower sees a job a moment later and a worker has a fifth more time.
"""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.worker.consumer.events import Events

INTERVAL = 0.25  # seconds
LIMIT = 1_000  # events that are sent at once if they come before the timer


class EventBatches(bootsteps.StartStopStep):  # type: ignore[misc]
    """Sends buffered events by a timer. Worker events (online, heartbeat) are not buffered and stay as they are."""

    requires = (Events,)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._timer: Any = None

    def start(self, consumer: Any) -> None:
        """Begin, with the dispatcher of this connection."""
        dispatcher = consumer.event_dispatcher
        if consumer.hub and dispatcher is not None:
            dispatcher.on_send_buffered, dispatcher.buffer_limit = None, LIMIT
            self._timer = consumer.timer.call_repeatedly(INTERVAL, consumer._flush_events)

    def stop(self, consumer: Any) -> None:
        """End; what is buffered stays with the dispatcher, which hands it on to the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
