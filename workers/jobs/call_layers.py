"""Calls to models: `Calls` lists the layers between an attempt and its model in order, and picks those of each call.

Each layer passes a call on, answers it itself, or refuses it. All implement `cogitate.workers.jobs.call.Layer`.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import structlog
from pydantic import BaseModel
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import FLEX, Model
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.intake.kind_effects import place_of
from cogitate.scheduler.ledger.batches import Batches
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.tasks.registry import kind_of
from cogitate.workers.gate.gate import Gate, MayWait, Refused
from cogitate.workers.jobs.batches.parking import Parking
from cogitate.workers.jobs.call import Ask, BatchAnswer, Call, Layer, through
from cogitate.workers.jobs.call_spans import call_spans
from cogitate.workers.jobs.packs.packing import Packing
from cogitate.workers.jobs.service_tiers import ServiceTiers, marked
from cogitate.workers.jobs.stored_texts import ResponseCache, SourceAnswers
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.replies.failures import ModelAnswer

ASKING_FAILED = "asking_failed"
LOOK_EVERY = 0.25  # seconds between two checks for room in an experiment's limit
PROBE_WITHIN = 5.0  # seconds within which a recovered endpoint answers a probe

#: Failures that a call's own deadline causes; other calls have other deadlines.
_OWN_DEADLINE = ("timeout", "no_time")

log = structlog.get_logger()


class Options(NamedTuple):
    """The settings of a call's run and model that decide which layers the call passes."""

    source_recorded: bool
    response_cache: bool
    batch: str
    pack: str
    service_tier: str


class Calls:
    """The calls of one process. Thread-safe.

    Args:
        models: the clients that make the calls; the caller closes them.
        stopping: an event that is set when the process is about to end, and ends every wait.
        batching: the store of batches, and a function that wakes the desk of a run; None: ask singly.
    """

    def __init__(
        self,
        client: Redis,
        settings: Settings,
        models: ModelClients,
        stopping: threading.Event,
        batching: tuple[Batches, Callable[[str], None]] | None = None,
    ) -> None:
        host_waits = settings.wait_seconds() > 0
        day = RealDay(client, settings)
        waits = settings.tuning.experiment == "stop"
        self._models = models
        self.gate = Gate(client, settings, stopping)
        self._source = SourceAnswers(client)
        self._cache = ResponseCache(client, settings)
        self._sharing, self._preparing = Sharing(), Preparing(models)
        self._parking = Parking(batching[0], models, day, settings, batching[1]) if batching is not None else None
        self._day_limit = RealDayLimit(day, stopping, waits=waits) if day.limits else None
        # The only job of a process has no other call to wait for.
        self._packing = Packing(self.context_of, host_waits=host_waits) if settings.concurrency > 1 else None
        self._tiers = ServiceTiers(settings)
        self._gating = Gating(self.gate, host_waits=host_waits)
        self._spans = call_spans(settings)
        self._chains: dict[Options, Ask] = {}  # from the first layer to the model

    def ask(self, call: Call) -> ModelAnswer | Refused:
        """Ask once, or return why the call cannot be made now; a refused call spends nothing."""
        claim, model = call.claim, call.model
        options = Options(claim.source_recorded, claim.response_cache, model.batch, model.pack, model.service_tier)
        chain = self._chains.get(options)
        if chain is None:
            chain = self._chains[options] = through([*self._layers(options)], self._ask_model)
        return chain(call)

    def _layers(self, options: Options) -> Iterator[Layer]:
        """Yield the layers of calls with these options, in the order in which the calls pass them."""
        if options.source_recorded:  # record, of the source of a fork
            yield self._source
        if options.response_cache:  # response_cache, response_cache_bytes, response_cache_days
            yield self._cache
        yield self._sharing
        yield self._preparing
        if self._parking is not None and options.batch == "auto":  # batch
            yield self._parking
        if self._day_limit is not None:  # real_day_tokens, real_day_usd
            yield self._day_limit
        if self._packing is not None and options.pack == "auto":  # pack
            yield self._packing
        if options.service_tier == "auto":  # service_tier
            yield self._tiers
        yield self._gating  # limits of an endpoint, wait, breaker_failures, _share, _window, _pause, _longest_pause
        if self._spans is not None:
            yield self._spans

    def read(self, call: Call, answer: BatchAnswer) -> ModelAnswer | Refused:
        """Read the answer to this call that came in a batch."""
        assert self._parking is not None
        self._models.of(call.model.endpoint).get_ready(call.prompt, model=call.model)
        read = partial(self._parking.read, answer=answer)
        reply = read(call) if self._spans is None else self._spans.read(call, read)
        if call.claim.response_cache:
            self._cache.keep(call.claim.job, call.question, reply)
        return reply

    def _ask_model(self, call: Call) -> ModelAnswer | Refused:
        client = self._models.of(call.model.endpoint)
        return client.ask(
            call.prompt,
            model=call.model,
            max_output_tokens=call.output_cap,
            deadline=call.deadline,
            service_tier=call.service_tier,
        )

    def context_of(self, model: Model) -> int:
        """Return the context length learned for a model, prompt and answer together, in tokens; 0 if unknown."""
        try:
            return self._models.of(model.endpoint).context_of(model.model)
        except (ConfigurationError, KeyError):  # `Preparing` reports it
            return 0

    def probe(self, endpoint: str) -> None:
        """Probe an endpoint whose breaker is open; this spends nothing."""
        with contextlib.suppress(ConfigurationError, KeyError):  # not configured here: this worker cannot call it
            client = self._models.of(endpoint)
            self.gate.probe(endpoint, client.probe, time.monotonic() + PROBE_WITHIN)

    def count_unusable(self, model: Model) -> None:
        """Count an answer of this model's endpoint that was valid JSON, but useless."""
        self.gate.count_unusable(model.endpoint)

    def close(self) -> None:
        """Send the reports that the gate has not received yet."""
        self.gate.close()


class Sharing:
    """The layer that shares an answer between threads of this process that ask the same question at once.

    Only jobs of one run share: the answers in two runs are two samples of the model. A kind may declare questions of
    different owners equal (`cogitate.tasks.kind.Kind.alike`).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: dict[Hashable, Future[ModelAnswer | Refused | None]] = {}

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Make the call, or share the answer of an identical or alike one.

        If the other call is refused, raises or runs out of time, this thread makes its own call.
        """
        question = (call.claim.job.run, call.claim.incarnation, _shared_question(call))
        while True:
            with self._lock:
                shared = self._in_flight.get(question)
                if shared is None:
                    asked = self._in_flight[question] = Future()
                    break
            try:
                result = shared.result(max(0.0, call.deadline - time.monotonic()))
            except TimeoutError:
                return following(call)  # which reports that the deadline has passed
            if isinstance(result, ModelAnswer) and (result.failure is None or result.failure.kind not in _OWN_DEADLINE):
                return replace(result, saved=True)
        answer: ModelAnswer | Refused | None = None  # if the call raises
        try:
            answer = following(call)
            return answer
        finally:
            with self._lock:
                del self._in_flight[question]
            asked.set_result(answer)


def _shared_question(call: Call) -> Hashable:
    """Return the key of calls that share an answer. On a retry or with `response_cache`, only identical calls share."""
    job = call.claim.job
    if call.claim.number > 1 or call.claim.response_cache:
        return call.question
    try:
        key = kind_of(job.key.kind).alike(call.claim.case)
    except Exception as error:  # a bug in a host's kind
        log.error("job.alike_failed", job=job.id, error=type(error).__name__, at=place_of(error))
        key = None
    return call.question if key is None else (job.key.kind, job.due, key, call.model.name, call.output_cap)


class Preparing:
    """The layer that prepares an endpoint's client before any limit counts the call: the first preparation is slow."""

    def __init__(self, models: ModelClients) -> None:
        self._models = models
        self._ready: set[tuple[str, str, type[BaseModel]]] = set()  # endpoint, model, answer
        self._unusable: set[str] = set()  # endpoints already logged

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask, unless this process cannot call the endpoint."""
        job, model = call.claim.job, call.model
        question = (model.endpoint, model.model, call.prompt.answer)
        if question in self._ready:
            return following(call)
        try:
            self._models.of(model.endpoint).get_ready(call.prompt, model=model)
        except (ConfigurationError, KeyError) as error:  # such as a missing key, which other workers may have
            if model.endpoint not in self._unusable:
                self._unusable.add(model.endpoint)
                log.error("job.unknown_endpoint", job=job.id, model=model.name, endpoint=model.endpoint, why=str(error))
            return Refused("unknown_endpoint")
        except Exception as error:  # a bug in this package or in a kind's answer model; nothing was sent
            log.error("job.asking_failed", job=job.id, error=type(error).__name__, at=place_of(error))
            return Refused(ASKING_FAILED)
        self._ready.add(question)
        return following(call)


class RealDayLimit:
    """The layer of the limits of the real day or of an experiment: `real_day_tokens` and `real_day_usd`.

    Args:
        stopping: an event that is set when the process is about to end, and ends every wait.
        waits: whether a call waits for room. The experiment stops at its limit, before an answer is due.
    """

    def __init__(self, day: RealDay, stopping: threading.Event, *, waits: bool = False) -> None:
        self._day = day
        self._stopping = stopping
        self._waits = waits

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask within the rest of the limits; if the call raises, its whole reservation stays counted."""
        job = call.claim.job
        held = self._day.reserve(job.reserved, priced=call.model.priced)
        while held == "experiment_spent" and self._waits:
            if self._stopping.wait(LOOK_EVERY) or time.monotonic() >= call.deadline:
                return Refused("stopping")  # another attempt follows
            held = self._day.reserve(job.reserved, priced=call.model.priced)
        if not isinstance(held, Held):
            return Refused(held)
        answer = following(call)
        self._day.settle(held, answer.usage if isinstance(answer, ModelAnswer) else Cost())
        return answer


class Gating:
    """The layer of the gate that all workers share in front of an endpoint: its rates, concurrency and circuit breaker.

    Args:
        host_waits: whether hosts wait at a tick boundary for due jobs; if so, jobs may wait for an endpoint that is
            down.
    """

    def __init__(self, gate: Gate, *, host_waits: bool = False) -> None:
        self._gate = gate
        self._host_waits = host_waits

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask once the gate admits the call, and report the outcome to the gate."""
        model, others, tokens = call.model, call.claim.others, call.claim.job.reserved.tokens
        may_wait: MayWait = "endpoint" if others else "model"
        if not self._host_waits or any(one.endpoint != model.endpoint for one in others):  # it may answer instead
            may_wait = "nothing"
        tier: object = call.service_tier or None  # each tier has its own limits
        if tier is None and model.parameters:
            tier = typed_json.decode(model.parameters, dict[str, object]).get("service_tier")
        entered = self._gate.enter(
            model.endpoint,
            model=f"{model.model}@{tier}" if isinstance(tier, str) else model.model,
            tokens=tokens,
            deadline=call.deadline,
            may_wait=may_wait,
            again=call.claim.number > 1,
            slow=call.service_tier == FLEX,
        )
        if isinstance(entered, Refused):
            return entered
        result: ModelAnswer | Refused | None = None
        try:
            result = following(call)
            if call.service_tier and isinstance(result, ModelAnswer):
                result = marked(result)
            return result
        finally:
            answer = result if isinstance(result, ModelAnswer) else None
            self._gate.leave(entered, answer, prompt=_digest(call.prompt) if answer is None or answer.failure else "")


def _digest(prompt: Prompt) -> str:
    return hashlib.blake2b(f"{prompt.system}\n{prompt.user}".encode(errors="replace"), digest_size=4).hexdigest()
