"""Other queues beside which publishing is measured: those that are installed, and no others."""

from __future__ import annotations

import pytest

from bench.peers import publishing


def test_peers_that_are_not_installed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []
    monkeypatch.setattr(publishing, "find_spec", looked_for.append)
    with publishing.peer_ways("redis://localhost:1/1") as ways:
        assert ways == {}
    assert looked_for == ["dramatiq", "taskiq_redis", "bullmq"]
