"""The clients of a process: one for each endpoint, made by whoever needs it first, all on one event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm import client as llm
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.connections.event_loop import EventLoopThread
from tests.integration.workers.llm_case import MODEL, PROMPT

FAR = 30.0  # seconds


class Client:
    """A client that notes what it is asked."""

    made: ClassVar[list[Client]] = []

    def __init__(self, endpoint: Endpoint, connections: int, loop: EventLoopThread, store: Any) -> None:
        self.endpoint, self.connections, self.store, self.calls = endpoint, connections, store, list[Any]()
        loop.run(asyncio.sleep(0))
        Client.made.append(self)

    def ask(self, prompt: Any, **named: Any) -> str:
        self.calls.append(("ask", prompt, named))
        return "answer"

    def get_ready(self, prompt: Any, **named: Any) -> None:
        self.calls.append(("get_ready", prompt, named))

    def probe(self, deadline: float) -> str:
        self.calls.append(("probe", deadline))
        return "found"

    def close(self) -> None:
        self.calls.append("closed")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Client]:
    monkeypatch.setattr(llm, "ModelClient", Client)
    Client.made = []
    return Client.made


def test_each_endpoint_has_one_client_whoever_asks_first(made: list[Client]) -> None:
    store: Any = object()
    here, there = Endpoint(base_url="http://here/v1"), Endpoint(base_url="http://there/v1")
    clients = ModelClients({"default": here, "other": there}, 7, store)
    assert clients.ask(PROMPT, model=MODEL, max_output_tokens=300, deadline=5.0) == "answer"
    clients.get_ready(PROMPT, model=MODEL)
    clients.prepare("other")
    assert clients.probe("other", 6.0) == "found"
    assert [(one.endpoint, one.connections, one.store) for one in made] == [(here, 7, store), (there, 7, store)]
    assert made[0].calls == [
        ("ask", PROMPT, {"model": MODEL, "max_output_tokens": 300, "deadline": 5.0}),
        ("get_ready", PROMPT, {"model": MODEL}),
    ]
    assert made[1].calls == [("probe", 6.0)]
    clients.close()
    assert [one.calls[-1] for one in made] == ["closed"] * 2
    assert "llm" not in [thread.name for thread in threading.enumerate()]


def test_threads_that_need_a_client_at_once_share_it(made: list[Client]) -> None:
    clients = ModelClients({"default": Endpoint()}, 7)
    meeting = threading.Barrier(8)

    def ask(_: int) -> ModelAnswer:
        meeting.wait(FAR)
        return clients.ask(PROMPT, model=MODEL, max_output_tokens=300, deadline=5.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert len(made) == 1
    assert len(made[0].calls) == 8
    clients.close()


def test_an_endpoint_that_is_not_configured_is_named(made: list[Client]) -> None:
    clients = ModelClients({}, 7)
    with pytest.raises(KeyError, match="nowhere"):
        clients.prepare("nowhere")
    clients.close()
