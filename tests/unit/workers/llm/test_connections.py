"""Connections that are used again: only those on which nothing waits to be read."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from cogitate.workers.llm.http import (
    EXCHANGE,
    MOST_INTERIM,
    Exchange,
    SilentConnections,
    TooManyInterimResponses,
    _CountedResponses,
    _is_silent,
)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's end of a connection, and its server's."""
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


class Idle:
    """A connection that was used before."""

    def __init__(self, ours: socket.socket | None, *, should_close: bool = False, closed: bool = False) -> None:
        transport = None if ours is None else SimpleNamespace(get_extra_info=lambda name: {"socket": ours}[name])
        self.protocol = None if closed else SimpleNamespace(should_close=should_close, transport=transport)
        self.was_closed = False

    def close(self) -> None:
        self.was_closed = True


def silent(connection: Any) -> bool:
    return _is_silent(connection.protocol)


def test_a_connection_is_silent_until_its_server_sends_something_or_closes_it(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    assert silent(Idle(ours))
    theirs.send(b"H")
    assert not silent(Idle(ours))
    ours.recv(1)
    assert silent(Idle(ours))
    theirs.close()
    assert not silent(Idle(ours))


def test_unread_and_closed_connections_are_not_silent(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, _ = ends
    assert not silent(Idle(ours, should_close=True))
    assert not silent(Idle(ours, closed=True))
    assert not silent(Idle(None))


def test_a_connection_that_is_not_silent_is_closed_and_the_next_one_is_looked_at(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = ends
    loud, quiet, key = Idle(ours, should_close=True), Idle(ours), object()
    left: list[Any] = [loud, quiet]
    asked: list[tuple[Any, ...]] = []

    async def get(self: Any, *of: Any) -> Any:
        asked.append(of)
        return left.pop(0) if left else None

    monkeypatch.setattr(aiohttp.TCPConnector, "_get", get)

    async def look() -> tuple[Any, Any]:
        EXCHANGE.set(exchange)
        pool: Any = SilentConnections()
        found = await pool._get(key, []), await pool._get(key, [])
        await pool.close()
        return found

    exchange = Exchange(0.0)
    assert asyncio.run(look()) == (quiet, None)
    assert exchange.reused
    assert (loud.was_closed, quiet.was_closed) == (True, False)
    assert asked == [(key, [])] * 3


def test_idle_connections_are_closed_on_request() -> None:
    async def close() -> list[str]:
        closed: list[str] = []
        pool: Any = SilentConnections()
        idle = {name: [(SimpleNamespace(close=lambda name=name: closed.append(name)), 0.0)] for name in "ab"}
        kept, pool._conns = pool._conns, idle
        pool.close_idle()
        pool._conns = kept
        await pool.close()
        return closed

    assert asyncio.run(close()) == ["a", "b"]


def test_a_server_that_sends_interim_responses_without_end_is_left() -> None:
    async def fed(*codes: int) -> tuple[Any, list[str]]:
        protocol: Any = _CountedResponses(loop=asyncio.get_running_loop())
        aborted: list[str] = []
        protocol.transport = SimpleNamespace(abort=lambda: aborted.append("aborted"))
        for code in codes:
            protocol.feed_data((SimpleNamespace(code=code), None))
        return protocol.exception(), aborted

    for codes in ([103] * 100, [100, 199] * 50, [*[103] * 100, 200, *[103] * 100], [200] * 300, [99] * 300):
        assert asyncio.run(fed(*codes)) == (None, [])
    for codes in ([103] * 101, [103] * 300, [*[103] * 101, 200]):
        error, aborted = asyncio.run(fed(*codes))
        assert (type(error), aborted) == (TooManyInterimResponses, ["aborted"])
    assert MOST_INTERIM == 100


def test_a_lost_connection_has_nothing_to_abort() -> None:
    async def fed() -> Any:
        protocol: Any = _CountedResponses(loop=asyncio.get_running_loop())
        for _ in range(101):
            protocol.feed_data((SimpleNamespace(code=103), None))
        return protocol.exception()

    assert isinstance(asyncio.run(fed()), TooManyInterimResponses)
