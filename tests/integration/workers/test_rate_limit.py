"""A limit of requests per minute across worker processes, with a server that enforces it."""

from __future__ import annotations

from pathlib import Path

from bench.worker.rate_limit import WORKERS, measure


def test_three_workers_keep_a_limit_that_makes_them_wait(tmp_path: Path) -> None:
    # `python -m bench` measures how fully three processes use the limit, which depends on the machine.
    # `test_gate_enter` checks on a frozen clock that callers wait for consecutive places.
    kept = measure(600, 20.0, tmp_path / "data", delayed=10)  # ten is one second's requests
    assert kept.refused == 0
    assert 0 < kept.accepted <= kept.allowed
    assert kept.vitals.failures == {}
    assert kept.vitals.requests == kept.allowed + WORKERS  # one for each job
    assert kept.vitals.waits > 0
