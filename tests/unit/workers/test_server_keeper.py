"""Keeping the embedded server alive, whatever starting it again meets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from workers.processes import server_keeper
from workers.processes.embedded import EmbeddedServerError
from workers.processes.server_keeper import ServerKeeper


class Dead:
    """A server that is dead until a start of it succeeds."""

    data_dir = Path("data")

    def __init__(self, *fails: Exception) -> None:
        self.fails = list(fails)
        self.lives = False

    def alive(self) -> bool:
        return self.lives

    def log_tail(self) -> str:
        return "none"

    def revive(self) -> None:
        if self.fails:
            raise self.fails.pop(0)
        self.lives = True


def test_it_tries_again_whatever_a_start_met(monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]) -> None:
    monkeypatch.setattr(server_keeper, "LOOK_EVERY", 0.001)
    monkeypatch.setattr(server_keeper, "FIRST_DELAY", 0.001)
    server: Any = Dead(
        EmbeddedServerError("it hangs"), OSError(28, "No space left on device"), RedisConnectionError("gone again")
    )
    with capture_logs() as logs, ServerKeeper(server):
        eventually(server.alive, "the server to be started again")
    told = [entry["error"] for entry in logs if entry["event"] == "server.not_restarted"]
    delays = [entry["delay"] for entry in logs if entry["event"] == "server.restarted"]
    assert delays == [0.001, 0.002, 0.004, 0.008]
    assert told == ["it hangs", "[Errno 28] No space left on device", "gone again"]
