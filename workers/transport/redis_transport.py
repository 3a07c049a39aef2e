"""kombu's Redis transport, guarded: registered under its own names, so URLs and Flower's pages stay as they are.

It works around two faults of kombu 5.7.0 that end a worker:

- A worker that is busy when Redis goes away asks a channel for a new connection after its transport has been closed,
  and dies of `AttributeError: 'NoneType' object has no attribute 'hostname'` in `Channel._connparams`. A connection
  error instead makes it reconnect like any other.
- An item in a queue that is not a hint (no JSON, no envelope, a task without an id) raises out of the event loop: it
  ends the worker, or makes it reconnect and take the same item for ever. The transport drops it and logs
  `message.refused`.

A third fault costs time: kombu creates a client object for each command, which with redis-py 8 takes longer than the
command.
"""

from __future__ import annotations

from queue import Empty
from typing import Any

import structlog
from kombu import transport as kombu_transports
from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tasks.registry import is_kind
from workers.transport.envelope import MessageRefused, check_envelope, check_hint

SCHEMES = ("redis", "rediss")  # "redis+socket://" is kombu's "redis" with a path

log = structlog.get_logger()


class Channel(kombu_redis.Channel):
    """A channel that reports a closed transport as a lost connection."""

    # A closing worker drops the hints that it has not started: the host repeats them.
    do_restore = False

    _shared: tuple[Any, Any] | None = None  # a pool and the client over it

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[no-untyped-call]
        if self._shared is None or self._shared[0] is not self.pool:
            self._shared = (self.pool, super()._create_client())  # type: ignore[no-untyped-call]
        return self._shared[1]  # safe to share between threads: it takes a connection from the pool for each command

    def _connparams(self, asynchronous: bool = False) -> Any:
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("the transport of this channel was closed")
        return super()._connparams(asynchronous=asynchronous)  # type: ignore[no-untyped-call]

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (ValueError, RecursionError) as error:  # not JSON; connection errors are of another class
            log.warning("message.refused", queue=None, why=f"not a message: {type(error).__name__}")
            raise Empty from None


class Transport(kombu_redis.Transport):
    """kombu's Redis transport with guarded channels."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str) -> None:
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
