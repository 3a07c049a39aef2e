"""When a request came: as the kernel noted it, not when this process was given the processor to read it.

On a busy machine a stand-in is woken late, and then finds requests together that came one after the other. A provider,
whose machines are its own, would not.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from typing import Any

_SO_TIMESTAMPNS = 35  # Linux; the module `socket` does not name it
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY = socket.CMSG_SPACE(_TIMESPEC.size)


class StampedSocket(socket.socket):
    """A TCP socket that knows when the kernel received what was read last; so do the connections that it accepts."""

    arrived: float | None = None  # of the wall clock; None where the system does not say

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, stamped as well."""
        connection, address = super().accept()
        return StampedSocket(fileno=connection.detach()), address

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Receive, and note when that came."""
        data, ancillary, _, _ = self.recvmsg(size, _ANCILLARY, flags)
        for level, kind, value in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(value) == _TIMESPEC.size:
                seconds, nanoseconds = _TIMESPEC.unpack(value)
                self.arrived = seconds + nanoseconds / 1e9
        return data


def listening_socket(host: str, port: int, backlog: int) -> StampedSocket:
    """Return a socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = StampedSocket(fileno=socket.create_server((host, port), family=family, backlog=backlog).detach())
    if sys.platform == "linux":
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return sock


def arrival(writer: asyncio.StreamWriter) -> float:
    """Return when the end of the latest request of a connection came, by the event loop's clock; else the time now."""
    now = asyncio.get_running_loop().time()
    stamped = getattr(writer.get_extra_info("socket"), "_sock", None)  # asyncio wraps it
    if not isinstance(stamped, StampedSocket) or stamped.arrived is None:
        return now
    return now - max(0.0, time.time() - stamped.arrived)
