"""What comes back from an endpoint, as far as it may."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from cogitate.workers.llm import http
from cogitate.workers.llm.http import NoResponse, PooledRequest
from cogitate.workers.llm.requests.address import Request


class Response:
    """A response whose body comes in these chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self.content, self.closed, self._chunks = self, False, chunks
        self.status, self.headers = 200, CIMultiDict[str]()

    async def iter_any(self) -> Any:
        for chunk in self._chunks:
            yield chunk

    def close(self) -> None:
        self.closed = True


def read(response: Any) -> bytes:
    return asyncio.run(http._read(response))


def test_a_response_may_have_as_many_bytes_as_its_cap_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 6)
    whole, larger = Response(b"ab", b"cd", b"ef"), Response(b"ab", b"cd", b"efg")
    assert (read(whole), whole.closed) == (b"abcdef", False)
    with pytest.raises(NoResponse) as refused:
        read(larger)
    assert (refused.value.kind, larger.closed) == ("too_large", True)


@pytest.mark.parametrize("begin", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda"])
def test_a_compressed_answer_is_refused_before_it_can_fill_the_memory(begin: bytes) -> None:
    response = Response(begin + b"ab", b"cd")
    with pytest.raises(NoResponse, match="a compressed answer although identity was requested") as refused:
        read(response)
    assert (refused.value.kind, response.closed) == ("not_json", True)
    assert str(refused.value) == refused.value.detail
    later = Response(b"{", begin)
    assert (read(later), later.closed) == (b"{" + begin, False), "only the first bytes say so"


@pytest.mark.parametrize(
    ("chunks", "content", "closed"),
    [
        ((b"data: 1\n", b"data: [DONE]\n\n", b"more"), b"data: 1\ndata: [DONE]\n\n", True),
        ((b"data: [DO", b"NE]"), b"data: [DONE]", True),
        ((b"data:[DONE]\r\n", b"x"), b"data:[DONE]\r\n", True),
        ((b"a data: [DONE]", b"x"), b"a data: [DONE]x", False),
        ((b"data: [DONE] x", b"y"), b"data: [DONE] xy", False),
        ((b"x" * 200 + b"\ndata: [DONE]", b"x"), b"x" * 200 + b"\ndata: [DONE]", True),
        ((), b"", False),
    ],
)
def test_a_stream_of_events_ends_with_its_last_one(chunks: tuple[bytes, ...], content: bytes, closed: bool) -> None:
    response = Response(*chunks)
    assert (read(response), response.closed) == (content, closed)


def test_only_a_new_connection_has_a_timeout() -> None:
    async def timeouts() -> aiohttp.ClientTimeout:
        pooled = PooledRequest(Request("POST", "http://127.0.0.1:9/v1", {}), 1, 2.5)
        await pooled.close()
        return pooled._session.timeout

    found = asyncio.run(timeouts())
    assert (found.total, found.connect, found.sock_connect, found.sock_read) == (None, None, 2.5, None)
