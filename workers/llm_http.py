"""The HTTP transport of the model client: one pool, a deadline on every byte, a cap on every answer.

httpx2 times single reads, so a server that sends one byte a second is never late. Here each socket operation
of a call gets no more than what is left of the call's deadline, headers and TLS handshake included. Resolving
a host name is the system's and is not covered.
"""

from __future__ import annotations

import ssl
import time
import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2
import httpx2

MAX_RESPONSE_BYTES = 4 * 2**20  # headers and body of one response; the longest useful answer is far below
_KEEPALIVE = 4.0  # seconds an idle connection is kept: less than the 5 s after which common servers close it


class Unreadable(Exception):
    """A response that was given up: it is larger than the cap, or compressed although that was ruled out."""

    def __init__(self, kind: typing.Literal["too_large", "not_json"], detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class Call:
    """The budget of one call in time and bytes, and how often it was really sent."""

    def __init__(self, deadline: float, max_bytes: int = MAX_RESPONSE_BYTES) -> None:
        self.deadline = deadline  # of time.monotonic()
        self.sent = 0  # requests of which at least one byte went out
        self._max_bytes = max_bytes
        self._received = 0
        self._started = False

    def remaining(self) -> float:
        """Seconds left; zero or less when the deadline is over."""
        return self.deadline - time.monotonic()

    def begin(self) -> None:
        """A new request of this call starts."""
        self._started, self._received = False, 0

    def writing(self) -> None:
        if not self._started:
            self._started = True
            self.sent += 1

    def received(self, count: int) -> None:
        self._received += count
        if self._received > self._max_bytes:
            raise Unreadable("too_large", f"more than {self._max_bytes} bytes")


_current: ContextVar[Call | None] = ContextVar("cogitate_llm_call", default=None)


@contextmanager
def calling(call: Call) -> Iterator[None]:
    """Everything this thread sends and receives within the block belongs to `call`."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


def _within(timeout: float | None, error: type[Exception]) -> float | None:
    """The shorter of httpx2's timeout and what is left of the current call."""
    call = _current.get()
    if call is None:
        return timeout
    remaining = call.remaining()
    if remaining <= 0:
        raise error("the call's deadline is over")
    return remaining if timeout is None else min(timeout, remaining)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, _within(timeout, httpcore2.ReadTimeout))
        if (call := _current.get()) is not None:
            call.received(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        timeout = _within(timeout, httpcore2.WriteTimeout)
        if buffer and (call := _current.get()) is not None:
            call.writing()
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _within(timeout, httpcore2.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Network(httpcore2.NetworkBackend):
    def __init__(self) -> None:
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        timeout = _within(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, timeout, local_address, socket_options))


_ERRORS: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (  # the most specific first
    (httpcore2.ConnectTimeout, httpx2.ConnectTimeout),
    (httpcore2.PoolTimeout, httpx2.PoolTimeout),
    (httpcore2.WriteTimeout, httpx2.WriteTimeout),
    (httpcore2.TimeoutException, httpx2.ReadTimeout),
    (httpcore2.ConnectError, httpx2.ConnectError),
    (httpcore2.WriteError, httpx2.WriteError),
    (httpcore2.NetworkError, httpx2.ReadError),
    (httpcore2.ProxyError, httpx2.ProxyError),
    (httpcore2.UnsupportedProtocol, httpx2.UnsupportedProtocol),
    (httpcore2.ProtocolError, httpx2.RemoteProtocolError),
)


@contextmanager
def _as_httpx() -> Iterator[None]:
    """httpcore2's errors as httpx2's, without their texts: these may hold parts of a header."""
    try:
        yield
    except Exception as error:
        for ours, theirs in _ERRORS:
            if isinstance(error, ours):
                raise theirs(type(error).__name__) from None
        raise


class _Body(httpx2.SyncByteStream):
    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._chunks

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()


class DeadlineTransport(httpx2.BaseTransport):
    """A pooled HTTP/1.1 transport that keeps to the current `Call`. Safe to share between threads."""

    def __init__(self, connections: int, proxy: str | None = None) -> None:
        tls = httpx2.create_ssl_context()
        common: dict[str, Any] = {
            "ssl_context": tls,
            "max_connections": connections,
            "max_keepalive_connections": connections,
            "keepalive_expiry": _KEEPALIVE,
            "network_backend": _Network(),
        }
        if proxy is None:
            self._pool = httpcore2.ConnectionPool(**common)
        else:
            url = httpx2.Proxy(proxy)
            self._pool = httpcore2.HTTPProxy(str(url.url), proxy_auth=url.raw_auth, **common)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if (call := _current.get()) is not None:
            call.begin()
        url = request.url
        inner = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_httpx():
            response = self._pool.handle_request(inner)
        headers = httpx2.Headers(response.headers)
        if headers.get("content-encoding", "identity") != "identity":
            # A compressed answer could pass the cap on the wire and fill the memory here; none was asked for.
            response.close()
            raise Unreadable("not_json", "a compressed answer although identity was asked for")
        body = typing.cast(Iterable[bytes], response.stream)
        return httpx2.Response(response.status, headers=headers, stream=_Body(body), extensions=response.extensions)

    def close(self) -> None:
        self._pool.close()
