"""A guarded version of kombu's transport for RabbitMQ, registered under kombu's names, so that URLs do not change.

A kind's queue stands for its lanes (`cogitate.workers.transport.lanes`): to declare, consume, cancel or purge it
applies to all of them. Everything else passes through.

Quorum queues support no limit over all consumers of a channel. So RabbitMQ delivers a few hints of each lane, which
wait in the channel, unacknowledged, for a slot of the worker: Celery gets as many as its prefetch count allows, those
of earlier lanes first, and none of jobs that ask a model while this process has no room for them. Like the Redis
transport, it drops messages that are not hints.
"""

from __future__ import annotations

import sys
import weakref
from binascii import b2a_base64
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import structlog
from kombu import transport as kombu_transports
from kombu.asynchronous import get_event_loop
from kombu.transport import pyamqp

from cogitate.tasks.registry import is_kind
from cogitate.workers.transport import room
from cogitate.workers.transport.hints import MessageRefused, check_hint
from cogitate.workers.transport.lanes import ARGUMENTS, LANES, Lane, queues_of

SCHEMES = ("amqp", "pyamqp")
TLS_SCHEMES = ("amqps",)
AHEAD = 2  # hints of each lane that wait in a channel

log = structlog.get_logger()


class _Held(NamedTuple):
    """A hint that waits in the channel, and the callback that passes it to Celery."""

    message: Any
    deliver: Callable[[Any], None]


class Channel(pyamqp.Channel):
    """A channel on which a kind's queue stands for its lanes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._slots = sys.maxsize  # unacknowledged hints that Celery may have
        self._passed: dict[int, Lane] = {}  # the lanes of these hints, by delivery tag
        self._held: dict[Lane, deque[_Held]] = {lane: deque() for lane in LANES}
        self._asked_last = False  # whether the latest hint's job asks a model
        self._passing = self._looks_again = False
        self.connection.cogitate_channels.add(self)

    def exchange_declare(self, exchange: str, *args: Any, **options: Any) -> Any:
        """Declare an exchange. Lanes have none: the default exchange routes hints by the queue's name."""
        return None if is_kind(exchange) else super().exchange_declare(exchange, *args, **options)

    def queue_declare(self, queue: str = "", *args: Any, **options: Any) -> Any:
        """Declare a queue, or the lanes of a kind."""
        if not is_kind(queue):
            return super().queue_declare(queue, *args, **options)
        passive = bool(options.get("passive"))
        lanes = [self._declare_lane(name, passive) for name in queues_of(queue)]
        counts = [sum(column) for column in zip(*(lane[1:] for lane in lanes), strict=True)]
        return type(lanes[0])(queue, *counts)

    def _declare_lane(self, name: str, passive: bool) -> Any:
        return super().queue_declare(name, passive=passive, durable=True, auto_delete=False, arguments=ARGUMENTS)

    def queue_bind(self, queue: str, *args: Any, **options: Any) -> Any:
        """Bind a queue; lanes need no binding."""
        return None if is_kind(queue) else super().queue_bind(queue, *args, **options)

    def queue_purge(self, queue: str, *args: Any, **options: Any) -> Any:
        """Purge a queue, or the lanes of a kind; return the number of messages."""
        if not is_kind(queue):
            return super().queue_purge(queue, *args, **options)
        return sum(super(Channel, self).queue_purge(name, *args, **options) for name in queues_of(queue))

    def basic_qos(self, prefetch_size: int, prefetch_count: int, a_global: bool, *args: Any) -> Any:
        """Record how many hints Celery may have, and have RabbitMQ deliver a few of each lane."""
        self._slots = prefetch_count or sys.maxsize
        self._pass_on()
        return super().basic_qos(0, AHEAD, False, *args)

    def basic_consume(self, queue: str = "", consumer_tag: str = "", *args: Any, **options: Any) -> Any:
        """Consume a queue, or the lanes of a kind."""
        if not is_kind(queue):
            return super().basic_consume(queue, consumer_tag, *args, **options)
        callback = options.pop("callback")
        for name, lane in queues_of(queue).items():
            take = partial(self._take, queue, lane, callback)
            super().basic_consume(name, _tag_of(consumer_tag, lane), *args, callback=take, **options)
        return consumer_tag

    def basic_cancel(self, consumer_tag: str, *args: Any, **options: Any) -> Any:
        """Cancel a consumer, or those of a kind's lanes."""
        tags = [tag for lane in LANES if (tag := _tag_of(consumer_tag, lane)) in self.callbacks]
        for tag in tags:
            super().basic_cancel(tag, *args, **options)
        return None if tags else super().basic_cancel(consumer_tag, *args, **options)

    def basic_ack(self, delivery_tag: int, *args: Any, **options: Any) -> Any:
        """Acknowledge a message whose job has begun, so that the next hint may go to Celery."""
        super().basic_ack(delivery_tag, *args, **options)
        self._settled(delivery_tag)

    def basic_reject(self, delivery_tag: int, requeue: bool, *args: Any) -> Any:
        """Reject a message."""
        super().basic_reject(delivery_tag, requeue, *args)
        self._settled(delivery_tag)

    def _settled(self, delivery_tag: int) -> None:
        if self._passed.pop(delivery_tag, None) is not None:
            self._pass_on()

    def _take(self, kind: str, lane: Lane, deliver: Callable[[Any], None], message: Any) -> None:
        """Hold a hint that RabbitMQ delivered; drop any other message."""
        try:
            check_hint(_envelope(message), kind)
        except MessageRefused as refusal:
            log.warning("message.refused", queue=kind, why=str(refusal)[:200])
            super().basic_reject(message.delivery_tag, False)
            return
        self._held[lane].append(_Held(message, deliver))
        self._pass_on()

    def _pass_on(self) -> None:
        """Pass hints to Celery while it has slots; try again soon if some only wait for room."""
        if self._passing:  # Celery has acknowledged a hint within this method
            return
        self._passing = True
        try:
            while len(self._passed) < self._slots and (lane := self._next_lane()) is not None:
                self._asked_last = lane.asks
                held = self._held[lane].popleft()
                self._passed[held.message.delivery_tag] = lane
                held.deliver(held.message)
        finally:
            self._passing = False
        if any(self._held[lane] for lane in LANES if lane.asks) and len(self._passed) < self._slots:
            self._look_again()

    def _next_lane(self) -> Lane | None:
        waiting = [lane for lane in LANES if self._held[lane]]
        if any(lane.asks for lane in waiting):
            coming = sum(lane.asks for lane in self._passed.values())  # hints that will take this process's room
            if room.left() <= coming:
                waiting = [lane for lane in waiting if not lane.asks]
        return min(waiting, key=lambda lane: lane.asks == self._asked_last, default=None)

    def _look_again(self) -> None:
        loop = get_event_loop()
        if loop is None or self._looks_again:  # without a loop, `Transport.drain_events` tries again
            return
        self._looks_again = True

        def look() -> None:
            self._looks_again = False
            if self.is_open:
                self._pass_on()

        loop.call_later(room.INTERVAL, look)


def _tag_of(consumer_tag: str, lane: Lane) -> str:
    return f"{consumer_tag}.{lane.name}"


def _envelope(message: Any) -> dict[str, Any]:
    """Convert a message to the envelope that kombu writes to Redis, which `check_hint` reads."""
    body, properties = message.body, message.properties
    raw = body if isinstance(body, bytes) else str(body).encode(errors="surrogatepass")
    headers = properties.get("application_headers")
    return {
        "body": b2a_base64(raw, newline=False).decode(),
        "content-encoding": properties.get("content_encoding"),
        "content-type": properties.get("content_type"),
        "headers": headers,
        "properties": {
            "correlation_id": "",
            "delivery_tag": str(message.delivery_tag),
            "delivery_info": {"exchange": "", "routing_key": ""},
            "body_encoding": "base64",
        },
    }


class Connection(pyamqp.Connection):
    """A connection with guarded channels."""

    Channel = Channel

    def __init__(self, *args: Any, **options: Any) -> None:
        self.cogitate_channels: weakref.WeakSet[Channel] = weakref.WeakSet()
        super().__init__(*args, **options)

    def heartbeat_tick(self, rate: int = 2) -> None:
        """Check for room as well: when Celery reconnects it drops its timers, including the channel's next check."""
        super().heartbeat_tick(rate)
        for channel in list(self.cogitate_channels):
            channel._looks_again = False
            channel._pass_on()


class Transport(pyamqp.Transport):
    """kombu's RabbitMQ transport with guarded channels."""

    Connection = Connection

    def drain_events(self, connection: Any, **options: Any) -> Any:
        """Wait for events in a worker without an event loop, and then check for room."""
        try:
            return super().drain_events(connection, **options)  # type: ignore[no-untyped-call]
        finally:
            for channel in list(connection.cogitate_channels):
                with suppress(OSError):
                    channel._pass_on()


class TlsTransport(Transport, pyamqp.SSLTransport):
    """A `Transport` over TLS."""


def register() -> None:
    """Make kombu use the guarded transport in this process; repeated calls are harmless."""
    for scheme in (*SCHEMES, *TLS_SCHEMES):
        name = "TlsTransport" if scheme in TLS_SCHEMES else "Transport"
        kombu_transports.TRANSPORT_ALIASES[scheme] = f"{__name__}:{name}"
        kombu_transports._transport_cache.pop(scheme, None)
