"""The client of an embedding model: how many texts it sends, what it refuses, and what its calls cost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from cogitate.memory.retrieval.vectors import cosine, packed
from cogitate.ops.fake_llm.completions import MOST_TEXTS, vector_of
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm.embeddings import Embedded, EmbeddingClient, _read
from cogitate.workers.llm.http import HttpResponse
from cogitate.workers.llm.requests.tokens import estimate_tokens

TEXTS = ("The oven is cold.", "The vessel came in at noon.")


@contextmanager
def client_of(endpoint: FakeEndpoint) -> Iterator[EmbeddingClient]:
    client = EmbeddingClient(Endpoint(base_url=endpoint.url, api_key="any"), connections=2)
    try:
        yield client
    finally:
        client.close()


def asked(faults: Mapping[str, float], texts: tuple[str, ...] = TEXTS, size: int = 0) -> Embedded:
    with FakeEndpoint(faults=faults) as endpoint, client_of(endpoint) as client:
        return client.ask("m", texts, time.monotonic() + 30, size)


def test_each_text_gets_its_vector_and_the_endpoint_says_what_it_cost() -> None:
    found = asked({})
    assert [cosine(one, packed(vector_of(text))) for one, text in zip(found.vectors, TEXTS, strict=True)] == [
        pytest.approx(1.0)
    ] * 2
    assert (found.tokens, found.failure) == (6 + 8, None)


def test_a_refused_number_of_texts_is_halved_and_remembered() -> None:
    texts = tuple(f"memory {number}" for number in range(3 * MOST_TEXTS))
    with FakeEndpoint() as endpoint, client_of(endpoint) as client:
        found = client.ask("m", texts, time.monotonic() + 30)
        assert (len(found.vectors), found.failure) == (len(texts), None)
        assert endpoint.stats().by_status == {"400": 2, "200": 4}  # 192 and 96 are refused, then 48 each
        client.ask("m", texts, time.monotonic() + 30)
        assert endpoint.stats().by_status == {"400": 2, "200": 8}
        assert found.tokens == endpoint.stats().prompt_tokens / 2


def test_an_endpoint_that_refuses_every_number_has_another_reason() -> None:
    with FakeEndpoint(faults={"400": 1.0}) as endpoint, client_of(endpoint) as client:
        found = client.ask("m", TEXTS, time.monotonic() + 30)
        assert found.failure is not None
        assert (found.vectors, found.tokens, found.failure.status) == ([], 0, 400)
        texts = tuple(f"memory {number}" for number in range(MOST_TEXTS))
        endpoint.change(faults={})
        endpoint.wait_until(lambda stats: stats.in_flight == 0)
        before = endpoint.stats().requests
        assert len(client.ask("m", texts, time.monotonic() + 30).vectors) == MOST_TEXTS
        assert endpoint.stats().requests == before + 1


@pytest.mark.parametrize(
    ("fault", "kind", "detail"),
    [
        ("vector_nan", "no_completion", "no vectors"),
        ("vector_size", "no_completion", "vectors of 63 dimensions, not 64"),
        ("429:1", "rate_limited", None),
        ("503", "overloaded", None),
        ("html", "no_completion", "no vectors"),
        ("error_200", "no_completion", "no vectors"),
        ("close", "connection", None),
    ],
)
def test_an_invalid_response_is_a_failure(fault: str, kind: str, detail: str | None) -> None:
    found = asked({fault: 1.0}, size=64)
    assert found.failure is not None
    assert (found.vectors, found.failure.kind) == ([], kind)
    assert detail in (None, found.failure.detail)


def test_a_broken_connection_is_charged_by_estimate_and_an_error_costs_nothing() -> None:
    assert asked({"close": 1.0}).tokens == sum(map(estimate_tokens, TEXTS))
    assert asked({"503": 1.0}).tokens == 0
    assert asked({"no_usage": 1.0}).tokens == sum(map(estimate_tokens, TEXTS))
    assert asked({"vector_nan": 1.0}).tokens == sum(map(estimate_tokens, TEXTS)), "computed, and charged for"


def answering(change: Callable[[dict[str, Any]], None]) -> bytes:
    body: dict[str, Any] = {
        "data": [{"index": at, "embedding": [1.0, float(at)]} for at in (1, 0)],
        "usage": {"prompt_tokens": 5},
    }
    change(body)
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda body: body["data"].pop(), "1 vectors for 2 texts"),
        (lambda body: body["data"].append(body["data"][0]), "2 vectors for 2 texts"),
        (lambda body: body["data"][0].update(index=7), "2 vectors for 2 texts"),
        (lambda body: body["data"][0].update(embedding=[1.0]), "vectors of 1, 2 dimensions"),
        (lambda body: body["data"][0].update(embedding=[]), "no vectors"),
        (lambda body: body["data"][0].update(embedding=None), "no vectors"),
        (lambda body: body["data"][0].update(embedding=["x"]), "no vectors"),
        (lambda body: body.update(data={}), "no vectors"),
    ],
)
def test_a_wrong_answer_is_refused_as_a_whole(change: Callable[[dict[str, Any]], None], detail: str) -> None:
    failure = _read(HttpResponse(200, {}, answering(change)), 2, 0)
    assert not isinstance(failure, tuple)
    assert failure.detail == detail
    assert isinstance(_read(HttpResponse(200, {}, answering(lambda _: None)), 2, 2), tuple)


def test_a_passed_deadline_sends_nothing() -> None:
    with FakeEndpoint() as endpoint, client_of(endpoint) as client:
        found = client.ask("m", TEXTS, time.monotonic() - 1)
        assert found.failure is not None
        assert (found.tokens, found.failure.kind, endpoint.stats().requests) == (0, "no_time", 0)
