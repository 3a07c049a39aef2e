"""Keeping the embedded server alive, whatever starting it again meets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from cogitate.workers.processes import server_keeper
from cogitate.workers.processes.embedded import EmbeddedServerError
from cogitate.workers.processes.server_keeper import ServerKeeper


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


def test_a_failed_start_is_repeated(monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]) -> None:
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


class Stopping:
    """The end of a keeper, after so many waits."""

    def __init__(self, waits: int) -> None:
        self.waits, self.waited = waits, list[float]()

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return len(self.waited) > self.waits


def kept(monkeypatch: pytest.MonkeyPatch, *lived: float, waits: int = 99) -> tuple[list[float], list[str]]:
    """The delays before each start, and what was logged, where a server dies so many seconds after each start."""
    times = [10.0]
    for seconds in lived:
        times += [times[-1] + seconds, times[-1] + seconds]  # its death, and the next birth
    clock = iter(times)
    monkeypatch.setattr(server_keeper, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    server: Any = SimpleNamespace(
        alive=lambda: False, log_tail=lambda: "said", data_dir=Path("data"), revive=lambda: None
    )
    keeper, stopping = ServerKeeper(server), Stopping(waits)
    keeper._stopping = stopping  # type: ignore[assignment]
    with capture_logs() as logs:
        keeper._keep()
    assert keeper.given_up == (logs[-1]["event"] == "server.given_up")
    assert all(entry["data_dir"] == "data" and entry["said"] == "said" for entry in logs)
    return [seconds for seconds in stopping.waited if seconds != 0.25], [entry["event"] for entry in logs]


def test_each_quick_death_doubles_the_delay_and_the_sixth_in_a_row_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    delays, told = kept(monkeypatch, *[1.0] * 6)
    assert delays == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert told == ["server.restarted"] * 5 + ["server.given_up"]


def test_a_server_that_lived_for_more_than_half_a_minute_starts_with_a_clean_slate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert kept(monkeypatch, 1.0, 1.0, 30.0, 30.5, 1.0, waits=10)[0] == [0.2, 0.4, 0.8, 0.2, 0.4]


def test_a_keeper_that_is_to_stop_starts_no_server_again(monkeypatch: pytest.MonkeyPatch) -> None:
    delays, told = kept(monkeypatch, 1.0, waits=1)
    assert (delays, told) == ([0.2], ["server.restarted"])
