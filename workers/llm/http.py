"""HTTP for model calls: a pool of connections, a size cap on every answer, and the detection of mixed-up answers.

HTTP/1.1 matches answers to requests by order alone. Anything that a server sends on an idle connection, or on a new one
before the first request, would become the answer to the next request, so the pool sends a request only on a connection
without unread data. aiohttp also waits forever while interim responses arrive (100, 102, 103), so the pool counts them.

Either of two signs reveals an answer that a server, or a proxy in front of it, sends twice or late:

* It carries the id of another request. Several servers return `X-Request-Id` in the header of the answer, or, as vLLM
  does, within the answer's own `id`.
* It equals the answer to another question byte for byte, or has its completion id. Completions contain an id and a
  time, so it is a copy, unless the endpoint gives constant answers or ids. The endpoint does so if it sends this answer
  or id on a connection that carried nothing else, or to the same question again. The pool learns this per answer and
  id.

Each call sends one request. OpenAI's SDK would take three times the CPU of the exchange itself; its aiohttp backend
reports a connection that closed in the middle of an answer as one never made, which would seem to cost nothing, and
decompresses answers without a limit. This module enforces no deadline: the waiting caller cancels the call, which
closes its connection.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import select
import ssl
import time
from collections.abc import Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from cogitate.workers.llm.replies.failures import FailureKind
from cogitate.workers.llm.requests.address import Request
from cogitate.workers.llm.requests.hashing import hashed

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest, ConnectionKey
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader
    from aiohttp.tracing import Trace

REQUEST_ID = "X-Request-Id"
_MOST_KEPT = 1_000  # earlier answers that the pool can recognise
_HEAD = 400  # bytes at the start of an answer that contain its id
_COMPLETION_ID = re.compile(rb'"id"\s*:\s*"([^"]{16,200})"')  # a shorter one may be constant


class StaleAnswers:
    """Remembers one pool's requests and answers, to recognise an answer to another request."""

    def __init__(self) -> None:
        self._name = f"cogitate-{secrets.token_hex(8)}-"
        self._ids = re.compile(re.escape(self._name) + r"\d+")
        self._requests = 0
        self._questions: dict[bytes, bytes] = {}  # digest or id of an answer -> digest of its question, oldest first
        self._repeated: dict[bytes, None] = {}  # digests and ids that the endpoint legitimately repeats
        self._refused: dict[tuple[bytes, bytes], None] = {}  # answers and questions

    def new_request_id(self) -> str:
        """Return the id of a new request."""
        self._requests += 1
        return f"{self._name}{self._requests}"

    def names_another(self, request_id: str, headers: Mapping[str, str], content: bytes) -> bool:
        """Return whether an answer carries another request's id."""
        head = f"{headers.get(REQUEST_ID, '')} {content[:_HEAD].decode(errors='replace')}"
        return any(named != request_id for named in self._ids.findall(head))

    def is_copy(self, question: bytes, content: bytes, *, reused: bool) -> bool:
        """Return whether a completion is a copy of the answer to another question, or has its completion id.

        Args:
            question: the body of its request.
            reused: whether the connection had carried other exchanges before.
        """
        asked, signs = _digest(question), [_digest(content)]
        if (named := _COMPLETION_ID.search(content, 0, _HEAD)) is not None:
            signs.append(named[1])
        seen = [self._was_seen(sign, asked, reused=reused) for sign in signs]  # a list, so as to remember each
        return any(seen)

    def _was_seen(self, answer: bytes, asked: bytes, *, reused: bool) -> bool:
        """Return whether a sign of an answer came with the answer to another question."""
        known = self._questions.setdefault(answer, asked)
        _bound(self._questions)
        if known == asked or answer in self._repeated:
            return False
        if not reused or (answer, asked) in self._refused:
            self._repeated[answer] = None
            _bound(self._repeated)
            return False
        self._refused[answer, asked] = None
        _bound(self._refused)
        return True


def _bound(kept: dict[Any, Any]) -> None:
    """Drop the oldest items beyond the limit."""
    if len(kept) > _MOST_KEPT:
        del kept[next(iter(kept))]


def _digest(content: bytes) -> bytes:
    return hashed(content, 16).digest()


MOST_INTERIM = 100  # interim responses to one request; a server needs at most one every few seconds


class TooManyInterimResponses(aiohttp.ClientError):
    """A server sends interim responses but no answer."""


class UnaskedAnswer(aiohttp.ClientError):
    """A server sent data on a new connection before any request, or closed it right away."""


@dataclass
class Exchange:
    """The deadline of one exchange with an endpoint, and what was sent."""

    deadline: float  # instant of time.monotonic()
    sent: int = 0  # requests that got a connection
    connecting: float = 0.0  # when a new connection was begun, as an instant of time.monotonic(); 0: none was
    reused: bool = False  # whether the connection had carried an earlier exchange

    def remaining(self) -> float:
        """Return the seconds left; zero or less after the deadline."""
        return self.deadline - time.monotonic()

    def connecting_for(self) -> float:
        """Return the seconds since a new connection was begun; 0 if none was."""
        return time.monotonic() - self.connecting if self.connecting else 0.0


#: The exchange of the current task. aiohttp's tracing would add a fifth to an exchange's CPU time.
EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")


class _CountedResponses(ResponseHandler):
    """A protocol that closes its connection after too many interim responses to one request."""

    _interim = 0

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Receive one response, interim or final."""
        if self._interim > MOST_INTERIM:
            return  # it arrived in the same read, after the connection was closed
        self._interim = self._interim + 1 if 100 <= data[0].code < 200 else 0
        if self._interim <= MOST_INTERIM:
            super().feed_data(data, size)
            return
        self.set_exception(TooManyInterimResponses())
        if self.transport is not None:
            self.transport.abort()


class SilentConnections(aiohttp.TCPConnector):
    """A `TCPConnector` that drops connections that the server has closed or has sent unrequested data on."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        protocol: type[ResponseHandler] = _CountedResponses
        self._factory = partial(protocol, loop=asyncio.get_running_loop())

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        """Return a connection for a request, and count the request in the task's exchange."""
        connection = await super().connect(req, traces, timeout)
        EXCHANGE.get().sent += 1
        return connection

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            if _is_silent(connection.protocol):
                EXCHANGE.get().reused = True
                return connection
            connection.close()
        return None

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        EXCHANGE.get().connecting = time.monotonic()
        protocol = await super()._create_connection(req, traces, timeout)
        if _is_silent(protocol):
            return protocol
        with ExitStack() as undo:
            undo.callback(protocol.close)
            for _ in range(2):  # lets the event loop read what has arrived; TLS records may carry no data
                await asyncio.sleep(0)
            if protocol.should_close or not protocol.is_connected():
                raise UnaskedAnswer
            undo.pop_all()
        return protocol

    def close_idle(self) -> None:
        """Close all idle connections."""
        for idle in self._conns.values():
            for protocol, _ in idle:
                protocol.close()


def _is_silent(protocol: ResponseHandler | None) -> bool:
    """Return whether neither this process nor the socket holds unread data from the server."""
    if protocol is None or protocol.transport is None or protocol.should_close:
        return False
    waiting = select.poll()  # `select` cannot handle descriptors above 1023
    waiting.register(protocol.transport.get_extra_info("socket").fileno(), select.POLLIN)
    return not waiting.poll(0)


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
    """A call ended without a usable response: none arrived, or it was too large or compressed despite our request.

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
    """A request to send any number of times with different bodies. It belongs to the event loop that creates it.

    Args:
        connect_timeout: seconds to open a connection, including TLS.
        tls: the context for https; creating one takes too long on an event loop.
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
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout),  # no limit for waiting in the pool
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
                    self._connections.close_idle()  # this request's own answer may still arrive on one of them
                    raise NoResponse("connection", "the answer to another request")
                return HttpResponse(response.status, response.headers, content)
        except (aiohttp.ClientError, OSError) as error:  # its text may contain parts of a header
            raise NoResponse(_cause_of(error), type(error).__name__) from None

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


def _cause_of(error: Exception) -> FailureKind:
    """Return the failure's class for an error of the connection."""
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

    Drops the compressed content of an error: its status is enough.

    Raises:
        NoResponse: if an answer is too long, or compressed: decompressing it could exceed the cap and fill the memory.
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


def _is_compressed(response: aiohttp.ClientResponse, head: bytes) -> bool:
    """Return whether content with this beginning is compressed; the header may be missing or wrong."""
    if head.startswith(_COMPRESSED_CONTENT):
        return True
    encodings = ",".join(response.headers.getall("Content-Encoding", [])).lower().split(",")
    is_declared = any(encoding.strip() in _COMPRESSED for encoding in encodings)
    return is_declared and not head.lstrip().startswith(_PLAIN_CONTENT)
