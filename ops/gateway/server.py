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

IDLE = 75  # seconds that an idle connection stays open, for hosts with rare ticks
LEAVING = 10  # seconds for requests in flight at the gateway's end


def serve(settings: Settings, tokens: Tokens, *, address: str, port: int, started: Callable[[str], None]) -> None:
    """Serve hosts until SIGINT or SIGTERM.

    Args:
        started: called with the gateway's URL once it serves.

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
    """A server that ends event streams and waits before its shutdown."""

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
        """End streams and waits, then the server."""
        self._app.state.closing.set()
        self._table.interrupt()
        await super().shutdown(sockets)


def _bound(address: str, port: int) -> socket.socket:
    """Return a listening socket.

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
