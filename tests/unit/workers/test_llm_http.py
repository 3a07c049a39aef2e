"""What comes back from an endpoint, as far as it may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from workers.llm.connections import http
from workers.llm.connections.http import NoResponse


class Response:
    """A response whose body comes in these chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self.content, self.closed, self._chunks = self, False, chunks

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
