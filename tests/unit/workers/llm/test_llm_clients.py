"""The clients of a process: one for each endpoint, made by whoever needs it first, all on one event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm import client as llm
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.event_loop import EventLoopThread
from tests.patience import LONGEST


class Client:
    """A client that asks nothing."""

    made: ClassVar[list[Client]] = []

    def __init__(self, endpoint: Endpoint, connections: int, loop: EventLoopThread, store: Any) -> None:
        self.endpoint, self.connections, self.store, self.closed = endpoint, connections, store, False
        loop.run(asyncio.sleep(0))
        Client.made.append(self)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Client]:
    monkeypatch.setattr(llm, "ModelClient", Client)
    Client.made = []
    return Client.made


def test_each_endpoint_has_one_client(made: list[Client]) -> None:
    store: Any = object()
    here, there = Endpoint(base_url="http://here/v1"), Endpoint(base_url="http://there/v1")
    clients = ModelClients({"default": here, "other": there}, 7, store)
    clients.of("default")
    clients.of("other")
    assert [clients.of("default"), clients.of("other")] == made
    assert [(one.endpoint, one.connections, one.store) for one in made] == [(here, 7, store), (there, 7, store)]
    clients.close()
    assert [one.closed for one in made] == [True, True]
    assert "llm" not in [thread.name for thread in threading.enumerate()]


def test_threads_that_need_a_client_at_once_share_it(made: list[Client]) -> None:
    clients = ModelClients({"default": Endpoint()}, 7)
    meeting = threading.Barrier(8)

    def client_of_default(_: int) -> object:
        meeting.wait(LONGEST)
        return clients.of("default")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(client_of_default, range(8))) == made * 8
    clients.close()


def test_an_endpoint_that_is_not_configured_is_named(made: list[Client]) -> None:
    clients = ModelClients({}, 7)
    with pytest.raises(KeyError, match="nowhere"):
        clients.of("nowhere")
    clients.close()
