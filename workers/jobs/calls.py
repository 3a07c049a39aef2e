"""One call to a model, through the layers in front of it, which `Calls` lists in their order."""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial

from redis import Redis

from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Gate
from cogitate.workers.jobs.call_layers import Ask, Caching, Call, Gating, Layer, Preparing, RealDayLimit, Sharing
from cogitate.workers.jobs.response_cache import ResponseCache
from cogitate.workers.jobs.shared_calls import CallRefused, CallResult, SharedCalls
from cogitate.workers.llm.clients import ModelClients

PROBE_WITHIN = 5.0  # seconds within which a recovered endpoint answers a probe


class Calls:
    """The calls of one process. Thread-safe.

    Args:
        models: the clients that make the calls; the caller closes them.
        stopping: an event that is set when the process is about to end, and ends every wait.
    """

    def __init__(self, client: Redis, settings: Settings, models: ModelClients, stopping: threading.Event) -> None:
        self._models = models
        self._gate = Gate(client, settings, stopping)
        self._layers: tuple[Layer, ...] = (
            Caching(ResponseCache(client, settings)),
            Sharing(SharedCalls()),
            Preparing(models),
            RealDayLimit(RealDay(client, settings)),
            Gating(self._gate),
        )

    def ask(
        self, claim: Claim, prompt: Prompt, model: Model, output_cap: int, deadline: float
    ) -> CallResult | CallRefused:
        """Ask once, or say why a call is not possible now, when nothing is spent.

        Args:
            output_cap: the most tokens that the answer may have, reasoning included.
        """
        ask: Ask = self._ask_model
        for layer in reversed(self._layers):
            ask = partial(layer.ask, following=ask)
        return ask(Call(claim, prompt, model, output_cap, deadline))

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

    def _ask_model(self, call: Call) -> CallResult | CallRefused:
        answer = self._models.ask(
            call.prompt, model=call.model, max_output_tokens=call.output_cap, deadline=call.deadline
        )
        return CallResult(answer, saved=False)
