"""The layers between an attempt and its model: each passes a call on, answers in its place, or refuses it.

They have one shape, `Layer`. `cogitate.workers.jobs.calls` lists them in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import structlog

from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.intake.kind_effects import place_of
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.jobs.response_cache import CachedQuestion, ResponseCache
from cogitate.workers.jobs.shared_calls import CallRefused, CallResult, SharedCalls
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.clients import ModelClients

ASKING_FAILED = "asking_failed"

log = structlog.get_logger()


class Call(NamedTuple):
    """One question of an attempt to one model."""

    claim: Claim
    prompt: Prompt
    model: Model
    output_cap: int  # the most tokens that the answer may have, reasoning included
    deadline: float  # instant of `time.monotonic()`

    @property
    def question(self) -> CachedQuestion:
        """What is sent to the model."""
        return CachedQuestion.of(self.prompt, self.model, self.output_cap)


Ask = Callable[[Call], CallResult | CallRefused]


class Layer(Protocol):
    """A step between an attempt and its model. Thread-safe."""

    def ask(self, call: Call, following: Ask) -> CallResult | CallRefused:
        """Return the answer, or why there is none; `following` asks the layers behind this one."""


class Caching:
    """Answers of earlier runs, for runs with `response_cache`."""

    def __init__(self, cache: ResponseCache) -> None:
        self._cache = cache

    def ask(self, call: Call, following: Ask) -> CallResult | CallRefused:
        """Return the stored answer, or store the one that follows."""
        claim = call.claim
        if not claim.response_cache:
            return following(call)
        known = self._cache.find(claim.job, call.question, call.prompt)
        if known is not None:
            return CallResult(known, saved=True)
        asked = following(call)
        if isinstance(asked, CallResult):
            self._cache.keep(claim.job, call.question, asked.answer)
        return asked


class Sharing:
    """Identical calls of one run that are in flight in this process share one answer."""

    def __init__(self, shared: SharedCalls) -> None:
        self._shared = shared

    def ask(self, call: Call, following: Ask) -> CallResult | CallRefused:
        """Ask, or wait for the answer to the same question."""

        def answer() -> ModelAnswer | CallRefused:
            asked = following(call)
            return asked.answer if isinstance(asked, CallResult) else asked

        question = (call.claim.job.run, call.claim.incarnation, call.question)
        return self._shared.ask(question, call.deadline, answer)


class Preparing:
    """The client of the endpoint, made ready before a call counts anywhere: its first call takes a while."""

    def __init__(self, models: ModelClients) -> None:
        self._models = models
        self._unusable: set[str] = set()  # endpoints that are logged already

    def ask(self, call: Call, following: Ask) -> CallResult | CallRefused:
        """Ask, unless this process cannot call the endpoint."""
        job, model = call.claim.job, call.model
        try:
            self._models.get_ready(call.prompt, model=model)
        except (ConfigurationError, KeyError) as error:  # such as a missing key, which other workers may have
            if model.endpoint not in self._unusable:
                self._unusable.add(model.endpoint)
                log.error("job.unknown_endpoint", job=job.id, model=model.name, endpoint=model.endpoint, why=str(error))
            return CallRefused("unknown_endpoint")
        except Exception as error:  # our own fault, or that of a kind's answer model; nothing was sent
            log.error("job.asking_failed", job=job.id, error=type(error).__name__, at=place_of(error))
            return CallRefused(ASKING_FAILED)
        return following(call)


class RealDayLimit:
    """The limits of the real day: `real_day_tokens` and `real_day_usd_micros`."""

    def __init__(self, day: RealDay) -> None:
        self._day = day

    def ask(self, call: Call, following: Ask) -> CallResult | CallRefused:
        """Ask within what is left of the day; a call that raises keeps its whole reservation."""
        job = call.claim.job
        held = self._day.reserve(job.reserved, priced=call.model.priced)
        if not isinstance(held, Held):
            return CallRefused(held)
        asked = following(call)
        if isinstance(asked, CallRefused):
            self._day.settle(held, Cost())
            return asked
        used = asked.answer.usage
        self._day.settle(held, used)
        if used.tokens > job.reserved.tokens:
            log.warning(
                "job.overran", job=job.id, model=call.model.name, tokens=used.tokens, reserved=job.reserved.tokens
            )
        return asked


class Gating:
    """The gate that all workers share before an endpoint: its rates, its concurrency and its circuit breaker."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def ask(self, call: Call, following: Ask) -> CallResult | CallRefused:
        """Ask once the gate admits the call, and report how it ended."""
        model, tokens = call.model, call.claim.job.reserved.tokens
        entered = self._gate.enter(model.endpoint, model=model.model, tokens=tokens, deadline=call.deadline)
        if isinstance(entered, Refused):
            return CallRefused(entered.why, entered.because)
        asked: CallResult | CallRefused | None = None
        try:
            asked = following(call)
            return asked
        finally:
            self._gate.leave(entered, asked.answer if isinstance(asked, CallResult) else None)
