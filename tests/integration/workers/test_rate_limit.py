"""A limit of requests a minute, across worker processes, against a server that enforces it."""

from __future__ import annotations

from pathlib import Path

from bench.worker.rate_limit import WORKERS, measure


def test_three_workers_never_pass_a_limit_that_makes_them_wait(tmp_path: Path) -> None:
    # How fully three processes use it depends on the machine: `python -m bench` measures that. That callers wait for
    # consecutive places is held on a clock that stands still (`test_gate_enter`).
    kept = measure(600, 20.0, tmp_path / "data", delayed=10)  # a second's requests
    assert kept.refused == 0
    assert 0 < kept.accepted <= kept.allowed
    assert kept.vitals.failures == {}
    assert kept.vitals.requests == kept.allowed + WORKERS  # each job's
    assert kept.vitals.waits > 0
