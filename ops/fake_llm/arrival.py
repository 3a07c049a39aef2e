"""Arrival times of requests from the kernel, independent of when this process is scheduled.

On a busy machine the stand-in wakes late and reads several earlier requests at once, unlike a provider on separate
machines.
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
    """A TCP socket that records when the kernel received the last data; its accepted connections do the same.

    Linux starts to stamp data some milliseconds after the first socket asks for it.
    """

    arrived: float | None = None  # wall clock; None if the system does not provide it, or not yet

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection with timestamps."""
        connection, address = super().accept()
        return StampedSocket(fileno=connection.detach()), address

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Receive data and its arrival time."""
        data, ancillary, _, _ = self.recvmsg(size, _ANCILLARY, flags)
        self.arrived = None
        for level, kind, value in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(value) == _TIMESPEC.size:
                seconds, nanoseconds = _TIMESPEC.unpack(value)
                self.arrived = seconds + nanoseconds / 1e9
        return data


def listening_socket(host: str, port: int, backlog: int) -> StampedSocket:
    """Return a listening socket."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = StampedSocket(fileno=socket.create_server((host, port), family=family, backlog=backlog).detach())
    if sys.platform == "linux":
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return sock


def arrival(writer: asyncio.StreamWriter) -> float:
    """Return the wall-clock time at which a connection's latest request arrived, or the present time."""
    stamped = getattr(writer.get_extra_info("socket"), "_sock", None)  # asyncio wraps it
    if not isinstance(stamped, StampedSocket) or stamped.arrived is None:
        return time.time()
    return stamped.arrived
