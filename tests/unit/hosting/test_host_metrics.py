"""What a host counts of its ticks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.hosting.metrics import HostMetrics
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.tasks.job import JobKey


def test_a_failing_export_of_the_journal_is_reported_until_it_succeeds() -> None:
    stuck = True
    metrics = HostMetrics(FakeRedis(), "town", lambda: stuck)
    assert metrics.registry.get_sample_value("cogitate_journal_unexported", {"run": "town"}) == 1
    stuck = False
    assert metrics.registry.get_sample_value("cogitate_journal_unexported", {"run": "town"}) == 0


@pytest.mark.parametrize(
    ("end", "failure", "label"),
    [
        ("applied", "rate_limited", "rate_limited"),
        ("applied", "", ""),
        ("stale", "plan item 7-0 is over", "unmet"),
        ("applied", "whatever somebody wrote into Redis", "other"),
    ],
)
def test_the_failure_label_has_bounded_cardinality(end: Any, failure: str, label: str) -> None:
    metrics = HostMetrics(FakeRedis(), "town")
    key = JobKey(1, "plan", "agent:ada", 0, 0)
    core = SimpleNamespace(ended=[Ended(key=key, end=end)], decided=[])
    notes = [EndNote(key=key, source="heuristic", failure=failure)]
    outcome: Any = SimpleNamespace(core=core, notes=SimpleNamespace(ended=notes))
    metrics.committed(1, outcome, 0.001)
    labels = {
        sample.labels["failure"]
        for metric in metrics._ended.collect()
        for sample in metric.samples
        if sample.name == "cogitate_jobs_total"
    }
    assert labels == {label}
