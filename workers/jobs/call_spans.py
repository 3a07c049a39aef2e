"""Telemetry of calls: the layer next to a model, which records a span for each call, and the same for vectors."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from cogitate.memory import typed_json
from cogitate.scheduler.config.embedding import EmbeddingModel
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from cogitate.workers.llm.requests.address import address_of
from cogitate.workers.telemetry.exporting import started
from cogitate.workers.telemetry.job_trace import job_attributes

if TYPE_CHECKING:
    from cogitate.workers.telemetry.spans import CallOutcome, Telemetry

Found = TypeVar("Found", bound=ModelAnswer | Refused)

PORTS = {"http": 80, "https": 443}
#: Request parameters, and their names in OpenTelemetry's semantic conventions.
PARAMETERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "service_tier": "openai.request.service_tier",
}


class CallSpans:
    """Records a span for each call to a model, under the attempt of the calling thread, and counts the call."""

    def __init__(self, telemetry: Telemetry, endpoints: Mapping[str, Endpoint]) -> None:
        self._telemetry = telemetry
        self._endpoints = endpoints

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Make the call within a span."""
        return self._within(call, following)

    def read(self, call: Call, following: Callable[[Call], ModelAnswer]) -> ModelAnswer:
        """Read the answer to a call that came in a batch, within a span whose duration means nothing."""
        return self._within(call, following, timed=False)

    def _within(self, call: Call, following: Callable[[Call], Found], *, timed: bool = True) -> Found:
        model = call.model
        attributes: dict[str, str | int | float | bool] = {
            **job_attributes(call.claim.job.run, call.claim.job.key),
            "gen_ai.output.type": "json",
            "gen_ai.request.max_tokens": call.output_cap,
        }
        if model.seed is not None:
            attributes["gen_ai.request.seed"] = model.seed
        parameters = typed_json.decode(model.parameters, dict[str, object]) if model.parameters else {}
        if call.service_tier:
            parameters["service_tier"] = call.service_tier
        for name, value in parameters.items():
            if name in PARAMETERS and isinstance(value, str | int | float):
                attributes[PARAMETERS[name]] = value
        if self._telemetry.with_content:
            attributes["gen_ai.system_instructions"] = json.dumps([_text(call.prompt.system)])
            attributes["gen_ai.input.messages"] = json.dumps([{"role": "user", "parts": [_text(call.prompt.user)]}])
        with self._span("chat", model.model, model.endpoint, attributes, timed=timed) as outcome:
            reply = following(call)
            if isinstance(reply, Refused):
                outcome.error = reply.why
            else:
                self._note(outcome, reply)
        return reply

    @contextmanager
    def embeddings(self, model: EmbeddingModel) -> Iterator[CallOutcome]:
        """Open a span for a request for vectors; the block sets its outcome."""
        with self._span("embeddings", model.model, model.endpoint, {}) as outcome:
            yield outcome

    @contextmanager
    def _span(
        self,
        operation: str,
        model: str,
        endpoint: str,
        more: dict[str, str | int | float | bool],
        *,
        timed: bool = True,
    ) -> Iterator[CallOutcome]:
        of_metrics = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "openai",  # every endpoint speaks its API; the server's address tells them apart
            "gen_ai.request.model": model,
            **_server(self._endpoints.get(endpoint)),
        }
        name, attributes = f"{operation} {model}", {**of_metrics, **more}
        with self._telemetry.model_call(name, attributes, of_metrics, timed=timed) as outcome:
            yield outcome

    def _note(self, outcome: CallOutcome, answer: ModelAnswer) -> None:
        outcome.error = failure_of(answer.failure)
        outcome.input_tokens = answer.prompt_tokens
        outcome.output_tokens = answer.usage.tokens - answer.prompt_tokens if answer.prompt_tokens else 0
        used = {
            "gen_ai.usage.reasoning.output_tokens": answer.reasoning,
            "openai.response.service_tier": answer.service_tier,
        }
        outcome.attributes.update({name: value for name, value in used.items() if value})
        if self._telemetry.with_content and answer.text:
            message = {"role": "assistant", "parts": [_text(answer.text)], "finish_reason": "stop"}
            outcome.attributes["gen_ai.output.messages"] = json.dumps([message])


def call_spans(settings: Settings) -> CallSpans | None:
    """Return the spans of a process's calls; None if telemetry is off."""
    telemetry = started()
    return CallSpans(telemetry, settings.endpoint_table()) if telemetry is not None else None


def failure_of(failure: Failure | None) -> str:
    """Return the class of a failure, or ""."""
    return failure.kind if failure is not None else ""


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _server(endpoint: Endpoint | None) -> dict[str, str | int]:
    """Return the attributes of an endpoint's server; none if this process cannot call it."""
    try:
        url = urllib.parse.urlsplit(address_of(endpoint).base_url if endpoint is not None else "")
    except ConfigurationError:
        return {}
    if not url.hostname:
        return {}
    return {"server.address": url.hostname, "server.port": url.port or PORTS.get(url.scheme, 443)}
