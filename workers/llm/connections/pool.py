"""A pool of connections that reuses only those on which nothing waits to be read.

HTTP/1.1 tells which answer belongs to which request by their order alone. Whatever a server sends on an idle
connection would become the answer of the next request on it. aiohttp reuses such a connection, so this pool looks
first.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.connector import Connection

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.tracing import Trace


class SilentConnections(aiohttp.TCPConnector):
    """A `TCPConnector` that closes an idle connection on which its server has sent something or that it has closed."""

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            if _is_silent(connection):
                return connection
            connection.close()
        return None

    def close_idle(self) -> None:
        """Close all connections that carry no request now."""
        for idle in self._conns.values():
            for protocol, _ in idle:
                protocol.close()


def _is_silent(connection: Connection) -> bool:
    """Return whether the server has sent nothing that is not read yet, neither to this process nor to its socket."""
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None or protocol.should_close:
        return False
    waiting = select.poll()  # not `select`, which knows no descriptor above 1023
    waiting.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return not waiting.poll(0)
