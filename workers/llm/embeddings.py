"""The client of an embedding model at an endpoint that speaks OpenAI's embeddings.

As with completions, a fault never raises: it becomes a `Failure`. The client learns how many texts fit a request: when
an endpoint refuses a request it sends half of the texts at once, and never again more than the endpoint accepted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Sequence
from typing import NamedTuple

import httpx2
import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.memory.retrieval.vectors import dimensions, packed
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm.event_loop import EventLoopThread
from cogitate.workers.llm.http import Exchange, HttpResponse, NoResponse, PooledRequest
from cogitate.workers.llm.replies.error_responses import from_status
from cogitate.workers.llm.replies.failures import Failure, charged_in_doubt
from cogitate.workers.llm.requests.address import address_of, request_to
from cogitate.workers.llm.requests.tokens import estimate_tokens

MOST_TEXTS = 256  # in a request, until an endpoint refuses one
_TOO_LARGE = (400, 413, 422)  # statuses with which servers refuse too many texts
_CONNECT_TIMEOUT = 10.0  # seconds

log = structlog.get_logger()


class Embedded(NamedTuple):
    """The outcome of a request for vectors."""

    vectors: list[bytes]  # of all texts, or of the first ones before a failure
    tokens: int  # reported by the endpoint, or else estimated
    failure: Failure | None = None  # why the other texts have no vectors


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Usage(msgspec.Struct):
    prompt_tokens: int


class _Answer(msgspec.Struct):
    data: list[_Item]
    usage: _Usage | None = None


class EmbeddingClient:
    """The client of one endpoint. Thread-safe.

    Args:
        connections: the most requests in flight; others wait.

    Raises:
        ConfigurationError: if the key or the endpoint's URL is missing or invalid.
    """

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self._address = address_of(endpoint)
        self._connections = connections
        self._tls = httpx2.create_ssl_context() if self._address.is_encrypted else None
        self._loop = EventLoopThread()
        self._most = MOST_TEXTS
        self._lock = threading.Lock()
        self._request: PooledRequest | None = None  # touched on the event loop only

    def ask(self, model: str, texts: Sequence[str], deadline: float, size: int = 0) -> Embedded:
        """Return the vectors of texts, in as many requests as the endpoint needs.

        Args:
            deadline: the instant of `time.monotonic()` by which this returns.
            size: the dimensions that vectors must have; 0: those of the first vector.
        """
        results, tokens, most = list[bytes](), 0, self._most
        while len(results) < len(texts):
            batch = texts[len(results) : len(results) + most]
            exchange = Exchange(deadline)
            response = self._loop.run(self._exchange(model, batch, exchange))
            answered = response if isinstance(response, Failure) else _read(response, len(batch), size)
            if isinstance(answered, Failure):
                if answered.status in _TOO_LARGE and len(batch) > 1:
                    most = len(batch) // 2
                    continue
                computed = not isinstance(response, Failure) and response.answers  # charged even if unusable
                doubted = computed or (exchange.sent and charged_in_doubt(answered))
                return Embedded(results, tokens + (_estimated(batch) if doubted else 0), answered)
            vectors, reported = answered
            size = size or dimensions(vectors[0])
            results += vectors
            tokens += reported if 0 < reported <= sum(len(text.encode()) + 8 for text in batch) else _estimated(batch)
            if most < self._most:  # the endpoint refused the number of texts, not one of them
                with self._lock:
                    self._most = min(self._most, most)
                log.info("embeddings.batch", server=self._address.server, texts=most)
        return Embedded(results, tokens)

    def close(self) -> None:
        """Close the connections. Calls in flight fail."""
        if self._request is not None:
            self._loop.run(self._request.close())
        self._loop.close()

    async def _exchange(self, model: str, texts: Sequence[str], exchange: Exchange) -> HttpResponse | Failure:
        if exchange.remaining() <= 0:
            return Failure(kind="no_time", detail="the deadline passed before the call")
        if self._request is None:
            request = request_to(self._address, "/embeddings")
            self._request = PooledRequest(request, self._connections, _CONNECT_TIMEOUT, self._address.proxy, self._tls)
        body = msgspec.json.encode({"model": model, "input": texts, "encoding_format": "float"})
        try:
            async with asyncio.timeout_at(exchange.deadline):
                return await self._request.send(body, exchange)
        except TimeoutError:
            return Failure(kind="timeout", detail="the answer was incomplete at the deadline")
        except NoResponse as error:
            return Failure(kind=error.kind, detail=error.detail)


def _read(response: HttpResponse, count: int, size: int) -> tuple[list[bytes], int] | Failure:
    """Return the vectors of a response in the order of the texts, and the reported tokens (0: not reported)."""
    if not response.answers:
        body: object = response.content.decode(errors="replace")
        with contextlib.suppress(ValueError, RecursionError):
            body = json.loads(response.content)
        return from_status(response.status, body, response.headers)
    try:
        answer = typed_json.decode(response.content, _Answer)
        vectors = {one.index: packed(one.embedding) for one in answer.data}
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError):
        return Failure(kind="no_completion", status=response.status, detail="no vectors")
    if len(answer.data) != count or sorted(vectors) != list(range(count)):
        return Failure(kind="no_completion", status=response.status, detail=f"{len(vectors)} vectors for {count} texts")
    sizes = {dimensions(one) for one in vectors.values()}
    if len(sizes | ({size} if size else set())) != 1:
        detail = f"vectors of {', '.join(map(str, sorted(sizes)))} dimensions" + (f", not {size}" if size else "")
        return Failure(kind="no_completion", status=response.status, detail=detail)
    return [vectors[index] for index in range(count)], answer.usage.prompt_tokens if answer.usage is not None else 0


def _estimated(texts: Sequence[str]) -> int:
    return sum(map(estimate_tokens, texts))
