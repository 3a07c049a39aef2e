"""Late or repeated answers on a kept connection: none becomes the answer to another request."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from cogitate.workers.llm.clients import ModelClients
from tests.integration.workers.llm_case import PROMPT, Mood, ask, client_of, completion
from tests.patience import LONGEST

Script = Callable[["Exchange"], None]


class Exchange:
    """A request on a connection, which the test can answer."""

    def __init__(self, connection: socket.socket, request_id: str, question: str) -> None:
        self._connection = connection
        self.request_id = request_id
        self.question = question

    def answer(self, word: str, *, completion_id: str, headers: str = "") -> None:
        """Send a complete answer with this mood."""
        self.send(response(word, completion_id, headers))

    def send(self, content: bytes) -> None:
        self._connection.sendall(content)


def response(word: str, completion_id: str, headers: str = "") -> bytes:
    content = json.dumps({"id": completion_id, **completion(json.dumps({"word": word, "strength": 3}))}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    return head.encode() + content


class Scripted:
    """A server that passes the n-th request to the n-th script, and further requests to the last."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.received = 0
        self.connections = 0
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        reader = connection.makefile("rb")
        try:
            while reader.readline():
                headers = {}
                while line := reader.readline().strip():
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = json.loads(reader.read(int(headers["content-length"])))
                with self._lock:
                    script = self._scripts[min(self.received, len(self._scripts) - 1)]
                    self.received += 1
                script(Exchange(connection, headers.get("x-request-id", ""), body["messages"][-1]["content"]))
        except OSError:
            return

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for connection in self._open:
                connection.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def served() -> Iterator[Callable[..., Scripted]]:
    servers: list[Scripted] = []

    def serve(*scripts: Script) -> Scripted:
        servers.append(Scripted(*scripts))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def mood(client: ModelClients, question: str, seconds: float = 20.0) -> str:
    """Ask, and return the mood of the answer or the kind of the failure."""
    answer = ask(client, seconds, replace(PROMPT, user=question))
    if isinstance(answer.value, Mood):
        return answer.value.word
    assert answer.failure is not None
    return answer.failure.kind


def plain(word: str, completion_id: str) -> Script:
    return lambda exchange: exchange.answer(word, completion_id=completion_id)


def test_an_answer_sent_together_with_the_previous_one_is_ignored(served: Callable[..., Scripted]) -> None:
    server = served(
        lambda exchange: exchange.send(response("first", "a") + response("stale", "b")), plain("second", "c")
    )
    with client_of(server.url, 1) as client:
        assert [mood(client, "one"), mood(client, "two")] == ["first", "second"]
    assert (server.received, server.connections) == (2, 2)


class Twice:
    """A script that answers once, and again when the test tells it to."""

    def __init__(self) -> None:
        self._first_is_read, self._stale_is_sent = threading.Event(), threading.Event()

    def __call__(self, exchange: Exchange) -> None:
        exchange.answer("first", completion_id="a")
        self._first_is_read.wait(LONGEST)
        exchange.answer("stale", completion_id="b")
        self._stale_is_sent.set()

    def send_stale(self) -> bool:
        """Send the second answer, and return whether it was sent."""
        self._first_is_read.set()
        return self._stale_is_sent.wait(LONGEST)


def test_an_answer_on_an_idle_connection_is_ignored(served: Callable[..., Scripted]) -> None:
    twice = Twice()
    server = served(twice, plain("second", "c"))
    with client_of(server.url, 1) as client:
        assert mood(client, "one") == "first"
        assert twice.send_stale()
        assert mood(client, "two") == "second"


def test_an_answer_that_arrives_while_the_client_is_busy_is_ignored(served: Callable[..., Scripted]) -> None:
    """Leave the bytes in the socket, which the event loop has not read since they came."""
    twice = Twice()
    server = served(twice, plain("second", "c"))
    with client_of(server.url, 1) as client:
        assert mood(client, "one") == "first"

        async def keep_the_loop_busy() -> None:
            twice.send_stale()

        asking = threading.Thread(target=client._loop.run, args=(keep_the_loop_busy(),))
        asking.start()
        assert mood(client, "two") == "second"
        asking.join()


def test_an_answer_after_the_deadline_is_ignored(served: Callable[..., Scripted]) -> None:
    gone, sent = threading.Event(), threading.Event()

    def late(exchange: Exchange) -> None:
        gone.wait(LONGEST)
        try:
            exchange.answer("stale", completion_id="a")
        finally:
            sent.set()

    server = served(late, plain("second", "b"))
    with client_of(server.url, 1) as client:
        assert mood(client, "one", seconds=0.3) == "timeout"
        gone.set()
        assert sent.wait(LONGEST)
        assert mood(client, "two") == "second"
    assert server.connections == 2


@pytest.mark.parametrize("order", ["before its own", "instead of its own"])
def test_an_answer_with_another_requests_id_is_refused(served: Callable[..., Scripted], order: str) -> None:
    """Answer as servers such as vLLM do, with the request's id in a header or in the answer's id."""
    ids: list[str] = []

    def first(exchange: Exchange) -> None:
        ids.append(exchange.request_id)
        exchange.answer("first", completion_id="a", headers=f"X-Request-Id: {exchange.request_id}\r\n")

    def second(exchange: Exchange) -> None:
        exchange.answer("stale", completion_id=f"chatcmpl-{ids[0]}")
        if order == "before its own":
            exchange.answer("second", completion_id=f"chatcmpl-{exchange.request_id}")

    server = served(first, second, plain("third", "c"))
    with client_of(server.url, 1) as client:
        assert [mood(client, "one"), mood(client, "two"), mood(client, "three")] == ["first", "connection", "third"]
    assert server.connections == 2


def test_a_copy_of_the_previous_answer_is_refused(served: Callable[..., Scripted]) -> None:
    def second(exchange: Exchange) -> None:
        exchange.answer("first", completion_id="a")  # a late copy with the bytes of the first answer
        exchange.answer("second", completion_id="b")

    server = served(plain("first", "a"), second, plain("third", "c"))
    with client_of(server.url, 1) as client:
        assert [mood(client, "one"), mood(client, "two"), mood(client, "three")] == ["first", "connection", "third"]
    assert server.connections == 2


def test_an_endpoint_with_constant_answers_is_accepted_after_one_refusal(served: Callable[..., Scripted]) -> None:
    server = served(plain("calm", "a"))
    with client_of(server.url, 1) as client:
        found = [mood(client, question) for question in ("one", "one", "two", "three", "four", "five")]
    assert found == ["calm", "calm", "connection", "calm", "calm", "calm"]


def test_one_copy_on_a_new_connection_does_not_excuse_another(served: Callable[..., Scripted]) -> None:
    """Send one copy, which a proxy may have mixed up, and check that a later copy is still refused."""

    def closing(word: str) -> Script:
        return lambda exchange: exchange.answer(word, completion_id=word, headers="Connection: close\r\n")

    server = served(closing("first"), closing("first"), plain("third", "c"), plain("third", "c"), plain("fifth", "e"))
    with client_of(server.url, 1) as client:
        found = [mood(client, question) for question in ("one", "two", "three", "four", "five")]
    assert found == ["first", "first", "third", "connection", "fifth"]
