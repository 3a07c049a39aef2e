"""Vectors of texts that a run keeps (`cogitate.memory.retrieval.vectors`), by model and text.

Workers compute and keep them; hosts read them, and note the queries whose vectors they lack. No decision of the
run depends on them, so a Redis failure costs only the vectors. `cogitate delete` removes them with the run.
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

NOT_YET = "the query's vector is not there yet: a worker computes it with its next call"

log = structlog.get_logger()


class RunVectors:
    """The vectors of one run by one model. Thread-safe.

    Args:
        model: its name; vectors of another model are not found.
    """

    def __init__(self, store: RunStore, run: str, model: str) -> None:
        self._store = store
        self._run = run
        self._model = model
        self._script = script(store.client, "vectors")

    def find(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return the vector of each text, or None if it has none yet."""
        if not texts:
            return []
        try:
            found: list[bytes | None] = self._store.client.hmget(self._store.key("vectors"), map(self._digest, texts))  # type: ignore[assignment]
        except RedisError as error:
            log.warning("vectors.away", step="find", error=type(error).__name__)
            return [None] * len(texts)
        return found

    def keep(self, vectors: Mapping[str, bytes]) -> None:
        """Keep the vectors of texts."""
        self._call("keep", MOST_KEPT, *(part for text, one in vectors.items() for part in (self._digest(text), one)))

    def want(self, text: str) -> None:
        """Note a query whose vector a worker is to compute with its next call."""
        self._call("want", MOST_WANTED, text)

    def wanted(self) -> list[str]:
        """Return the noted queries, the newest first."""
        try:
            found = self._store.client.zrange(self._store.key("vectors_wanted"), 0, -1, desc=True)
        except RedisError as error:
            log.warning("vectors.away", step="wanted", error=type(error).__name__)
            return []
        return [text.decode() for text in found]  # type: ignore[union-attr]

    def meet(self, texts: Sequence[str]) -> None:
        """Forget noted queries whose vectors are there now."""
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
    """Similarities by the vectors that a run has, for a host's searches: it reads them, and never waits for a model.

    Called with a query and entries, as `cogitate.memory.retrieval.similarity.Similarity` is. Thread-safe.
    """

    def __init__(self, vectors: RunVectors) -> None:
        self._vectors = vectors

    def __call__(self, query: str, entries: Sequence[Entry]) -> list[float]:
        """Return the similarity of each entry; one without a vector is as similar as the others are in the mean.

        Raises:
            SimilarityUnavailable: if the query has no vector yet, or no entry has one.
        """
        asked = without_names(query, entries)
        texts = list(dict.fromkeys([asked, *(entry.text for entry in entries)]))
        found = dict(zip(texts, self._vectors.find(texts), strict=True))
        if found[asked] is None:
            self._vectors.want(asked)
            raise SimilarityUnavailable(NOT_YET)
        near = similarities(asked, entries, found)
        if not near:
            raise SimilarityUnavailable("no memory has a vector yet")
        mean = sum(near.values()) / len(near)
        return [near.get(entry.number, mean) for entry in entries]
