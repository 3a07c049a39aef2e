"""`loop.memory` with the embeddings of an endpoint: over HTTP, kept by text, and gone without harm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.memory.retrieval.similarity import SimilarityUnavailable
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.workers.llm import embeddings
from cogitate.workers.llm.embeddings import EmbeddingSimilarity
from cogitate.workers.llm.requests.address import Address

ADA = "agent:ada"
SEEN = ("The cart lost a wheel.", "The vessel came in at noon.", "The oven is cold.")
SEA = ("boat", "vessel", "ship")


class Endpoint:
    """A stand-in for a model that knows which words are of the sea."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: bytes | None = None  # instead of embeddings
        self.status = 200
        self.url = ""

    @property
    def texts(self) -> list[str]:
        """All texts that were asked about, in order."""
        return [text for request in self.requests for text in request["input"]]

    def reply(self, request: dict[str, Any]) -> bytes:
        if self.answer is not None:
            return self.answer
        data = [
            {"object": "embedding", "index": at, "embedding": [1.0, 0.1] if _of_the_sea(text) else [0.1, 1.0]}
            for at, text in enumerate(request["input"])
        ]
        return json.dumps({"object": "list", "model": request["model"], "data": data[::-1]}).encode()


def _of_the_sea(text: str) -> bool:
    return any(word in text.lower() for word in SEA)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    known = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known.requests.append(request | {"path": self.path})
            known.keys.append(self.headers["Authorization"])
            body = known.reply(request)
            self.send_response(known.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    known.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


def settings(folder: Path, endpoint: Endpoint | None) -> Settings:
    if endpoint is None:
        return Settings(data_dir=folder)
    return Settings.model_validate(
        {
            "data_dir": folder,
            "endpoints": {"near": {"base_url": endpoint.url, "api_key_variable": "NEAR_KEY"}},
            "embeddings": {"endpoint": "near", "model": "sea-words"},
        }
    )


@contextmanager
def lived(folder: Path, endpoint: Endpoint | None) -> Iterator[TickLoop]:
    """Yield a loop whose Ada has seen three things, before its last tick."""
    with TickLoop(
        run="sea", owners={ADA: Profile(name="Ada")}, settings=settings(folder, endpoint), ticks=4, inline=True
    ) as loop:
        for tick in loop:
            if tick.number <= len(SEEN):
                text = SEEN[tick.number - 1]
                loop.observe(ADA, {"text": text, "minute": tick.minute, "importance": 3})
        yield loop


def first(loop: TickLoop, query: str) -> str:
    return loop.memory(ADA).recall(query, limit=1)[0].entry.text


def test_embeddings_find_paraphrases_and_embed_each_text_once(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEAR_KEY", "sk-near-0123456789")
    with lived(tmp_path, endpoint) as loop:
        assert first(loop, "Which boat?") == SEEN[1]
        assert [request["path"] for request in endpoint.requests] == ["/v1/embeddings"]
        assert endpoint.requests[0]["model"] == "sea-words"
        assert endpoint.keys == ["Bearer sk-near-0123456789"]
        first(loop, "Which boat?")
        first(loop, "Which ship?")
        assert loop.memory(ADA).recall("Which boat?", profile="spec"), "weighs no similarity"
        assert endpoint.texts == ["Which boat?", *SEEN, "Which ship?"]
        own = loop.memory(ADA, similarity=lambda query, entries: [0.0] * len(entries))
        assert own.recall("Which barge?")
        assert len(endpoint.texts) == 5, "the function of the host goes first"


@pytest.mark.parametrize(
    ("status", "answer", "reason"),
    [
        (500, b"{}", "sea-words answered with status 500"),
        (200, b'{"data": []}', "sea-words returned 0 embeddings for 4 texts"),
        (200, b'{"data": [{"index": 0, "embedding": ["x"]}]}', "sea-words returned no embeddings: TypeError"),
        (200, b'{"data": [{"index": 0, "embedding": [1e999]}]}', "sea-words returned no embeddings"),
        (200, b"[]", "sea-words returned no embeddings"),
        (200, b"no JSON", "sea-words "),
    ],
)
def test_while_the_endpoint_fails_words_are_searched_and_the_host_is_warned(
    tmp_path: Path, endpoint: Endpoint, status: int, answer: bytes, reason: str
) -> None:
    endpoint.status, endpoint.answer = status, answer
    with lived(tmp_path, endpoint) as loop, capture_logs() as logs:
        memory = loop.memory(ADA)
        found = memory.recall("Which wheel?")
        assert found[0].entry.text == SEEN[0]
        assert all(part.value == 0 for one in found for part in one.parts if part.name == "similarity")
        assert memory.similarity_failure.startswith(reason)
        told = [line for line in logs if line["event"] == "similarity.unavailable"]
        assert [line["log_level"] for line in told] == ["warning"]
        assert told[0]["server"] == endpoint.url
        memory.recall("Which oven?")
        assert len(endpoint.requests) == 1, "a dead endpoint is left alone for a while"


def test_a_refused_connection_is_an_ordinary_failure(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.url = "http://127.0.0.1:1/v1"
    with lived(tmp_path, endpoint) as loop:
        memory = loop.memory(ADA)
        assert memory.recall("Which wheel?", limit=1)[0].entry.text == SEEN[0]
        assert memory.similarity_failure == "sea-words did not answer: APIConnectionError"


def test_a_recovered_endpoint_is_used_again(endpoint: Endpoint) -> None:
    clock = [0.0]
    address = Address(base_url=endpoint.url, api_key="none", proxy=None, is_openai=False)
    similarity = EmbeddingSimilarity(address, "sea-words", 5.0, clock=lambda: clock[0])
    endpoint.status = 503
    with pytest.raises(SimilarityUnavailable, match="status 503"):
        similarity("boat", [])
    endpoint.status, clock[0] = 200, embeddings.PAUSE - 1
    with pytest.raises(SimilarityUnavailable, match="status 503"):
        similarity("boat", [])
    clock[0] = embeddings.PAUSE
    assert similarity("boat", []) == []
    assert endpoint.texts == ["boat", "boat"]
    similarity.close()


def test_reading_with_embeddings_changes_no_digest(tmp_path: Path, endpoint: Endpoint) -> None:
    digests = []
    for name, used in (("without", None), ("with", endpoint)):
        with lived(tmp_path / name, used) as loop:
            first(loop, "Which boat?")
            digests.append(loop.digest)
    endpoint.status = 500
    with lived(tmp_path / "failing", endpoint) as loop:
        first(loop, "Which boat?")
        digests.append(loop.digest)
    assert len(set(digests)) == 1
    assert len(endpoint.requests) == 2


def test_an_endpoint_that_is_not_configured_is_named_at_the_start(tmp_path: Path) -> None:
    wrong = Settings.model_validate({"data_dir": tmp_path, "embeddings": {"endpoint": "afar", "model": "m"}})
    with pytest.raises(ConfigurationError, match=r"endpoint 'afar', which is not configured; there are default$"):
        TickLoop(run="sea", owners={ADA: Profile(name="Ada")}, settings=wrong, ticks=1, inline=True)
