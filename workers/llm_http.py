"""The HTTP transport of the model client: one pool over aiohttp, a cap on every answer, and a count of what was sent.

The SDK's own aiohttp backend (`openai.DefaultAioHttpClient`) is not used: it reports a connection that was closed in
the middle of an answer as one that could not be made, which costs nothing, and it unpacks compressed answers without
limit. Deadlines are not kept here: whoever waits cancels the call, and cancelling closes its connection.
"""

from __future__ import annotations

import ssl
import time
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Literal

import aiohttp
import httpx2

MAX_RESPONSE_BYTES = 4 * 2**20  # the body of one response; the longest useful answer is far below
_KEEPALIVE = 4.0  # seconds an idle connection is kept: less than the 5 s after which common servers close it


class Unreadable(Exception):
    """A response that was given up: it is larger than the cap, or compressed although that was ruled out."""

    def __init__(self, kind: Literal["too_large", "not_json"], detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class Call:
    """The time that one call has, and how often it was really sent."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline  # of time.monotonic()
        self.sent = 0  # requests for which there was a connection to write to

    def remaining(self) -> float:
        """Seconds left; zero or less when the deadline is over."""
        return self.deadline - time.monotonic()


current: ContextVar[Call | None] = ContextVar("cogitate_llm_call", default=None)  # of this asyncio task


async def _count(session: aiohttp.ClientSession, context: SimpleNamespace, sent: Any) -> None:
    if (call := current.get()) is not None:
        call.sent += 1


_ERRORS: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (  # the most specific first
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),  # refused, unknown host, TLS
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.ClientError, httpx2.ReadError),
    (OSError, httpx2.ReadError),
)


def _as_httpx(error: Exception) -> Exception:
    """aiohttp's error as httpx2's, without its text: that may hold parts of a header."""
    return next(theirs(type(error).__name__) for ours, theirs in _ERRORS if isinstance(error, ours))


class PooledTransport(httpx2.AsyncBaseTransport):
    """A pooled HTTP/1.1 transport. Belongs to the event loop on which it is made.

    Args:
        connect_timeout: seconds for one connection, TLS included.
        tls: for https; making one takes too long for an event loop.
    """

    def __init__(
        self, connections: int, connect_timeout: float, proxy: str | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_count)
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=_KEEPALIVE, ssl=tls or True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout),  # waiting for the pool has no end
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trace_configs=[trace],
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and read its whole response.

        Raises:
            Unreadable: when the response is too large or compressed.
            httpx2.TransportError: when there is none.
        """
        url = request.url
        try:
            async with self._session.request(
                request.method,
                str(url.copy_with(userinfo=b"") if url.userinfo else url),  # it is in the headers already
                data=request.content,
                headers=request.headers,
                allow_redirects=False,
                proxy=self._proxy,
            ) as response:
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    # A compressed answer could pass the cap on the wire and fill the memory here; none was asked for.
                    response.close()
                    raise Unreadable("not_json", "a compressed answer although identity was asked for")
                return httpx2.Response(
                    response.status, headers=response.raw_headers, content=await _read(response), request=request
                )
        except (aiohttp.ClientError, OSError) as error:
            raise _as_httpx(error) from None

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.close()


async def _read(response: aiohttp.ClientResponse) -> bytes:
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_RESPONSE_BYTES:
            response.close()
            raise Unreadable("too_large", f"more than {MAX_RESPONSE_BYTES} bytes")
    return b"".join(chunks)
