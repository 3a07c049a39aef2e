"""Verdicts on endpoints from the failures of their calls."""

from __future__ import annotations

import pytest

from cogitate.ops.fake_llm.server import RequestLimit, too_many
from cogitate.workers.gate.endpoint_reports import WHAT_TO_CHECK, verdict_of
from cogitate.workers.llm.replies.failures import FAILURE_KINDS, Failure, FailureKind

NETWORK = {"connection", "dns", "tls", "proxy", "blocked"}
SPEAK = {*NETWORK, "timeout", "server", "no_completion"}
REFUSALS = {"auth", "forbidden", "quota_exhausted", "model_missing", "bad_request", "filtered", "too_large"}

SILENT = {"unsupported", "no_time"}


@pytest.mark.parametrize("kind", FAILURE_KINDS)
def test_each_failure_kind_has_a_verdict(kind: FailureKind) -> None:
    expected = "failing" if kind in SPEAK else "fine"
    expected = "limited" if kind in ("rate_limited", "overloaded") else expected
    expected = "refused" if kind in REFUSALS else "silent" if kind in SILENT else expected
    assert verdict_of(Failure(kind=kind, status=400)) == expected


def test_a_requested_pause_teaches_nothing() -> None:
    assert verdict_of(Failure(kind="rate_limited", retry_after=2.0)) == "silent"
    assert verdict_of(Failure(kind="filtered")) == "fine", "the model answered, and was stopped"
    assert verdict_of(None) == "fine"


def test_failures_that_only_settings_mend_name_the_setting() -> None:
    of_endpoints = {"auth", "forbidden", "quota_exhausted", "model_missing", "no_completion"}
    assert set(WHAT_TO_CHECK) == of_endpoints | NETWORK - {"connection"}


@pytest.mark.parametrize(("burst", "accepted"), [(0, [0.0, 1.0, 3.0, 4.5]), (1, [0.0, 0.5, 1.0, 3.0, 3.5, 4.5])])
def test_the_stand_in_enforces_its_limit(burst: int, accepted: list[float]) -> None:
    limit = RequestLimit(60, burst)
    assert [at for at in (0.0, 0.5, 0.9, 1.0, 3.0, 3.5, 3.9, 4.5) if not limit.early(at)] == accepted


@pytest.mark.parametrize(("per_minute", "burst"), [(None, 0), (60, 1)])
def test_simultaneous_requests_may_be_read_in_any_order(per_minute: int | None, burst: int) -> None:
    limit = RequestLimit(per_minute, burst)
    assert [limit.early(came) for came in (7.002, 7.001)] == [0.0, 0.0]


def test_it_states_when_to_retry() -> None:
    assert dict(too_many(0.0021).headers) == {"Retry-After": "1", "retry-after-ms": "3"}
