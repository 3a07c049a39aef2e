"""A pool of connections that sends a request only on a connection without unread data.

HTTP/1.1 matches answers to requests by order alone. Anything that a server sends on an idle connection, or on a new one
before the first request, would become the answer to the next request. aiohttp uses such a connection, so this pool
checks first. aiohttp also waits forever while interim responses arrive (100, 102, 103), so this pool counts them.
"""

from __future__ import annotations

import asyncio
import select
import time
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest, ConnectionKey
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader
    from aiohttp.tracing import Trace

MOST_INTERIM = 100  # interim responses to one request; a server needs at most one every few seconds


class TooManyInterimResponses(aiohttp.ClientError):
    """A server sends interim responses but no answer."""


class UnaskedAnswer(aiohttp.ClientError):
    """A server sent data on a new connection before any request, or closed it right away."""


@dataclass
class Exchange:
    """The deadline of one exchange with an endpoint, and what was sent."""

    deadline: float  # instant of time.monotonic()
    sent: int = 0  # requests that got a connection
    reused: bool = False  # whether the connection had carried an earlier exchange

    def remaining(self) -> float:
        """Return the seconds left; zero or less after the deadline."""
        return self.deadline - time.monotonic()


#: The exchange of the current task; aiohttp's tracing would take a fifth of the CPU of an exchange.
EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")


class _CountedResponses(ResponseHandler):
    """A connection's protocol that closes it after too many interim responses to one request."""

    _interim = 0

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Receive one response, interim or final."""
        if self._interim > MOST_INTERIM:
            return  # it arrived in the same read, after the connection was closed
        self._interim = self._interim + 1 if 100 <= data[0].code < 200 else 0
        if self._interim <= MOST_INTERIM:
            super().feed_data(data, size)
            return
        self.set_exception(TooManyInterimResponses())
        if self.transport is not None:
            self.transport.abort()


class SilentConnections(aiohttp.TCPConnector):
    """A `TCPConnector` that drops connections that the server has closed or has sent unrequested data on."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        protocol: type[ResponseHandler] = _CountedResponses
        self._factory = partial(protocol, loop=asyncio.get_running_loop())

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        """Return a connection for a request, and count it in the exchange of the task."""
        connection = await super().connect(req, traces, timeout)
        EXCHANGE.get().sent += 1
        return connection

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            if _is_silent(connection.protocol):
                EXCHANGE.get().reused = True
                return connection
            connection.close()
        return None

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        protocol = await super()._create_connection(req, traces, timeout)
        if _is_silent(protocol):
            return protocol
        with ExitStack() as undo:
            undo.callback(protocol.close)
            for _ in range(2):  # then the event loop has read what had come: of TLS that may be no data of the server
                await asyncio.sleep(0)
            if protocol.should_close or not protocol.is_connected():
                raise UnaskedAnswer
            undo.pop_all()
        return protocol

    def close_idle(self) -> None:
        """Close all idle connections."""
        for idle in self._conns.values():
            for protocol, _ in idle:
                protocol.close()


def _is_silent(protocol: ResponseHandler | None) -> bool:
    """Return whether there is no unread data from the server, neither in this process nor in the socket."""
    if protocol is None or protocol.transport is None or protocol.should_close:
        return False
    waiting = select.poll()  # `select` cannot handle descriptors above 1023
    waiting.register(protocol.transport.get_extra_info("socket").fileno(), select.POLLIN)
    return not waiting.poll(0)
