"""The fake endpoint judges requests by their arrival, even if it reads them late."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from cogitate.ops.fake_llm.http import StampedSocket, listening_socket
from cogitate.ops.fake_llm.server import FakeEndpoint

PER_MINUTE = 1200
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Say something."}]}).encode()
HEAD = f"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, StampedSocket]]:
    """Yield both ends of a connection, the client's first; the kernel stamps what the other end receives."""
    with ExitStack() as stack:
        server = stack.enter_context(listening_socket("127.0.0.1", 0, 1))
        client = stack.enter_context(socket.create_connection(server.getsockname()))
        accepted = stack.enter_context(server.accept()[0])
        assert isinstance(accepted, StampedSocket)
        while accepted.arrived is None:  # the kernel starts stamping some milliseconds after the first request for it
            client.sendall(b"-")
            accepted.recv(1)
        yield client, accepted


def test_a_request_is_stamped_on_arrival_before_it_is_read(pair: tuple[socket.socket, StampedSocket]) -> None:
    client, accepted = pair
    for text in (b"one", b"two"):
        sent = time.time()
        client.sendall(text)
        select.select([accepted], [], [])
        readable = time.time()
        assert accepted.recv(100) == text
        assert accepted.arrived is not None
        assert sent <= accepted.arrived <= readable


@pytest.mark.usefixtures("pair")
def test_requests_are_judged_by_their_arrival() -> None:
    with FakeEndpoint(requests_per_minute=PER_MINUTE, burst=0) as endpoint, ExitStack() as stack:
        port = int(endpoint.url.rpartition(":")[2].removesuffix("/v1"))
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(3)]
        held, go_on = threading.Event(), threading.Event()
        endpoint._loop.call_soon_threadsafe(lambda: (held.set(), go_on.wait()))
        held.wait()
        for client in clients:
            client.sendall(HEAD + BODY)
            sent = time.monotonic()
            while time.monotonic() < sent + 2 * 60 / PER_MINUTE:  # half the allowed rate, even if stamped late
                pass
        go_on.set()
        answers = [client.recv(100).split()[1] for client in clients]
    assert answers == [b"200", b"200", b"200"]
