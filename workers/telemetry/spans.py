"""Spans of jobs and of calls to models, and metrics of these calls, by OpenTelemetry's conventions.

The conventions for generative AI: https://opentelemetry.io/docs/specs/semconv/gen-ai/. Exporters run in separate
threads and drop what does not fit their queue, so an unreachable receiver delays neither a tick nor a job.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar, cast

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

from cogitate.workers.telemetry.job_trace import JobTrace, sampled_of, trace_of

Attributes = Mapping[str, str | int | float | bool]
Ending = TypeVar("Ending", bound="Outcome")

#: The variable of OpenTelemetry's instrumentations that puts the texts of prompts and answers into spans.
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WITH_CONTENT = ("true", "span_only", "span_and_event")

MOST_ARRIVED = 10_000  # headers of jobs without an attempt yet
FLUSH_WITHIN = 2.0  # seconds that an exiting process waits for its receiver
SAID_AGAIN = 60.0  # seconds between two log lines about an unreachable receiver

TOKEN_BUCKETS = [4.0**power for power in range(14)]
SECOND_BUCKETS = [0.01 * 2**power for power in range(14)]

log = structlog.get_logger()


@dataclass
class Outcome:
    """The outcome of a span's work."""

    error: str = ""  # class of the failure; "": success
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class CallOutcome(Outcome):
    """The outcome of a call to a model."""

    input_tokens: int = 0  # 0: not reported
    output_tokens: int = 0


class Telemetry:
    """The exporters of one process. Thread-safe.

    Args:
        service: the service's name, unless OpenTelemetry's variables give one.
        signals: what to export: "traces", "metrics" or both.
    """

    def __init__(self, service: str, signals: Collection[str]) -> None:
        _Complaints.install()
        resource = Resource.create({"service.version": version("cogitate"), **_named(service, os.environ)})
        self.with_content = os.environ.get(CONTENT_VARIABLE, "").strip().lower() in WITH_CONTENT
        self._ids = _Ids()
        self._traces = TracerProvider(
            sampler=None if "traces" in signals else ALWAYS_OFF,  # None: the sampler of OTEL_TRACES_SAMPLER
            resource=resource,
            id_generator=cast(Any, self._ids),
            shutdown_on_exit=False,
        )
        if "traces" in signals:
            self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._traces.get_tracer("cogitate", version("cogitate"))
        readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if "metrics" in signals else []
        self._metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        meter = self._metrics.get_meter("cogitate", version("cogitate"))
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKEN_BUCKETS,
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECOND_BUCKETS,
        )
        self._incarnations: dict[str, str] = {}  # of the runs that this process hosts or works for
        self._arrived: dict[str, object] = {}  # headers by job
        self._lock = threading.Lock()

    def follow(self, run: str, incarnation: str) -> None:
        """Record the incarnation of a run that this process hosts or works for."""
        self._incarnations[run] = incarnation

    def traceparent(self, run: str, job_id: str) -> str:
        """Return the header of the hint for a job of a run that this process hosts."""
        trace = trace_of(self._incarnations.get(run, ""), job_id)
        return trace.traceparent(sampled=self.sampled(trace))

    def arrived(self, job_id: str, header: object) -> None:
        """Keep a message's header for the attempt at its job; keeps only the newest of those without an attempt."""
        if header is not None:
            with self._lock:
                self._arrived[job_id] = header
                if len(self._arrived) > MOST_ARRIVED:
                    del self._arrived[next(iter(self._arrived))]

    def add_request(self, trace: JobTrace, name: str, attributes: Attributes, began: int, ended: int) -> None:
        """Add the first span of a job's trace, if the trace is sampled.

        Args:
            began, ended: nanoseconds since 1970.
        """
        with self._ids.given(trace):
            span = self._tracer.start_span(
                name, Context(), kind=SpanKind.PRODUCER, attributes=attributes, start_time=began
            )
        span.end(ended)

    def add_end(
        self, trace: JobTrace, name: str, attributes: Attributes, began: int, ended: int, error: str = ""
    ) -> None:
        """Add the span of a job's end to a sampled trace.

        Args:
            began, ended: nanoseconds since 1970.
            error: class of the failure that made the job end otherwise than by its answer.
        """
        under = self._under(trace, sampled=True)
        span = self._tracer.start_span(name, under, attributes=attributes, start_time=began)
        _finish(span, Outcome(error))
        span.end(ended)

    @contextmanager
    def attempt(self, incarnation: str, job_id: str, name: str, attributes: Attributes) -> Iterator[Outcome]:
        """Open a span for an attempt at a job during a block, which records the outcome."""
        self.follow(job_id.partition("/")[0], incarnation)
        trace = trace_of(incarnation, job_id)
        with self._lock:
            header = self._arrived.pop(job_id, None)
        decided = sampled_of(header, trace)
        under = self._under(trace, sampled=self.sampled(trace) if decided is None else decided)
        with self._span(name, under, SpanKind.CONSUMER, attributes, Outcome()) as outcome:
            yield outcome

    @contextmanager
    def model_call(
        self, name: str, attributes: Attributes, of_metrics: Collection[str], *, timed: bool = True
    ) -> Iterator[CallOutcome]:
        """Open a span for a call to a model during a block, under this thread's attempt, and record its metrics.

        Args:
            of_metrics: the attributes that the metrics share.
            timed: whether the block lasts as long as the call.
        """
        began, outcome = time.perf_counter(), CallOutcome()
        try:
            with self._span(name, None, SpanKind.CLIENT, attributes, outcome):
                yield outcome
                used = {"input": outcome.input_tokens, "output": outcome.output_tokens}
                outcome.attributes |= {f"gen_ai.usage.{kind}_tokens": tokens for kind, tokens in used.items() if tokens}
        finally:
            labels = {key: attributes[key] for key in of_metrics}
            for kind, tokens in (("input", outcome.input_tokens), ("output", outcome.output_tokens)):
                if tokens:
                    self._tokens.record(tokens, {**labels, "gen_ai.token.type": kind})
            failed = {"error.type": outcome.error} if outcome.error else {}
            if timed:
                self._seconds.record(time.perf_counter() - began, {**labels, **failed})

    def ids_for_log(self, job_id: object) -> dict[str, str]:
        """Return the ids of this thread's open span, or else the id of a job's trace."""
        here = get_current_span().get_span_context()
        if here.is_valid:
            return {"trace_id": f"{here.trace_id:032x}", "span_id": f"{here.span_id:016x}"}
        run = job_id.partition("/")[0] if isinstance(job_id, str) else ""
        incarnation = self._incarnations.get(run)
        return {} if incarnation is None else {"trace_id": f"{trace_of(incarnation, str(job_id)).trace_id:032x}"}

    def flush(self) -> None:
        """Export what is pending if the receiver answers soon."""
        _within(self._traces.force_flush, self._metrics.force_flush)

    def close(self) -> None:
        """Export what is pending if the receiver answers soon, and end the exporters."""
        _within(self._traces.shutdown, self._metrics.shutdown)

    @contextmanager
    def _span(
        self, name: str, under: Context | None, kind: SpanKind, attributes: Attributes, outcome: Ending
    ) -> Iterator[Ending]:
        # Record only an exception's class, since its text may quote memories.
        with self._tracer.start_as_current_span(
            name, under, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield outcome
            except BaseException as error:
                outcome.error = outcome.error or type(error).__name__
                raise
            finally:
                _finish(span, outcome)

    def _under(self, trace: JobTrace, *, sampled: bool) -> Context:
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        parent = SpanContext(trace.trace_id, trace.span_id, is_remote=True, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(parent), Context())

    def sampled(self, trace: JobTrace) -> bool:
        """Return whether this process samples the trace of a job."""
        return self._traces.sampler.should_sample(None, trace.trace_id, "").decision is Decision.RECORD_AND_SAMPLE


class _Ids:
    """Generates the ids of new spans: those of a job's trace for its first span, random ones for all others."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self._here = threading.local()

    @contextmanager
    def given(self, trace: JobTrace) -> Iterator[None]:
        self._here.trace = trace
        try:
            yield
        finally:
            self._here.trace = None

    def generate_trace_id(self) -> int:
        trace: JobTrace | None = getattr(self._here, "trace", None)
        return int(self._random.generate_trace_id()) if trace is None else trace.trace_id

    def generate_span_id(self) -> int:
        trace: JobTrace | None = getattr(self._here, "trace", None)
        return int(self._random.generate_span_id()) if trace is None else trace.span_id

    def is_trace_id_random(self) -> bool:
        return True


class _Complaints(logging.Handler):
    """Logs OpenTelemetry's complaints as one event a minute, without their text, which may name an address."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said = -SAID_AGAIN

    @classmethod
    def install(cls) -> None:
        """Handle what OpenTelemetry logs in this process from now on; its threads may outlive its exporters."""
        theirs = logging.getLogger("opentelemetry")
        if not any(isinstance(handler, cls) for handler in theirs.handlers):
            theirs.addHandler(cls())
            theirs.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now - self._said >= SAID_AGAIN:
            self._said = now
            log.warning("telemetry.not_exported", at=record.name)


def _named(service: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the attribute with the service's name; empty if the variables give one, which it would override."""
    given = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {} if given else {"service.name": service}


def _finish(span: Span, outcome: Outcome) -> None:
    span.set_attributes(outcome.attributes)
    if outcome.error:
        span.set_attribute("error.type", outcome.error)
        span.set_status(StatusCode.ERROR)


def _within(*steps: Callable[[], object]) -> None:
    """Run steps that may wait for a receiver, but wait only `FLUSH_WITHIN` seconds for them."""

    def work() -> None:
        for step in steps:
            step()

    thread = threading.Thread(target=work, name="telemetry-flush", daemon=True)
    thread.start()
    thread.join(FLUSH_WITHIN)
