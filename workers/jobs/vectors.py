"""Vectors by which a job chooses memories: those that its run stores, and those that its worker gets before it asks.

A job of a kind that recalls memories reserves the maximum cost of vectors besides that of its call
(`EmbeddingModel.bound`). Within it, its worker gets the missing vectors: of the query, then of queries that hosts wait
for, then of the newest memories. After any failure, the job chooses memories by words, as heuristics and decisions
always do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import structlog
from redis import Redis

from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.similarity import similarities, without_names
from cogitate.memory.retrieval.vectors import dimensions, packed
from cogitate.scheduler.config.embedding import MOST_TOKENS, EmbeddingModel
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.claims import Claim, Result
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.vectors import RunVectors
from cogitate.tasks.job import Cost, added
from cogitate.tasks.kind import Kind
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.jobs.call_spans import call_spans, failure_of
from cogitate.workers.llm.minilm import MiniLM
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.tokens import estimate_tokens

if TYPE_CHECKING:
    from cogitate.workers.llm.embeddings import Embedded, EmbeddingClient

log = structlog.get_logger()


class Vectors:
    """The vectors of one worker process. Thread-safe."""

    def __init__(self, client: Redis, settings: Settings, gate: Gate) -> None:
        self._client = client
        self._endpoints = settings.endpoint_table()
        self._connections = settings.concurrency
        self._gate = gate
        self._spans = call_spans(settings)
        self._day = RealDay(client, settings)
        self._local = MiniLM()
        self._clients: dict[str, EmbeddingClient] = {}
        self._lock = threading.Lock()
        self._logged: set[str] = set()  # failures already logged

    def of(self, kind: Kind, claim: Claim, model: EmbeddingModel, deadline: float) -> JobVectors | None:
        """Return the vectors of a job that asks a model and whose kind recalls memories; None for other jobs.

        A job that may be asked in a batch file has none: its prompt is built twice, and must be the same.
        """
        batched = claim.model is None or claim.model.batch != "off"
        if not kind.recalls or not claim.job.model or batched:
            return None
        return JobVectors(self, claim, model, deadline)

    def store_of(self, claim: Claim, model: EmbeddingModel) -> RunVectors:
        """Return the store of a run's vectors."""
        run = claim.job.run
        return RunVectors(RunStore.of(self._client, run, claim.incarnation), run, model.model)

    def compute(self, model: EmbeddingModel, texts: Sequence[str], size: int, deadline: float) -> Embedded:
        """Return the vectors of texts that can be computed, in this process or by the model's endpoint.

        Args:
            size: the required dimensions; 0: those of the first vector.
            deadline: the instant of `time.monotonic()` by which this returns.
        """
        from cogitate.workers.llm.embeddings import Embedded  # its HTTP client is slow to import, and few runs need it

        try:
            if model.is_local:
                found = [packed(one) for one in self._local.embed(texts)]
                return Embedded(found if size in (0, dimensions(found[0])) else [], 0)
            return self._asked(model, texts, size, min(deadline, time.monotonic() + model.timeout))
        except (ConfigurationError, KeyError) as error:  # not installed or not configured here; other workers may do it
            self._log_once(model, "unknown_endpoint" if isinstance(error, KeyError) else str(error))
            return Embedded([], 0)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _asked(self, model: EmbeddingModel, texts: Sequence[str], size: int, deadline: float) -> Embedded:
        from cogitate.workers.llm.embeddings import Embedded

        client, bound = self._client_of(model.endpoint), sum(map(estimate_tokens, texts))
        held = self._day.reserve(model.cost(bound), priced=model.priced)
        if not isinstance(held, Held):
            self._log_once(model, held)
            return Embedded([], 0)
        entered = self._gate.enter(model.endpoint, model=model.model, tokens=bound, deadline=deadline)
        if isinstance(entered, Refused):
            self._day.settle(held, Cost())
            self._log_once(model, entered.why)
            return Embedded([], 0)
        answer: ModelAnswer | None = None
        try:
            with self._spans.embeddings(model) if self._spans is not None else nullcontext() as outcome:
                found = client.ask(model.model, texts, deadline, size)
                if outcome is not None:
                    outcome.input_tokens, outcome.error = found.tokens, failure_of(found.failure)
            answer = ModelAnswer(usage=model.cost(found.tokens), failure=found.failure)
        finally:
            self._gate.leave(entered, answer)
            self._day.settle(held, answer.usage if answer is not None else model.cost(bound))
        if found.failure is not None:
            self._log_once(model, f"{found.failure.kind}: {found.failure.status or 'no status'}")
        return found

    def _client_of(self, endpoint: str) -> EmbeddingClient:
        from cogitate.workers.llm.embeddings import EmbeddingClient

        with self._lock:
            if endpoint not in self._clients:
                self._clients[endpoint] = EmbeddingClient(self._endpoints[endpoint], self._connections)
            return self._clients[endpoint]

    def _log_once(self, model: EmbeddingModel, why: str) -> None:
        """Log a failure once per process: it recurs with every job."""
        if why not in self._logged:
            self._logged.add(why)
            log.warning("vectors.unavailable", model=model.model, endpoint=model.endpoint, why=why)


class JobVectors:
    """The vectors of one attempt.

    Attributes:
        claim: the claim for prompt and call: its case finds similarities, and its reservation excludes the vectors.
    """

    def __init__(self, vectors: Vectors, claim: Claim, model: EmbeddingModel, deadline: float) -> None:
        self._vectors = vectors
        self._model = model
        self._store = vectors.store_of(claim, model)
        self._deadline = deadline
        self._known: dict[str, Mapping[int, float]] = {}  # similarities by query
        self._hybrid = False
        self._tokens = 0
        reserved, bound = claim.job.reserved, model.bound
        job = msgspec.structs.replace(
            claim.job,
            reserved=Cost(reserved.calls, reserved.tokens - bound.tokens, reserved.usd_micros - bound.usd_micros),
        )
        self.claim = msgspec.structs.replace(claim, case=replace(claim.case, job=job, similarity=self.similarity))

    def similarity(self, query: str, entries: Sequence[Entry]) -> Mapping[int, float]:
        """Return the similarity to a query of each entry with a vector, by the entry's number."""
        if query not in self._known:
            self._known[query] = self._found(query, entries)
            self._hybrid |= bool(self._known[query])
        return self._known[query]

    def charge(self, used: Cost, result: Result | None) -> tuple[Cost, Result | None]:
        """Return an attempt's spending and result, with the cost of the vectors added."""
        cost = self._model.cost(self._tokens)
        used = added(used, cost)
        if result is None:
            return used, None
        if self._tokens:  # a saved answer is free, its vectors are not
            usage = cost if result.saved else added(result.usage, cost)
            result = msgspec.structs.replace(result, usage=usage, saved=False, embedded=self._tokens)
        return used, msgspec.structs.replace(result, hybrid=self._hybrid)

    def _found(self, query: str, entries: Sequence[Entry]) -> Mapping[int, float]:
        asked = without_names(query, entries)
        if not asked.strip():
            return {}
        wanted = self._store.wanted()
        texts = list(
            dict.fromkeys([asked, *wanted, *(entry.text for entry in reversed(entries) if entry.text.strip())])
        )
        found = self._completed(dict(zip(texts, self._store.find(texts), strict=True)))
        self._store.meet([text for text in wanted if found.get(text) is not None])
        return similarities(asked, entries, found)

    def _completed(self, found: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """Compute and store the missing vectors that the reservation covers; return all vectors."""
        left, missing = MOST_TOKENS - self._tokens, list[str]()
        for text in (text for text, vector in found.items() if vector is None):
            left -= estimate_tokens(text)
            if left < 0:
                break
            missing.append(text)
        if not missing:
            return found
        size = next((dimensions(one) for one in found.values() if one is not None), 0)
        made = self._vectors.compute(self._model, missing, size, self._deadline)
        self._tokens += made.tokens
        new = dict(zip(missing, made.vectors, strict=False))
        if new:
            self._store.keep(new)
        return {**found, **new}
