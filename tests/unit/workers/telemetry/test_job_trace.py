"""The ids of a job's trace, the header that hands them on, and when anything is exported."""

from __future__ import annotations

import pytest

from cogitate.workers.telemetry.exporting import exported_signals
from cogitate.workers.telemetry.job_trace import sampled_of, trace_of

JOB = "town/420/plan/agent:ada/0/0"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


def test_each_job_of_each_run_has_a_separate_trace() -> None:
    ids = [
        trace_of(incarnation, job)
        for incarnation in ("one", "other")
        for job in (JOB, "town/420/plan/agent:ben/0/0", "town/420/plan/agent:ada/0/1")
    ]
    assert len({trace.trace_id for trace in ids}) == len({trace.span_id for trace in ids}) == 6
    assert trace_of("one", JOB) == ids[0], "the same in every process"


def test_the_header_is_that_of_w3c_trace_context() -> None:
    trace = trace_of("one", JOB)
    version, trace_id, span_id, flags = trace.traceparent(sampled=True).split("-")
    assert (version, flags) == ("00", "01")
    assert (len(trace_id), len(span_id)) == (32, 16)
    assert (int(trace_id, 16), int(span_id, 16)) == trace


@pytest.mark.parametrize("sampled", [True, False])
def test_a_header_says_whether_its_trace_is_recorded(sampled: bool) -> None:
    trace = trace_of("one", JOB)
    assert sampled_of(trace.traceparent(sampled=sampled), trace) is sampled


@pytest.mark.parametrize(
    "header",
    [
        None,
        7,
        "",
        "00-x",
        trace_of("one", JOB).traceparent(sampled=True) + "\n",
        trace_of("one", JOB).traceparent(sampled=True).upper(),
        trace_of("an earlier run of this name", JOB).traceparent(sampled=True),
    ],
)
def test_a_header_of_another_trace_is_ignored(header: object) -> None:
    assert sampled_of(header, trace_of("one", JOB)) is None


@pytest.mark.parametrize(
    ("variables", "signals"),
    [
        ({}, set()),
        (ENDPOINT, {"traces", "metrics"}),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, {"traces"}),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://localhost:4318/v1/metrics"}, {"metrics"}),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "True"}, set()),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, {"metrics"}),
        (ENDPOINT | {"OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "otlp"}, {"traces"}),
        ({"OTEL_SERVICE_NAME": "town", "OTEL_EXPORTER_OTLP_ENDPOINT": ""}, set()),
    ],
)
def test_opentelemetry_variables_choose_the_exported_signals(variables: dict[str, str], signals: set[str]) -> None:
    assert exported_signals(variables) == signals
