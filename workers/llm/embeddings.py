"""The client of an embedding model at an endpoint that speaks OpenAI's embeddings.

As of a completion's client, a fault never raises: it is a `Failure`. How many texts a request may have is learned: an
endpoint that refuses a request gets half of them at once, and no more than it accepted then.
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

MOST_TEXTS = 256  # in a request, until an endpoint refuses it
_TOO_LARGE = (400, 413, 422)  # statuses with which servers refuse too many texts
_CONNECT_TIMEOUT = 10.0  # seconds

log = structlog.get_logger()


class Embedded(NamedTuple):
    """The outcome of asking for vectors."""

    vectors: list[bytes]  # of the first texts; fewer than the texts after a failure
    tokens: int  # as the endpoint reports them, else as estimated
    failure: Failure | None = None  # why there are no more


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
        connections: requests in flight; others wait.

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
            size: the dimensions that vectors must have; 0: as many as the first.
        """
        found, tokens, most = list[bytes](), 0, self._most
        while len(found) < len(texts):
            batch = texts[len(found) : len(found) + most]
            exchange = Exchange(deadline)
            response = self._loop.run(self._exchange(model, batch, exchange))
            answered = response if isinstance(response, Failure) else _read(response, len(batch), size)
            if isinstance(answered, Failure):
                if answered.status in _TOO_LARGE and len(batch) > 1:
                    most = len(batch) // 2
                    continue
                computed = not isinstance(response, Failure) and response.answers  # whatever its vectors are worth
                doubted = computed or (exchange.sent and charged_in_doubt(answered))
                return Embedded(found, tokens + (_estimated(batch) if doubted else 0), answered)
            vectors, reported = answered
            size = size or dimensions(vectors[0])
            found += vectors
            tokens += reported if 0 < reported <= sum(len(text.encode()) + 8 for text in batch) else _estimated(batch)
            if most < self._most:  # it is not the first text of the batch that was refused, but their number
                with self._lock:
                    self._most = min(self._most, most)
                log.info("embeddings.batch", server=self._address.server, texts=most)
        return Embedded(found, tokens)

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
    """Return the vectors of a response in the order of its texts, and the tokens that it reports; 0: none."""
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
