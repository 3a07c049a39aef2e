"""One call to a model, through everything in front of it: the response cache, identical calls in flight, the limit of
the real day, and the endpoint's gate.
"""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial

import structlog
from redis import Redis

from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.intake.kind_effects import place_of
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.tasks.job import Cost, Job
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.jobs.response_cache import CachedQuestion, ResponseCache
from cogitate.workers.jobs.shared_calls import CallRefused, CallResult, SharedCalls
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.clients import ModelClients

ASKING_FAILED = "asking_failed"
PROBE_WITHIN = 5.0  # seconds within which a recovered endpoint answers a probe

log = structlog.get_logger()


class Calls:
    """The calls of one process. Thread-safe.

    Args:
        models: the clients that make the calls; the caller closes them.
        stopping: an event that is set when the process is about to end, and ends every wait.
    """

    def __init__(self, client: Redis, settings: Settings, models: ModelClients, stopping: threading.Event) -> None:
        self._models = models
        self._gate = Gate(client, settings, stopping)
        self._day = RealDay(client, settings)
        self._cache = ResponseCache(client, settings)
        self._shared = SharedCalls()
        self._unusable: set[str] = set()  # endpoints that are logged already

    def ask(
        self, claim: Claim, prompt: Prompt, model: Model, output_cap: int, deadline: float
    ) -> CallResult | CallRefused:
        """Ask once, or say why a call is not possible now, when nothing is spent.

        Args:
            output_cap: the most tokens that the answer may have, reasoning included.
        """
        job, question = claim.job, CachedQuestion.of(prompt, model, output_cap)
        known = self._cache.find(job, question, prompt) if claim.response_cache else None
        if known is not None:
            return CallResult(known, saved=True)
        asked = self._shared.ask(
            (job.run, claim.incarnation, question),
            deadline,
            lambda: self._call(job, prompt, model, output_cap, deadline),
        )
        if claim.response_cache and isinstance(asked, CallResult):
            self._cache.keep(job, question, asked.answer)
        return asked

    def context_of(self, model: Model) -> int:
        """Return the tokens that prompt and answer may have together, as learned from an overflow; 0: not known."""
        try:
            return self._models.context_of(model)
        except (ConfigurationError, KeyError):  # the call says so
            return 0

    def probe(self, endpoint: str) -> None:
        """Probe an endpoint whose breaker is open; this spends nothing."""
        with contextlib.suppress(ConfigurationError, KeyError):  # not configured here: this worker cannot call it
            self._models.prepare(endpoint)
            self._gate.probe(endpoint, partial(self._models.probe, endpoint), time.monotonic() + PROBE_WITHIN)

    def count_unusable(self, model: Model) -> None:
        """Count an answer of this model's endpoint that was well-formed and of no use."""
        self._gate.count_unusable(model.endpoint)

    def close(self) -> None:
        """Send the reports that the gate has not received yet."""
        self._gate.close()

    def _call(
        self, job: Job, prompt: Prompt, model: Model, output_cap: int, deadline: float
    ) -> ModelAnswer | CallRefused:
        try:
            self._models.get_ready(prompt, model=model)  # before the gate counts the call: the first one takes a while
        except (ConfigurationError, KeyError) as error:  # such as a missing key, which other workers may have
            if model.endpoint not in self._unusable:
                self._unusable.add(model.endpoint)
                log.error("job.unknown_endpoint", job=job.id, model=model.name, endpoint=model.endpoint, why=str(error))
            return CallRefused("unknown_endpoint")
        except Exception as error:  # our own fault, or that of a kind's answer model; nothing was sent
            log.error("job.asking_failed", job=job.id, error=type(error).__name__, at=place_of(error))
            return CallRefused(ASKING_FAILED)
        held = self._day.reserve(job.reserved, priced=model.priced)
        if not isinstance(held, Held):
            return CallRefused(held)
        entered = self._gate.enter(model.endpoint, model=model.model, tokens=job.reserved.tokens, deadline=deadline)
        if isinstance(entered, Refused):
            self._day.settle(held, Cost())
            return CallRefused(entered.why, entered.because)
        answer: ModelAnswer | None = None
        try:
            answer = self._models.ask(prompt, model=model, max_output_tokens=output_cap, deadline=deadline)
            self._day.settle(held, answer.usage)
            if answer.usage.tokens > job.reserved.tokens:
                log.warning(
                    "job.overran",
                    job=job.id,
                    model=model.name,
                    tokens=answer.usage.tokens,
                    reserved=job.reserved.tokens,
                )
            return answer
        finally:
            self._gate.leave(entered, answer)
