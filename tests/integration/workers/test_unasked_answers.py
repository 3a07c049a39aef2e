"""A server that sends an answer on a new connection before any request: the client does not use that connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.tasks.job import Cost
from cogitate.workers.llm.clients import ModelClients
from tests.integration.workers.llm_case import Mood, ask
from tests.integration.workers.test_stale_answers import response
from tests.patience import LONGEST


class SpeaksFirst:
    """A server that first sends given bytes on its first connection, and answers every request with one mood."""

    def __init__(self, first: bytes, tls: ssl.SSLContext | None) -> None:
        self._first, self._tls = first, tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._said = threading.Event()
        self.questions: list[int] = []  # number of requests on each connection
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://localhost:{self._listening.getsockname()[1]}/v1"

    def __enter__(self) -> SpeaksFirst:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def wait_until_it_spoke(self) -> None:
        assert self._said.wait(LONGEST)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an answer does not wait for an ACK
                with connection, suppress(OSError, ValueError):
                    self._talk(connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True))

    def _talk(self, connection: socket.socket) -> None:
        self.questions.append(0)
        with connection:
            if len(self.questions) == 1 and self._first:
                connection.sendall(self._first)
            self._said.set()
            reader = connection.makefile("rb")
            while reader.readline():
                length = 0
                while line := reader.readline().strip().lower():
                    length = int(line.split(b":")[1]) if line.startswith(b"content-length") else length
                reader.read(length)
                self.questions[-1] += 1
                connection.sendall(response("own", f"c-{len(self.questions)}"))


@contextmanager
def asked_after_it_spoke(server: SpeaksFirst, patch: pytest.MonkeyPatch, where: str) -> Iterator[ModelClients]:
    """Yield a client that gets each new connection once the server has sent, with the bytes in the `socket` or read."""
    create = aiohttp.TCPConnector._create_connection

    async def late(self: Any, *of: Any) -> Any:
        made = await create(self, *of)
        if where == "socket":
            server.wait_until_it_spoke()  # blocks the event loop, which reads nothing meanwhile
        else:
            await asyncio.to_thread(server.wait_until_it_spoke)
        return made

    patch.setattr(aiohttp.TCPConnector, "_create_connection", late)
    client = ModelClients({"default": Endpoint(base_url=server.url)}, 2)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture(params=["http", "https"])
def tls(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext | None:
    if request.param == "http":
        return None
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return context


@pytest.mark.parametrize("where", ["socket", "process"])
def test_an_answer_before_any_request_is_refused(
    where: str, tls: ssl.SSLContext | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        SpeaksFirst(response("stale", "a"), tls) as server,
        asked_after_it_spoke(server, monkeypatch, where) as client,
    ):
        first, second = ask(client), ask(client)
    assert first.failure is not None
    assert (first.failure.kind, first.failure.detail, first.usage) == ("connection", "UnaskedAnswer", Cost())
    assert isinstance(second.value, Mood)
    assert (second.value.word, server.questions) == ("own", [0, 1])


@pytest.mark.parametrize("where", ["socket", "process"])
def test_tls_records_of_a_new_connection_are_not_an_answer(
    where: str, tls: ssl.SSLContext | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accept the session tickets that a TLS 1.3 server sends right after the handshake."""
    with SpeaksFirst(b"", tls) as server, asked_after_it_spoke(server, monkeypatch, where) as client:
        answers = [ask(client) for _ in range(2)]
    assert [answer.failure for answer in answers] == [None, None]
    assert server.questions == [2]
