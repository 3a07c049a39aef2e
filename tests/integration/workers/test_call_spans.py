"""The spans of calls: parameters, failures without their texts, vectors, and answers from a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import pytest
from pydantic import SecretStr

from cogitate.scheduler.config.embedding import EmbeddingModel
from cogitate.scheduler.config.endpoints import FLEX
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.call_spans import CallSpans, call_spans
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from cogitate.workers.telemetry import exporting
from tests.integration.workers.llm_case import CAP, MODEL, PROMPT, Mood, claim_of

pytest.importorskip("opentelemetry.sdk", reason="the extra telemetry is not installed")

from tests.otlp_receiver import OtlpReceiver, ReceivedSpan

JOB = Job(run="town", key=JobKey(3, "plan", "agent:ada", 0, 0), minute=3, due=9, reads=(), model="default")
ANSWER = ModelAnswer(
    usage=Cost(calls=1, tokens=120),
    value=Mood(word="grey", strength=3),
    prompt_tokens=90,
    reasoning=12,
    service_tier="flex",
)
URL = "https://someone:hunter2@models.example:8443/v1"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    """Yield a receiver to which this process exports; `exported` returns the received span."""
    with OtlpReceiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        assert exporting.start("cogitate-worker") is not None
        yield receiver
        exporting.stop()


@pytest.fixture
def spans(receiver: OtlpReceiver) -> CallSpans:
    found = call_spans(Settings(llm="openai", base_url=URL, api_key=SecretStr("any")))
    assert found is not None
    return found


def exported(receiver: OtlpReceiver, eventually: Callable[..., None]) -> ReceivedSpan:
    """Stop exporting, and return the only span."""
    exporting.stop()
    eventually(lambda: receiver.spans and receiver.points, "the span and the metrics")
    (span,) = receiver.spans
    assert b"hunter2" not in b"".join(receiver.raw)
    return span


def asked(following: Ask, spans: CallSpans, parameters: str = "") -> ModelAnswer | Refused:
    model = msgspec.structs.replace(MODEL, seed=7, parameters=parameters)
    return spans.ask(Call(claim_of(JOB), PROMPT, model, CAP, time.monotonic(), FLEX), following)


def test_a_span_has_the_parameters_and_the_usage_of_its_call(
    receiver: OtlpReceiver, spans: CallSpans, eventually: Callable[..., None]
) -> None:
    parameters = '{"temperature": 0.2, "reasoning_effort": "low", "metadata": {"note": "hunter2"}}'
    assert asked(lambda call: ANSWER, spans, parameters) is ANSWER
    span = exported(receiver, eventually)
    assert (span.name, span.failed) == (f"chat {MODEL.model}", False)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL.model,
        "gen_ai.request.max_tokens": CAP,
        "gen_ai.request.seed": 7,
        "gen_ai.request.temperature": 0.2,
        "gen_ai.output.type": "json",
        "openai.request.service_tier": "flex",
        "openai.response.service_tier": "flex",
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.reasoning.output_tokens": 12,
        "server.address": "models.example",
        "server.port": 8443,
        "session.id": "town",
        "gen_ai.conversation.id": "town",
        "user.id": "agent:ada",
        "cogitate.job.id": JOB.id,
        "cogitate.job.kind": "plan",
        "cogitate.tick": 3,
    }
    assert span.attributes == expected
    counted = {
        labels["gen_ai.token.type"]: point.sum for _, _, labels, point in receiver.points["gen_ai.client.token.usage"]
    }
    assert counted == {"input": 90, "output": 30}


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (Refused("stopping"), "stopping"),
        (replace(ANSWER, value=None, failure=Failure(kind="rate_limited", detail="hunter2")), "rate_limited"),
    ],
)
def test_the_span_of_a_failed_call_names_its_class(
    receiver: OtlpReceiver,
    spans: CallSpans,
    eventually: Callable[..., None],
    found: ModelAnswer | Refused,
    error: str,
) -> None:
    assert asked(lambda call: found, spans) is found
    span = exported(receiver, eventually)
    assert (span.failed, span.attributes["error.type"]) == (True, error)
    ((_, _, labels, _),) = receiver.points["gen_ai.client.operation.duration"]
    assert labels["error.type"] == error


def test_the_span_of_an_exception_shows_only_its_class(
    receiver: OtlpReceiver, spans: CallSpans, eventually: Callable[..., None]
) -> None:
    def raising(call: Call) -> ModelAnswer:
        raise ValueError("hunter2")

    with pytest.raises(ValueError, match="hunter2"):
        asked(raising, spans)
    span = exported(receiver, eventually)
    assert (span.failed, span.attributes["error.type"]) == (True, "ValueError")


def test_an_answer_from_a_batch_counts_tokens_but_no_duration(
    receiver: OtlpReceiver, spans: CallSpans, eventually: Callable[..., None]
) -> None:
    call = Call(claim_of(JOB), PROMPT, MODEL, CAP, 0.0)
    assert spans.read(call, lambda _: ANSWER) is ANSWER
    assert exported(receiver, eventually).attributes["gen_ai.usage.input_tokens"] == 90
    assert {*receiver.points} == {"gen_ai.client.token.usage"}


def test_vectors_have_a_separate_span(
    receiver: OtlpReceiver, spans: CallSpans, eventually: Callable[..., None]
) -> None:
    with spans.embeddings(EmbeddingModel(endpoint="default", model="vectors")) as outcome:
        outcome.input_tokens = 40
    span = exported(receiver, eventually)
    assert (span.name, span.attributes["gen_ai.operation.name"]) == ("embeddings vectors", "embeddings")
    assert span.attributes["gen_ai.usage.input_tokens"] == 40
    ((_, unit, labels, point),) = receiver.points["gen_ai.client.token.usage"]
    assert (unit, labels["gen_ai.token.type"], point.sum) == ("{token}", "input", 40)
