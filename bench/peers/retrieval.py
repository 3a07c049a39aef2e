"""Retrieval in other systems, for `python -m bench memory`: one entry in, ten memories out, a new query each time.

The Generative Agents rule (Park et al. 2023) follows the published code: recency decays by rank of last access,
importance is the rating, relevance the cosine of embeddings. Each is scaled over all memories to 0 to 1, and the
weights are 0.5, 2 and 3. Embeddings are lists of numbers, as the service returns them and LangChain expects them. The
extra `bench` installs LangChain and bm25s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from cogitate.memory.entry import Entry
from cogitate.memory.language.text import stems

DIMENSIONS = 1_536  # of the embeddings in the Generative Agents paper
DECAY = 0.99
RECENCY, IMPORTANCE, RELEVANCE = 0.5, 2.0, 3.0
FIRST_DAY = datetime(2023, 2, 13)  # noqa: DTZ001 - game time has no zone

Retrieve = Callable[[str], Sequence[object]]  # a query's memories, best first


def embedding(text: str) -> list[float]:
    """Return a vector of a text in which each stem adds one to its dimension. A model would take longer."""
    vector = [0.0] * DIMENSIONS
    for stem in stems(text):
        vector[int.from_bytes(blake2b(stem.encode(), digest_size=8).digest()) % DIMENSIONS] += 1.0
    return vector


class GenerativeAgents:
    """The published rule over memories; retrieving a memory counts as an access."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._numpy = import_module("numpy")
        self._importance = {entry.number: entry.importance for entry in entries}
        self._vectors = {entry.number: embedding(entry.text) for entry in entries}
        self._accessed = {entry.number: entry.minute for entry in entries}
        self._now = max(self._accessed.values())

    def retrieve(self, query: str, limit: int) -> list[int]:
        """Return the numbers of the best memories."""
        wanted = embedding(query)
        numbers = sorted(self._accessed, key=self._accessed.__getitem__)
        recency = scaled({number: DECAY**rank for rank, number in enumerate(numbers, 1)})
        importance = scaled({number: float(self._importance[number]) for number in numbers})
        relevance = scaled({number: self._cosine(self._vectors[number], wanted) for number in numbers})
        scores = {
            number: RECENCY * recency[number] + RELEVANCE * relevance[number] + IMPORTANCE * importance[number]
            for number in numbers
        }
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:limit]
        self._now += 1
        for number in best:
            self._accessed[number] = self._now
        return best

    def _cosine(self, one: list[float], other: list[float]) -> float:
        numpy = self._numpy
        both = numpy.linalg.norm(one) * numpy.linalg.norm(other)
        return float(numpy.dot(one, other) / both) if both else 0.0


class GenerativeAgentsVectorised:
    """Rank by the same rule, vectorised with numpy to be as fast as possible."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._numpy: Any = import_module("numpy")
        numpy = self._numpy
        vectors = numpy.array([embedding(entry.text) for entry in entries])
        self._unit = vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)
        self._importance = numpy.array([float(entry.importance) for entry in entries])
        self._accessed = numpy.array([entry.minute for entry in entries])
        self._numbers = [entry.number for entry in entries]

    def retrieve(self, query: str, limit: int) -> list[int]:
        """Return the numbers of the best memories."""
        numpy = self._numpy
        wanted = numpy.array(embedding(query))
        ranks = numpy.empty(len(self._accessed))
        ranks[numpy.argsort(self._accessed, kind="stable")] = numpy.arange(1, len(ranks) + 1)
        relevance = self._unit @ wanted / (numpy.linalg.norm(wanted) or 1.0)
        scores = (
            RECENCY * self._scaled(DECAY**ranks)
            + RELEVANCE * self._scaled(relevance)
            + IMPORTANCE * self._scaled(self._importance)
        )
        best = numpy.argsort(-scores, kind="stable")[:limit]
        self._accessed[best] = self._accessed.max() + 1
        return [self._numbers[index] for index in best]

    def _scaled(self, values: Any) -> Any:
        least, most = values.min(), values.max()
        return (values - least) / (most - least) if most > least else self._numpy.full(len(values), 0.5)


def scaled(values: Mapping[int, float]) -> dict[int, float]:
    """Scale values to 0 to 1 over their range; if all are equal, each becomes 0.5, as published."""
    least, most = min(values.values()), max(values.values())
    if most == least:
        return dict.fromkeys(values, 0.5)
    return {number: (value - least) / (most - least) for number, value in values.items()}


def peer_retrievals(entries: Sequence[Entry], limit: int) -> dict[str, Retrieve]:
    """Return the installed peers' retrieval functions for these entries, by name."""
    found: dict[str, Retrieve] = {}
    if find_spec("numpy") is not None:
        plain, columns = GenerativeAgents(entries), GenerativeAgentsVectorised(entries)
        found["Generative Agents' rule, as published"] = lambda query: plain.retrieve(query, limit)
        found["… in whole columns of numpy"] = lambda query: columns.retrieve(query, limit)
    if find_spec("langchain_classic") is not None:
        found["LangChain's TimeWeightedVectorStoreRetriever"] = _langchain(entries, limit)
    if find_spec("bm25s") is not None:
        found["bm25s: words alone"] = _bm25s(entries, limit)
    return found


def _langchain(entries: Sequence[Entry], limit: int) -> Retrieve:
    embeddings: Any = import_module("langchain_core.embeddings").Embeddings
    stores: Any = import_module("langchain_core.vectorstores").InMemoryVectorStore
    document: Any = import_module("langchain_core.documents").Document
    retriever: Any = import_module("langchain_classic.retrievers").TimeWeightedVectorStoreRetriever

    class Stems(embeddings):  # type: ignore[misc]
        def embed_query(self, text: str) -> list[float]:
            return embedding(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [embedding(text) for text in texts]

    class Cosine(stores):  # type: ignore[misc]
        """LangChain's in-memory store does not declare that a cosine is already a relevance."""

        def _select_relevance_score_fn(self) -> Callable[[float], float]:
            return lambda cosine: min(1.0, max(0.0, cosine))

    made = retriever(vectorstore=Cosine(Stems()), k=limit, other_score_keys=["importance"])
    made.add_documents(
        [
            document(
                page_content=entry.text,
                metadata={
                    "importance": entry.importance / 10,
                    "last_accessed_at": FIRST_DAY + timedelta(minutes=entry.minute),
                },
            )
            for entry in entries
        ]
    )
    found: Retrieve = made.invoke
    return found


def _bm25s(entries: Sequence[Entry], limit: int) -> Retrieve:
    bm25s: Any = import_module("bm25s")
    index = bm25s.BM25()
    index.index([stems(entry.text) for entry in entries], show_progress=False)

    def retrieve(query: str) -> Sequence[object]:
        found, _ = index.retrieve([stems(query)], k=limit, show_progress=False)
        return [entries[number] for number in found[0]]

    return retrieve
