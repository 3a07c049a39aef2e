"""The failures that may be a label of a metric: a closed set."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cogitate.workers.jobs.metrics import FAILURE_CLASSES, OTHER, failure_class
from tests.repository import ROOT

CLASSES = {
    "",
    "connection",
    "timeout",
    "no_time",
    "auth",
    "forbidden",
    "quota_exhausted",
    "model_missing",
    "unsupported",
    "bad_request",
    "conflict",
    "dns",
    "tls",
    "proxy",
    "blocked",
    "rate_limited",
    "server",
    "overloaded",
    "context_overflow",
    "filtered",
    "refused",
    "truncated",
    "empty",
    "not_json",
    "wrong_schema",
    "no_completion",
    "too_large",
    "unusable",
    "breaker_open",
    "rate_limited_here",
    "no_slot",
    "gate_away",
    "stopping",
    "real_day_spent",
    "real_day_away",
    "real_day_unpriced",
    "experiment_spent",
    "unknown_endpoint",
    "prompt_too_long",
    "prompt_failed",
    "asking_failed",
    "effects_refused",
    "unmet",
    "other",
}
WRITERS = ("workers/jobs/attempt.py", "workers/jobs/call_layers.py")  # where a job's failure gets its class


def test_the_set_is_closed() -> None:
    assert FAILURE_CLASSES == CLASSES


@given(st.text() | st.sampled_from(sorted(CLASSES)))
@example(":")
@example("unusable:copied")
def test_every_failure_maps_to_a_class(failure: str) -> None:
    assert failure_class(failure) in CLASSES
    kind = failure.partition(":")[0]
    assert failure_class(failure) == (kind if kind in CLASSES and (kind or not failure) else OTHER)


@pytest.mark.parametrize("path", WRITERS)
def test_every_class_that_is_written_out_belongs_to_it(path: str) -> None:
    found = {
        argument.value
        for call in ast.walk(ast.parse(Path(ROOT / path).read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("self._degrade", "Refused")
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value.isidentifier()
    }
    assert found
    assert found <= CLASSES
