"""A limit of requests a minute, across worker processes, against a server that enforces it."""

from __future__ import annotations

from pathlib import Path

from bench.worker.rate_limit import measure


def test_three_workers_use_a_limit_and_never_pass_it(tmp_path: Path) -> None:
    kept = measure(600, 20.0, tmp_path / "data", delayed=10)  # a second's requests
    assert kept.refused == 0
    assert kept.least <= kept.accepted <= kept.allowed
    assert kept.vitals.failures == {}
    assert kept.vitals.waits > kept.allowed / 2
