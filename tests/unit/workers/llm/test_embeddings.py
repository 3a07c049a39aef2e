"""Similarities of an endpoint's embeddings: what is asked, what is kept, and which answers are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.similarity import SimilarityUnavailable
from cogitate.scheduler.config.endpoints import EmbeddingSettings
from cogitate.scheduler.config.settings import ConfigurationError, PinnedSettings
from cogitate.workers.llm import embeddings
from cogitate.workers.llm.embeddings import EmbeddingSimilarity, open_similarity
from cogitate.workers.llm.requests.address import Address

VECTORS = {"boat": [3.0, 4.0], "ship": [6.0, 8.0], "tree": [-4.0, 3.0], "rock": [-3.0, -4.0], "void": [0.0, 0.0]}


class Endpoint:
    """Answers with the vectors of a table, the last text first, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.answer: Callable[[Sequence[str]], list[Any]] = lambda texts: [
            SimpleNamespace(index=index, embedding=VECTORS.get(text, [1.0, 0.0])) for index, text in enumerate(texts)
        ][::-1]
        self.closed = 0

    def create(self, *, model: str, input: list[str], encoding_format: str) -> Any:  # as it is called
        assert (model, encoding_format) == ("sea-words", "float")
        self.asked.append(input)
        return SimpleNamespace(data=self.answer(input))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def similarity(endpoint: Endpoint) -> EmbeddingSimilarity:
    address = Address(base_url="http://there/v1", api_key="none", proxy=None, is_openai=False)
    made = EmbeddingSimilarity(address, "sea-words", 5.0, clock=lambda: 0.0)
    client: Any = SimpleNamespace(embeddings=endpoint, close=endpoint.close)
    made._client = client
    return made


def entries(*texts: str) -> list[Entry]:
    return [Entry(type="observation", text=text, minute=1) for text in texts]


def test_a_similarity_is_the_cosine_of_two_embeddings(similarity: EmbeddingSimilarity) -> None:
    assert similarity("boat", entries("ship", "tree", "rock", "void", " ")) == pytest.approx([1, 0, -1, 0, 0])
    assert similarity("", entries("ship")) == [0]


def test_each_text_is_embedded_once_and_a_blank_one_never(similarity: EmbeddingSimilarity, endpoint: Endpoint) -> None:
    similarity("boat", entries("ship", "boat", " ", "ship"))
    similarity("ship", entries("tree", "boat"))
    similarity("boat", [])
    assert endpoint.asked == [["boat", "ship"], ["tree"]]


@pytest.mark.parametrize(("texts", "requests"), [(255, [256]), (256, [256, 1]), (512, [256, 256, 1])])
def test_a_request_has_at_most_256_texts(
    similarity: EmbeddingSimilarity, endpoint: Endpoint, texts: int, requests: list[int]
) -> None:
    similarity("boat", entries(*(f"text {number}" for number in range(texts))))
    assert [len(asked) for asked in endpoint.asked] == requests


def test_of_too_many_vectors_the_least_recently_used_go(
    similarity: EmbeddingSimilarity, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "KEPT", 3)
    similarity("boat", entries("ship", "tree"))
    similarity("boat", [])
    similarity("rock", [])
    assert list(similarity._vectors) == ["tree", "boat", "rock"]
    similarity("ship", [])
    assert endpoint.asked == [["boat", "ship", "tree"], ["rock"], ["ship"]]


def answered(*values: Any, indexes: Sequence[int] = (0, 1)) -> Callable[[Sequence[str]], list[Any]]:
    return lambda _: [SimpleNamespace(index=i, embedding=v) for i, v in zip(indexes, values, strict=True)]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answered([1.0], [1.0, 0.0]), "different lengths"),
        (answered([1.0, 0.0], indexes=(0,)), "1 embeddings for 2 texts"),
        (answered([1.0], [1.0], indexes=(1, 2)), "2 embeddings for 2 texts"),
        (answered([1.0], []), "no embeddings: ValueError"),
        (answered([1.0], [float("nan")]), "no embeddings: ValueError"),
        (answered([1.0], [float("inf")]), "no embeddings: ValueError"),
        (answered([1.0], None), "no embeddings: TypeError"),
        (answered([1.0], ["x"]), "no embeddings: TypeError"),
        (lambda _: [object()], "no embeddings: AttributeError"),
    ],
)
def test_an_answer_without_embeddings_is_refused(
    similarity: EmbeddingSimilarity, endpoint: Endpoint, answer: Any, why: str
) -> None:
    endpoint.answer = answer
    with pytest.raises(SimilarityUnavailable, match=f"sea-words .*{why}"):
        similarity("boat", entries("ship"))
    assert not similarity._vectors


class Clock:
    """Seconds that a test says."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def failing(error: Exception) -> Callable[[Sequence[str]], list[Any]]:
    def answer(texts: Sequence[str]) -> list[Any]:
        raise error

    return answer


def error_of_the_sdk(name: str, status: int = 0) -> Exception:
    """Build an error of OpenAI's SDK, whose import is slow."""
    import openai

    request = httpx2.Request("POST", "http://there/v1/embeddings")
    kind: Any = getattr(openai, name)
    if status:
        return cast("Exception", kind("no", response=httpx2.Response(status, request=request), body=None))
    return cast("Exception", kind(request=request))


@pytest.mark.parametrize(
    ("name", "status", "why"),
    [
        ("APIStatusError", 503, "with status 503"),
        ("RateLimitError", 429, "with status 429"),
        ("APITimeoutError", 0, "did not answer: APITimeoutError"),
        ("APIConnectionError", 0, "did not answer: APIConnectionError"),
    ],
)
def test_a_failure_is_described_briefly(
    similarity: EmbeddingSimilarity, endpoint: Endpoint, name: str, status: int, why: str
) -> None:
    endpoint.answer = failing(error_of_the_sdk(name, status))
    with pytest.raises(SimilarityUnavailable, match=f"^sea-words .*{why}$"):
        similarity("boat", entries("ship"))


def test_an_endpoint_that_failed_is_left_alone_for_half_a_minute(
    similarity: EmbeddingSimilarity, endpoint: Endpoint
) -> None:
    similarity._clock = clock = Clock()
    sound = endpoint.answer
    endpoint.answer = answered([1.0, 0.0], indexes=(0,))
    for now, requests in ((100.0, 1), (129.5, 1), (130.0, 2), (159.5, 2)):
        clock.now = now
        with pytest.raises(SimilarityUnavailable, match="1 embeddings for 2 texts"):
            similarity("boat", entries("ship"))
        assert len(endpoint.asked) == requests
    clock.now, endpoint.answer = 160.0, sound
    assert similarity("boat", entries("ship")) == pytest.approx([1])
    clock.now = 161.0
    assert similarity("boat", entries("tree")) == pytest.approx([0]), "what has passed is forgotten"


def test_known_texts_are_found_while_the_endpoint_fails(similarity: EmbeddingSimilarity, endpoint: Endpoint) -> None:
    similarity("boat", entries("ship"))
    endpoint.answer = failing(error_of_the_sdk("APIConnectionError"))
    with pytest.raises(SimilarityUnavailable):
        similarity("boat", entries("tree"))
    assert similarity("ship", entries("boat")) == pytest.approx([1])


def test_a_connection_uses_key_and_timeout_and_sends_once(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, Any]] = []

    def client(**arguments: Any) -> Any:
        opened.append(arguments)
        return SimpleNamespace(embeddings=endpoint, close=endpoint.close)

    monkeypatch.setattr("openai.OpenAI", client)
    address = Address(base_url="http://there/v1", api_key="secret", proxy=None, is_openai=False)
    made = EmbeddingSimilarity(address, "sea-words", 5.0)
    for text in ("ship", "tree"):
        made("boat", entries(text))
    opened[0].pop("http_client").close()
    assert opened == [{"api_key": "secret", "base_url": "http://there/v1", "max_retries": 0, "timeout": 5.0}]
    made.close()
    made("boat", entries("rock"))
    assert (len(opened), endpoint.closed) == (2, 1), "a later search opens another"


def settings(**named: Any) -> PinnedSettings:
    return PinnedSettings.tuned(endpoints={"there": {"base_url": "http://there/v1", "api_key": "k"}}, **named)


def test_the_settings_name_the_model_and_its_endpoint_or_none() -> None:
    with ExitStack() as resources:
        assert open_similarity(settings(), resources) is None
        named = {"endpoint": "there", "model": "sea-words", "timeout": 7.5}
        found = open_similarity(settings(embeddings=named), resources)
        assert found is not None
        assert (found._model, found._timeout) == ("sea-words", 7.5)
        assert (found._address.base_url, found._address.api_key) == ("http://there/v1", "k")
        closed = Endpoint()
        client: Any = SimpleNamespace(close=closed.close)
        found._client = client
    assert closed.closed == 1


def test_an_endpoint_that_is_not_configured_is_refused_with_those_that_are() -> None:
    unknown = settings().model_copy(update={"embeddings": EmbeddingSettings(endpoint="nowhere", model="m")})
    with ExitStack() as resources, pytest.raises(ConfigurationError, match=r"'nowhere', which is not .* there"):
        open_similarity(unknown, resources)


def test_a_closed_client_sends_nothing_and_closes_its_connection_once(
    similarity: EmbeddingSimilarity, endpoint: Endpoint
) -> None:
    similarity.close()
    similarity.close()
    assert (endpoint.closed, similarity._client) == (1, None)
