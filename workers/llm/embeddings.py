"""Similarity of memories to a query, by the embeddings of an OpenAI-compatible endpoint.

Only a host's own searches use it: no prompt of a job, no decision and no digest depends on it.
"""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

import structlog

from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.similarity import SimilarityUnavailable
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.workers.llm.requests.address import Address, address_of, open_client

if TYPE_CHECKING:
    import openai

log = structlog.get_logger()

BATCH = 256  # texts in a request
KEPT = 10_000  # vectors: some 60 MB at 1,536 numbers each
PAUSE = 30.0  # seconds without a request after a failure, so that a dead endpoint does not delay every search

Vector: TypeAlias = "array[float]"


class EmbeddingSimilarity:
    """The cosine of a query's embedding and each entry's; it caches vectors by text. Thread-safe.

    Args:
        address: the endpoint's URL and key.
        model: the endpoint's name for the model.
        timeout: seconds for one request.
        clock: returns seconds, monotonically.
    """

    def __init__(
        self, address: Address, model: str, timeout: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address = address
        self._model = model
        self._timeout = timeout
        self._clock = clock
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._client: openai.OpenAI | None = None
        self._failed: tuple[float, str] | None = None  # when and why
        self._lock = threading.Lock()

    def __call__(self, query: str, entries: Sequence[Entry]) -> list[float]:
        """Return the similarity of each entry, in [-1, 1].

        Raises:
            SimilarityUnavailable: if the endpoint fails, or failed less than `PAUSE` ago.
        """
        with self._lock:
            found = self._vectors_of([query, *(entry.text for entry in entries)])
        target = found[0]
        if any(len(vector) != len(target) for vector in found):
            with self._lock:
                self._vectors.clear()  # the endpoint has another model now
            raise SimilarityUnavailable(f"{self._model} returns embeddings of different lengths")
        return [sum(map(mul, target, vector)) for vector in found[1:]]

    def close(self) -> None:
        """Close the connection. A later search opens a new one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _vectors_of(self, texts: Sequence[str]) -> list[Vector]:
        wanted = {text: self._vectors.get(text) for text in texts}
        missing = [text for text, vector in wanted.items() if vector is None and text.strip()]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            wanted.update(zip(batch, self._ask(batch), strict=True))
        length = max((len(vector) for vector in wanted.values() if vector is not None), default=0)
        nothing = array("f", bytes(4 * length))  # a blank text resembles nothing
        for text in wanted:
            if (vector := wanted[text]) is not None:
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
        while len(self._vectors) > KEPT:
            self._vectors.popitem(last=False)
        return [nothing if (vector := wanted[text]) is None else vector for text in texts]

    def _ask(self, texts: list[str]) -> list[Vector]:
        if self._failed is not None and self._clock() - self._failed[0] < PAUSE:
            raise SimilarityUnavailable(self._failed[1])
        try:
            vectors = self._embed(texts)
        except SimilarityUnavailable as error:
            self._failed = self._clock(), str(error)
            log.warning("similarity.unavailable", model=self._model, server=self._address.server, reason=str(error))
            raise
        self._failed = None
        return vectors

    def _embed(self, texts: list[str]) -> list[Vector]:
        import openai  # here: it takes a second to load, and few hosts need it

        if self._client is None:
            self._client = open_client(self._address, self._timeout)
        try:
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            vectors = {one.index: _of_length_one(one.embedding) for one in answer.data}
        except openai.APIStatusError as error:
            raise SimilarityUnavailable(f"{self._model} answered with status {error.status_code}") from None
        except openai.APIError as error:
            raise SimilarityUnavailable(f"{self._model} did not answer: {type(error).__name__}") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise SimilarityUnavailable(f"{self._model} returned no embeddings: {type(error).__name__}") from None
        if sorted(vectors) != list(range(len(texts))):
            raise SimilarityUnavailable(f"{self._model} returned {len(vectors)} embeddings for {len(texts)} texts")
        return [vectors[index] for index in range(len(texts))]


def open_similarity(settings: Settings, resources: ExitStack) -> EmbeddingSimilarity | None:
    """Return the similarity that the settings configure, or None.

    Args:
        resources: closes its connection.

    Raises:
        ConfigurationError: if its endpoint is not configured, or its key or URL is invalid.
    """
    named, endpoints = settings.embeddings, settings.endpoint_table()
    if named is None:
        return None
    if named.endpoint not in endpoints:
        raise ConfigurationError(
            f"embeddings names the endpoint {named.endpoint!r}, which is not configured; there are "
            f"{', '.join(endpoints)}"
        )
    similarity = EmbeddingSimilarity(address_of(endpoints[named.endpoint]), named.model, named.timeout)
    resources.callback(similarity.close)
    return similarity


def _of_length_one(numbers: Iterable[float]) -> Vector:
    vector = array("f", numbers)
    size = math.sqrt(sum(map(mul, vector, vector)))
    if not vector or not math.isfinite(size):
        raise ValueError("an embedding is a list of finite numbers")
    return array("f", (number / size for number in vector)) if size else vector
