"""A plain HTTP client of the gateway, and a gateway that serves in this process."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import uvicorn
from fakeredis import FakeRedis

from cogitate.hosting.protocol.host_table import HostTable
from cogitate.ops.gateway.app import PATIENCE, make_app
from cogitate.ops.gateway.edge import Tokens
from cogitate.ops.gateway.server import BoundedConnection, config_of
from cogitate.scheduler.config.settings import Settings
from tests.patience import LONGEST


class Answer(NamedTuple):
    """A response: its status, its headers by lower-case name, and its decoded JSON."""

    status: int
    headers: dict[str, str]
    body: Any


class Client:
    """A client that opens a connection for each request."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.where = urlsplit(url)
        self._token = token

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send bytes, and return the response."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._token is not None:
            given.setdefault("Authorization", f"Bearer {self._token}")
        with closing(
            http.client.HTTPConnection(self.where.hostname or "", self.where.port, timeout=LONGEST)
        ) as connection:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            raw = response.read()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, json.loads(raw))

    def post(self, path: str, message: object) -> Answer:
        """Post a message."""
        return self.send("POST", path, json.dumps(message).encode(), Content_Type="application/json")

    def get(self, path: str) -> Answer:
        """Get a resource."""
        return self.send("GET", path)

    def tick(self, run: str, number: int, turn: object = None) -> Answer:
        """Post the turn of a tick."""
        return self.post(f"/runs/{run}/ticks/{number}", turn or {})

    def finished_tick(self, run: str, number: int, turn: object = None) -> Answer:
        """Post the turn of a tick until the gateway answers it, as a client that honours `not_yet` does."""
        while (answer := self.tick(run, number, turn)).status == 503:
            pass
        return answer

    def answer(self, path: str, message: object) -> Any:
        """Post a message, check that the gateway accepts it, and return the body of the answer."""
        answer = self.post(path, message)
        assert answer.status == 200, answer
        return answer.body


class Served(NamedTuple):
    """A gateway that serves in this process."""

    client: Client
    table: HostTable


@contextmanager
def serving(
    redis: FakeRedis | None = None,
    *,
    tokens: dict[str, str] | None = None,
    patience: float = PATIENCE,
    settings: Settings | None = None,
    connection: type[BoundedConnection] = BoundedConnection,
) -> Iterator[Served]:
    """Serve hosts on a Redis in memory; jobs run inline."""
    with HostTable(settings or Settings(), redis or FakeRedis()) as table:
        app = make_app(table, Tokens(tokens or {}), patience=patience)
        config = config_of(app, connection)
        config.port = 0
        server = uvicorn.Server(config)
        started = threading.Event()
        startup = server.startup

        async def announced_startup(sockets: Any = None) -> None:
            await startup(sockets)
            started.set()

        server.startup = announced_startup  # type: ignore[method-assign]
        thread = threading.Thread(target=server.run, name="gateway")
        thread.start()
        try:
            assert started.wait(LONGEST)
            port = server.servers[0].sockets[0].getsockname()[1]
            yield Served(Client(f"http://127.0.0.1:{port}"), table)
        finally:
            app.state.closing.set()
            table.interrupt()
            server.should_exit = True
            thread.join(LONGEST)
        assert not thread.is_alive()
