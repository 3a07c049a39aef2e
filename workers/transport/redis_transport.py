"""A guarded version of kombu's Redis transport, registered under its names, so URLs and Flower's pages do not change.

It works around two faults of kombu 5.7.0 that end a worker:

- A worker that is busy when Redis goes away asks a channel for a new connection after the channel's transport has been
  closed, and dies of `AttributeError: 'NoneType' object has no attribute 'hostname'` in `Channel._connparams`. The
  guarded channel raises a connection error instead, after which the worker reconnects.
- A queue's item that is not a hint (no JSON, no envelope, a task without an id) raises out of the event loop: it ends
  the worker, or makes it reconnect and take the same item again and again. The guarded transport drops it and logs
  `message.refused`.

It also takes hints from runs in turn (`cogitate.workers.transport.hints`), and none of jobs that ask a model while this
process has no room for them, since another worker may have room. With plenty of room it takes several hints together,
which saves two round trips for each hint but the first.

A third fault costs time: kombu creates a client object for each command, which takes longer than the command with
redis-py 8.
"""

from __future__ import annotations

from queue import Empty
from time import monotonic
from typing import Any

import structlog
from kombu import transport as kombu_transports
from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate.memory import typed_json
from cogitate.tasks.registry import is_kind
from cogitate.workers.transport import room
from cogitate.workers.transport.hints import (
    ASKING,
    DRAWN,
    QUICK,
    MessageRefused,
    check_envelope,
    check_hint,
    next_hints,
    tickets_key,
)

SCHEMES = ("redis", "rediss")  # "redis+socket://" is kombu's "redis" with a path
AT_ONCE = 8  # the most hints of jobs that ask a model to take together
SHARE_OF_ROOM = 4  # take hints for at most a quarter of the room at once, since other workers have room too

log = structlog.get_logger()


class Channel(kombu_redis.Channel):
    """A channel that reports a closed transport as a lost connection."""

    # A closing worker drops the hints of jobs that it has not started, since the host repeats them.
    do_restore = False

    _shared: tuple[Any, Any] | None = None  # a pool and the client that uses it
    _turned = False  # whether the lists of jobs that ask a model come first

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[no-untyped-call]
        if self._shared is None or self._shared[0] is not self.pool:
            self._shared = (self.pool, super()._create_client())  # type: ignore[no-untyped-call]
        return self._shared[1]  # thread-safe: it takes a connection from the pool for each command

    def _connparams(self, asynchronous: bool = False) -> Any:
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("the transport of this channel was closed")
        return super()._connparams(asynchronous=asynchronous)  # type: ignore[no-untyped-call]

    def _brpop_start(self, timeout: float | None = None) -> None:
        """Block on the lists of all queues. kombu's own method has a fixed order and cannot skip a list."""
        queues = self._queue_cycle.consume(len(self.active_queues))
        if not queues:
            return
        lists = (ASKING, QUICK) if self._turned else (QUICK, ASKING)  # Redis serves the first that is not empty
        self._turned = not self._turned
        seconds = self.brpop_timeout if timeout is None else timeout
        keys = [tickets_key(queue, priority) for queue in queues for priority in lists]
        if not room.left():
            keys, seconds = [tickets_key(queue, QUICK) for queue in queues], room.INTERVAL
        self._in_poll = connection = self.client.connection
        self._brpop_sent_at = monotonic()  # type: ignore[assignment]  # None in the class
        command = ["BRPOP", *keys, seconds or 0]
        if self.global_keyprefix:
            command = self.client._prefix_args(command)
        connection.send_command(*command)

    def _brpop_read(self, **options: Any) -> Any:
        if self.connection is not None:
            self.connection.reader = self
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (ValueError, RecursionError) as error:  # not JSON; connection errors have another class
            log.warning("message.refused", queue=None, why=f"not a message: {type(error).__name__}")
            raise Empty from None


class Transport(kombu_redis.Transport):
    """kombu's Redis transport with guarded channels."""

    Channel = Channel
    reader: Any  # the channel that read the message being delivered

    def _deliver(self, message: Any, queue: str) -> None:
        if isinstance(message, str) and message in DRAWN and is_kind(queue):
            most = self._at_once() if DRAWN[message] == ASKING else 1
            queues = [queue, *sorted(other for other in self.reader.active_queues if other != queue and is_kind(other))]
            for kind, hint in next_hints(self.reader._create_client(), queues, DRAWN[message], most):
                self._deliver_checked(typed_json.decode(hint), kind)
        else:
            self._deliver_checked(message, queue)

    def _at_once(self) -> int:
        """Return how many hints to take with one ticket: a share of this process's room."""
        slots = self.reader.qos.can_consume_max_estimate()  # None: without a limit
        most = room.left() if slots is None else min(room.left(), slots)
        return max(1, min(AT_ONCE, most // SHARE_OF_ROOM))

    def _deliver_checked(self, message: Any, queue: str) -> None:
        try:
            if is_kind(queue):
                check_hint(message, queue)
            else:
                check_envelope(message)
        except MessageRefused as refusal:
            log.warning("message.refused", queue=queue[:80], why=str(refusal)[:200])
            return
        super()._deliver(message, queue)  # type: ignore[no-untyped-call]


def register() -> None:
    """Make kombu use the guarded transport in this process; repeated calls are harmless."""
    for scheme in SCHEMES:
        kombu_transports.TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
        kombu_transports._transport_cache.pop(scheme, None)
