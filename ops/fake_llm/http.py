"""A minimal HTTP/1.1 server that can also send half a response, which no web framework does."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from http import HTTPStatus
from typing import Any, NamedTuple

from cogitate.ops.fake_llm.completions import FakeResponse

_MAX_BODY = 32 * 2**20  # bytes
_DRIP = 0.05  # seconds between two bytes


class HttpRequest(NamedTuple):
    """A complete request."""

    method: str
    path: str
    body: bytes
    content_type: str = ""


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Return the next request; None at the end of the connection, or for invalid HTTP."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    first, *lines = head.split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    parts = first.split(" ")
    length = headers.get("content-length", "0")
    if len(parts) != 3 or not length.isdigit() or int(length) > _MAX_BODY:
        return None
    body = await reader.readexactly(int(length))
    return HttpRequest(parts[0], parts[1], body, headers.get("content-type", ""))


def head_of(response: FakeResponse) -> bytes:
    """Return the status line and headers of a response."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Unknown"
    headers = [("Content-Type", response.content_type), ("Content-Length", str(len(response.body))), *response.headers]
    lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def deliver(response: FakeResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Deliver a response as its fault demands, and return whether all of it was sent."""
    head, body = head_of(response), response.body
    if response.delivery == "complete":
        writer.write(head + body)
        await writer.drain()
        return True
    if response.delivery == "hang":
        await reader.read(1)  # until the client closes the connection
        return False
    if response.delivery == "close":
        return False
    if response.delivery == "reset":
        writer.write(head + body[: len(body) // 2])
        await writer.drain()
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    dripped = body
    if response.delivery == "drip":
        writer.write(head)
    else:
        dripped = head + body
    for at in range(len(dripped)):
        writer.write(dripped[at : at + 1])
        await writer.drain()
        await asyncio.sleep(_DRIP)
        if reader.at_eof():
            return False
    return True


_SO_TIMESTAMPNS = 35  # Linux; the module `socket` does not name it
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY = socket.CMSG_SPACE(_TIMESPEC.size)


class StampedSocket(socket.socket):
    """A TCP socket that records when the kernel received the last data, as do the connections that it accepts.

    Linux starts to stamp data some milliseconds after the first socket asks for it.
    """

    arrived: float | None = None  # wall clock; None if the system does not provide the time, or not yet

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
