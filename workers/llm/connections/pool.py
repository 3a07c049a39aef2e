"""A pool of connections that sends a request only on those on which nothing waits to be read.

HTTP/1.1 tells which answer belongs to which request by their order alone. Whatever a server sends on an idle
connection, or on a new one before it is asked, would become the answer of the next request on it. aiohttp uses such a
connection, so this pool looks first. aiohttp also waits without end while interim responses come (100, 102, 103), so
this pool counts them.
"""

from __future__ import annotations

import asyncio
import select
from contextlib import ExitStack
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

MOST_INTERIM = 100  # interim responses to one request; the most that a server has a use for is one every few seconds


class TooManyInterimResponses(aiohttp.ClientError):
    """A server sends interim responses and no answer."""


class UnaskedAnswer(aiohttp.ClientError):
    """A server spoke first on a new connection, or closed it at once."""


class _CountedResponses(ResponseHandler):
    """The protocol of a connection, which ends it after too many interim responses to one request."""

    _interim = 0

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take one response in, interim or final."""
        if self._interim > MOST_INTERIM:
            return  # it came with those that were too many
        self._interim = self._interim + 1 if 100 <= data[0].code < 200 else 0
        if self._interim <= MOST_INTERIM:
            super().feed_data(data, size)
            return
        self.set_exception(TooManyInterimResponses())
        if self.transport is not None:
            self.transport.abort()


class SilentConnections(aiohttp.TCPConnector):
    """A `TCPConnector` that closes a connection that its server has closed or on which it spoke unasked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        protocol: type[ResponseHandler] = _CountedResponses
        self._factory = partial(protocol, loop=asyncio.get_running_loop())

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            if _is_silent(connection.protocol):
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
        """Close all connections that carry no request now."""
        for idle in self._conns.values():
            for protocol, _ in idle:
                protocol.close()


def _is_silent(protocol: ResponseHandler | None) -> bool:
    """Return whether the server has sent nothing that is not read yet, neither to this process nor to its socket."""
    if protocol is None or protocol.transport is None or protocol.should_close:
        return False
    waiting = select.poll()  # not `select`, which knows no descriptor above 1023
    waiting.register(protocol.transport.get_extra_info("socket").fileno(), select.POLLIN)
    return not waiting.poll(0)
