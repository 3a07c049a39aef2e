"""The gateway's process: serves until a signal stops it, and leaves every run resumable.

A client can open connections at no cost, and each host needs one. So the gateway closes connections whose requests stay
incomplete, and at its limit the oldest connection without a known host.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from cogitate.hosting.protocol.host_table import HostTable
from cogitate.ops.gateway.app import make_app
from cogitate.ops.gateway.edge import VARIABLE, Tokens, is_loopback
from cogitate.scheduler.config.settings import ConfigurationError, Settings

MOST = 500  # the most connections, if the process may open so many files
HEADERS = 10.0  # seconds from the connection, or from the first byte of a request, to the end of the headers
BODY = 60.0  # seconds from the end of the headers to the end of the body


def most_connections() -> int:
    """Return the most connections, which leave enough open files for runs, their server and their logs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))


class BoundedConnection(H11Protocol):
    """A connection that is closed if a request does not arrive in time."""

    most = most_connections()
    headers_within = HEADERS
    body_within = BODY

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.since = self.loop.time()  # start of its last request, or of the connection
        self._arriving: asyncio.TimerHandle | None = None  # deadline for the arrival of a request
        self._has_headers = False  # whether the headers of the arriving request are complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; at the limit, close the least useful one."""
        super().connection_made(transport)
        self._allow(self.headers_within)
        if len(self.connections) > self.most:
            others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
            least = min(others, key=lambda one: (one.is_busy, one.is_known, one.since), default=self)
            (self if least.is_busy else least).drop()

    @property
    def is_known(self) -> bool:
        """Return whether the last request came from a known host."""
        return self.scope is not None and "host" in self.scope

    @property
    def is_busy(self) -> bool:
        """Return whether a host waits for an answer on this connection."""
        return self.is_known and self.cycle is not None and not self.cycle.response_complete

    def drop(self) -> None:
        """Close the connection at once, even during a request."""
        self._end_wait()
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_wait()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Parse the bytes and record the request's progress."""
        super().handle_events()
        state = self.conn.their_state
        if state is h11.IDLE:
            if self._arriving is None and self.conn.trailing_data[0]:
                self.since = self.loop.time()
                self._allow(self.headers_within)
        elif state is h11.SEND_BODY:
            if not self._has_headers:
                self._has_headers = True
                self._allow(self.body_within)
        else:  # the request is complete
            self._has_headers = False
            self._end_wait()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP; if a response has begun, close the connection."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.drop()

    def _allow(self, seconds: float) -> None:
        self._end_wait()
        self._arriving = self.loop.call_later(seconds, self.drop)

    def _end_wait(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None


IDLE = 75  # seconds that an idle connection stays open, for hosts with rare ticks
LEAVING = 10  # seconds that requests in flight have at the gateway's end


def serve(settings: Settings, tokens: Tokens, *, address: str, port: int, started: Callable[[str], None]) -> None:
    """Serve hosts until SIGINT or SIGTERM.

    Args:
        started: called with the gateway's URL once it serves.

    Raises:
        ConfigurationError: for a non-loopback address without tokens, or an address that cannot be bound.
    """
    if not tokens and not is_loopback(address):
        raise ConfigurationError(
            f"--address {address} serves other machines as well: give each host a token, by --tokens FILE or {VARIABLE}"
        )
    with _bound(address, port) as listening, HostTable(settings) as table:
        app = make_app(table, tokens)
        config = config_of(app)
        bound = listening.getsockname()
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        _Server(config, app, table, lambda: started(f"http://{name}:{bound[1]}")).run(sockets=[listening])


def config_of(app: FastAPI, connection: type[BoundedConnection] = BoundedConnection) -> uvicorn.Config:
    """Return the configuration of the HTTP server."""
    return uvicorn.Config(
        app,
        http=connection,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=LEAVING,
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_keep_alive=IDLE,
        proxy_headers=False,
    )


class _Server(uvicorn.Server):
    """A server that ends event streams and waiting requests before its shutdown."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, table: HostTable, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._table = table
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve, and report the URL."""
        await super().startup(sockets)
        if not self.should_exit:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End event streams and waiting requests, then the server."""
        self._app.state.closing.set()
        self._table.interrupt()
        await super().shutdown(sockets)


def _bound(address: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        ConfigurationError: when the address cannot be bound.
    """
    try:
        family, *_, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(where[:2], family=family, backlog=128)
    except OSError as error:
        raise ConfigurationError(
            f"--address {address} --port {port}: cannot listen there: {error.strerror or error}"
        ) from None
