"""The vectors of texts that a run stores (`cogitate.memory.retrieval.vectors`), by model and text.

Workers compute and store them; hosts read them, and note queries without a vector. No decision of the run depends on
them, so a failure of Redis costs only the vectors. `cogitate delete` removes them with the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import structlog
from redis.exceptions import RedisError

from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.similarity import SimilarityUnavailable, similarities, without_names
from cogitate.scheduler.ledger.keys import incarnation_key, run_base, script
from cogitate.scheduler.ledger.run_store import RunStore

MOST_KEPT = 20_000  # vectors of a run: 9 MB of a model with 384 dimensions, 32 MB of one with 1,536
MOST_WANTED = 64  # queries that wait for a worker

NOT_YET = "the query has no vector yet: a worker computes it with its next call"

log = structlog.get_logger()


class RunVectors:
    """The vectors of one run and one model. Thread-safe.

    Args:
        model: name of the model; vectors of another model are not found.
    """

    def __init__(self, store: RunStore, run: str, model: str) -> None:
        self._store = store
        self._run = run
        self._model = model
        self._script = script(store.client, "vectors")

    def find(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return the vector of each text; None for a text without one."""
        if not texts:
            return []
        key, digests = self._store.key("vectors"), map(self._digest, texts)
        try:
            vectors: list[bytes | None] = self._store.client.hmget(key, digests)  # type: ignore[assignment]
        except RedisError as error:
            log.warning("vectors.away", step="find", error=type(error).__name__)
            return [None] * len(texts)
        return vectors

    def keep(self, vectors: Mapping[str, bytes]) -> None:
        """Store the vectors of texts."""
        pairs = ((self._digest(text), vector) for text, vector in vectors.items())
        self._call("keep", MOST_KEPT, *(part for pair in pairs for part in pair))

    def want(self, text: str) -> None:
        """Note a query whose vector a worker should compute with its next call."""
        self._call("want", MOST_WANTED, text)

    def wanted(self) -> list[str]:
        """Return the noted queries, newest first."""
        try:
            queries = self._store.client.zrange(self._store.key("vectors_wanted"), 0, -1, desc=True)
        except RedisError as error:
            log.warning("vectors.away", step="wanted", error=type(error).__name__)
            return []
        return [text.decode() for text in queries]  # type: ignore[union-attr]

    def meet(self, texts: Sequence[str]) -> None:
        """Forget noted queries that have their vectors now."""
        if not texts:
            return
        try:
            self._store.client.zrem(self._store.key("vectors_wanted"), *texts)
        except RedisError as error:
            log.warning("vectors.away", step="meet", error=type(error).__name__)

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self._model}\0{text}".encode(), digest_size=16).digest()

    def _call(self, verb: str, most: int, *more: str | bytes) -> None:
        args: list[str | bytes | int] = [run_base(self._run), self._store.incarnation, verb, most, *more]
        try:
            self._script(keys=[incarnation_key(self._run)], args=args)
        except RedisError as error:
            log.warning("vectors.away", step=verb, error=type(error).__name__)


class KeptSimilarity:
    """Computes similarities from the stored vectors of a run, for a host's searches, without waiting for a model.

    It is called with a query and entries, like `cogitate.memory.retrieval.similarity.Similarity`. Thread-safe.
    """

    def __init__(self, vectors: RunVectors) -> None:
        self._vectors = vectors

    def __call__(self, query: str, entries: Sequence[Entry]) -> list[float]:
        """Return the similarity of each entry; an entry without a vector gets the mean of the others.

        Raises:
            SimilarityUnavailable: if the query has no vector yet, or no entry has one.
        """
        question = without_names(query, entries)
        texts = list(dict.fromkeys([question, *(entry.text for entry in entries)]))
        vectors = dict(zip(texts, self._vectors.find(texts), strict=True))
        if vectors[question] is None:
            self._vectors.want(question)
            raise SimilarityUnavailable(NOT_YET)
        similar = similarities(question, entries, vectors)
        if not similar:
            raise SimilarityUnavailable("no memory has a vector yet")
        mean = sum(similar.values()) / len(similar)
        return [similar.get(entry.number, mean) for entry in entries]
