"""A minimal HTTP/1.1 server that can also send half a response, which no web framework does."""

from __future__ import annotations

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import NamedTuple

from cogitate.ops.fake_llm.completions import FakeResponse

_MAX_BODY = 32 * 2**20  # bytes of a request
_DRIP = 0.05  # seconds between two bytes


class HttpRequest(NamedTuple):
    """A complete request."""

    method: str
    path: str
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Return the next request; None at the end of the connection, or if it is not HTTP."""
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
    return HttpRequest(parts[0], parts[1], await reader.readexactly(int(length)))


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
