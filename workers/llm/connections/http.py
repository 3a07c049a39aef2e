"""The model client's HTTP: one pool over aiohttp, a size cap on every answer, and a count of the requests sent.

Each call sends one request. Through OpenAI's SDK a call takes three times the CPU of the exchange itself, and the SDK's
aiohttp backend (`openai.DefaultAioHttpClient`) reports a connection closed in the middle of an answer as one never
made, which would cost nothing, and decompresses answers without a limit. This module keeps no deadlines: the waiting
caller cancels the call, which closes its connection.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp

from cogitate.workers.llm.connections.pool import EXCHANGE, Exchange, SilentConnections
from cogitate.workers.llm.connections.stale_answers import REQUEST_ID, StaleAnswers
from cogitate.workers.llm.replies.failures import FailureKind
from cogitate.workers.llm.requests.address import Request

_COMPRESSED = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"})
_COMPRESSED_CONTENT = (  # gzip, zstd, deflate
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x78\x01",
    b"\x78\x5e",
    b"\x78\x9c",
    b"\x78\xda",
)
_PLAIN_CONTENT = (b"{", b"data:", b"event:", b":")  # an answer decompressed by a proxy, which may leave the header
_STREAM_OVER = re.compile(rb"(?:^|\n)data: ?\[DONE\]\s*\Z")  # cannot occur as a line of JSON
_TAIL = 64  # bytes searched for the end of a stream
MAX_RESPONSE_BYTES = 4 * 2**20  # the body of one response; the longest useful answer is far below
_KEEPALIVE = 4.0  # seconds an idle connection is kept: less than the 5 s after which common servers close it


class NoResponse(Exception):
    """A call ended without a usable response: none arrived, or it was too large or compressed against our request.

    The client turns it into a `Failure`; it never leaves this package.
    """

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class HttpResponse(NamedTuple):
    """A complete response."""

    status: int
    headers: Mapping[str, str]  # names are case-insensitive
    content: bytes

    @property
    def answers(self) -> bool:
        """Return whether the status is a success (RFC 9110, section 15.3)."""
        return 200 <= self.status < 300


class PooledRequest:
    """One request, sent any number of times, each with another body. It belongs to the event loop that creates it.

    Args:
        connect_timeout: seconds for one connection, TLS included.
        tls: for https; making one takes too long for an event loop.
    """

    def __init__(
        self,
        request: Request,
        connections: int,
        connect_timeout: float,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._method = request.method
        self._url = request.url
        self._connections = SilentConnections(limit=connections, keepalive_timeout=_KEEPALIVE, ssl=tls or True)
        self._stale = StaleAnswers()
        self._session = aiohttp.ClientSession(
            headers=request.headers,
            connector=self._connections,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout),  # waiting for the pool has no end
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            proxy=proxy,
        )

    async def send(self, body: bytes, exchange: Exchange) -> HttpResponse:
        """Send the request with this body and return its complete response.

        Raises:
            NoResponse: if no readable response arrives, or one that belongs to another request.
        """
        request_id = self._stale.new_request_id()
        EXCHANGE.set(exchange)
        try:
            async with self._session.request(
                self._method,
                self._url,
                data=body or None,
                headers={REQUEST_ID: request_id},
                allow_redirects=False,
            ) as response:
                content = await _read(response)
                if self._stale.names_another(request_id, response.headers, content) or (
                    200 <= response.status < 300 and self._stale.is_copy(body, content, reused=exchange.reused)
                ):
                    self._connections.close_idle()  # this request's own answer may still come on one of them
                    raise NoResponse("connection", "the answer to another request")
                return HttpResponse(response.status, response.headers, content)
        except (aiohttp.ClientError, OSError) as error:  # without its text: that may hold parts of a header
            raise NoResponse(_cause_of(error), type(error).__name__) from None

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


def _cause_of(error: Exception) -> FailureKind:
    """Return the class of a failure to connect."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "dns"
        case aiohttp.ClientSSLError():
            return "tls"
        case aiohttp.ClientHttpProxyError(status=status) if 400 <= status < 500:
            return "proxy" if status == 407 else "blocked"
    return "connection"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the content of a response; if a stream is left open, up to its last event.

    Compressed content of an error is dropped: its status is enough.

    Raises:
        NoResponse: if an answer is too long or compressed; a compressed one could pass the cap and fill the memory.
    """
    chunks: list[bytes] = []
    size, tail = 0, b""
    async for chunk in response.content.iter_any():
        if not chunks and _is_compressed(response, chunk):
            response.close()
            if response.status >= 400:
                return b""
            raise NoResponse("not_json", "a compressed answer although identity was requested")
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_RESPONSE_BYTES:
            response.close()
            raise NoResponse("too_large", f"more than {MAX_RESPONSE_BYTES} bytes")
        tail = (tail + chunk)[-_TAIL:]
        if _STREAM_OVER.search(tail) is not None:
            response.close()
            break
    return b"".join(chunks)


def _is_compressed(response: aiohttp.ClientResponse, begins: bytes) -> bool:
    """Return whether content with this beginning is compressed; the header may be missing or wrong."""
    if begins.startswith(_COMPRESSED_CONTENT):
        return True
    named = ",".join(response.headers.getall("Content-Encoding", [])).lower()
    return any(one.strip() in _COMPRESSED for one in named.split(",")) and not begins.lstrip().startswith(
        _PLAIN_CONTENT
    )
