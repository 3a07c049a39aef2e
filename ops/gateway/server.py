"""The gateway's process: serves until a signal stops it, and leaves every run resumable."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from cogitate.hosting.protocol.host_table import HostTable
from cogitate.ops.gateway.app import make_app
from cogitate.ops.gateway.connections import BoundedConnection
from cogitate.ops.gateway.edge import is_loopback
from cogitate.ops.gateway.tokens import VARIABLE, Tokens
from cogitate.scheduler.config.settings import ConfigurationError, Settings

IDLE = 75  # seconds that a connection without a request is kept, for hosts whose ticks are far apart
LEAVING = 10  # seconds that requests in flight have when the gateway ends


def serve(settings: Settings, tokens: Tokens, *, address: str, port: int, started: Callable[[str], None]) -> None:
    """Serve hosts until SIGINT or SIGTERM.

    Args:
        started: is called with the gateway's URL when it serves.

    Raises:
        ConfigurationError: for an address beyond this machine without tokens, or one that cannot be bound.
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
    """Return how the gateway's HTTP is served."""
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
    """A server that ends streams and waits before it waits for requests in flight."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, table: HostTable, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._table = table
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve and report it."""
        await super().startup(sockets)
        if not self.should_exit:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams and waits, then the server."""
        self._app.state.closing.set()
        self._table.interrupt()
        await super().shutdown(sockets)


def _bound(address: str, port: int) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        ConfigurationError: when it cannot.
    """
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(where)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise ConfigurationError(
            f"--address {address} --port {port}: cannot listen there: {error.strerror or error}"
        ) from None
    return listening
