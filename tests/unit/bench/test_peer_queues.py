"""Other queues beside which the product is measured: those that are installed, and no others."""

from __future__ import annotations

import pytest

from bench.peers import queue


def test_missing_peers_are_reported_and_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked_for: list[str] = []
    monkeypatch.setattr(queue, "find_spec", looked_for.append)
    with queue.open_queues("redis://localhost:1/1") as queues:
        assert queues == {}
    assert looked_for == ["dramatiq", "taskiq_redis", "bullmq"]
    assert capsys.readouterr().err.splitlines() == [
        f"{name} is not installed, so it is skipped: pip install '.[bench]'"
        for name in ("Dramatiq", "taskiq", "BullMQ")
    ]


@pytest.mark.parametrize("results", [True, False])
def test_a_worker_receives_its_server_and_result_setting(monkeypatch: pytest.MonkeyPatch, results: bool) -> None:
    environment = queue.queue_environment("redis://localhost:1/2", results=results)
    for name in (queue.URL, queue.RESULTS):
        monkeypatch.setenv(name, environment[name])
    assert queue.asked_queue() == ("redis://localhost:1/2", results)
