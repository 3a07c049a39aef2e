"""A wall clock that jumps: leases, due ticks and budget windows do not depend on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.faults.attacked import AGENTS, Attacked, Eventually, settings_of

DAY = 86_400


def test_a_run_ignores_jumps_of_the_wall_clock(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check hosts and workers; the server's clock does not matter either, since no key of ours expires."""
    clock = tmp_path / "clock"
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "shifted_clock"))
    monkeypatch.setenv("SHIFTED_CLOCK", str(clock))
    with Attacked(settings_of(tmp_path, endpoint), eventually) as town:
        town.ready()
        endpoint.hold()
        host = town.host()
        endpoint.wait_for_request(AGENTS)
        for shift in (DAY, -DAY, 0):
            before = town.beats()
            clock.write_text(str(shift))
            eventually(lambda before=before: town.beats() >= before + 4, "workers to beat on")
        endpoint.release()
        town.ends_as(digest, host)
        assert town.attempts() == 1
