"""The end of an embedded server: who stops it, and what goes with it."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as Away
from redis.exceptions import TimeoutError as Silent
from structlog.testing import capture_logs

from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.workers.processes import embedded as module
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.unit.workers.embedded.embedded_case import Clock, Process, answers


def in_use(server: EmbeddedServer) -> None:
    server._users = (server.data_dir / "server.users").open("ab")


def test_stopping_without_a_start_does_nothing(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_shut_down", lambda: pytest.fail("it is not ours"))
    server.stop()


def test_the_last_user_shuts_a_server_down(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(server, "_shut_down", lambda: ended.append("server"))
    in_use(server)
    other = EmbeddedServer(server.data_dir)
    in_use(other)
    fcntl.flock(other._users, fcntl.LOCK_SH)  # type: ignore[arg-type]
    users = server._users
    server.stop()
    assert (ended, server._users) == ([], None)
    assert users is not None
    assert users.closed
    monkeypatch.setattr(other, "_shut_down", lambda: ended.append("server"))
    other.stop()
    other.stop()
    assert ended == ["server"]


def test_a_server_that_is_gone_leaves_no_guard_and_no_record(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    done = answers(server, monkeypatch, None, None, None, Away("refused"))
    child, guard = Process(), Process()
    child.returncode = 0
    processes: Any = {server.data_dir: child}
    guards: Any = {server.data_dir: guard}
    monkeypatch.setattr(module, "_children", processes)
    monkeypatch.setattr(module, "_guards", guards)
    (server.data_dir / SERVER_FILE).write_text("{}")
    server._shut_down()
    assert done[:2] == ["closed", "shutdown"], "it answered before"
    assert guard.done == ["kill", "communicate"]
    assert (processes, guards, (server.data_dir / SERVER_FILE).exists()) == ({}, {}, False)
    assert server.data_dir.exists()


def test_the_folder_of_a_socket_goes_with_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedServer(tmp_path / "run")
    server.socket = tmp_path / "elsewhere" / "server.sock"
    server._make_folders()
    answers(server, monkeypatch, Away("refused"))
    server._shut_down()
    assert (server.data_dir.exists(), server.socket.parent.exists()) == (True, False)


def test_a_server_that_does_not_end_is_reported_after_half_a_minute(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    answers(server, monkeypatch, None)
    server.pid = 42
    (server.data_dir / SERVER_FILE).write_text("{}")
    with capture_logs() as logs:
        server._shut_down()
    assert [(log["event"], log["pid"], log["log_level"]) for log in logs] == [("server.unstoppable", 42, "error")]
    assert clock.now == pytest.approx(30, abs=0.1)
    assert (server.data_dir / SERVER_FILE).exists(), "the next start finds it"


def test_a_server_that_does_not_answer_is_left_to_its_guard(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    done = answers(server, monkeypatch, Silent("no answer"))
    guard = Process()
    guards: Any = {server.data_dir: guard}
    monkeypatch.setattr(module, "_guards", guards)
    server.pid = 42
    (server.data_dir / SERVER_FILE).write_text("{}")
    with capture_logs() as logs:
        server._shut_down()
    assert [(log["event"], log["pid"], log["log_level"]) for log in logs] == [("server.left_silent", 42, "warning")]
    assert (done, guard.done, clock.now) == (["closed"], [], 0.0)
    assert (server.data_dir / SERVER_FILE).exists(), "the next start finds it"


def test_a_child_process_lives_until_it_has_ended(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    child: Any = Process()
    module._children[server.data_dir] = child
    monkeypatch.setattr(server, "_state", lambda: "absent")
    assert server.alive()
    child.returncode = 0
    assert not server.alive()
    monkeypatch.setattr(server, "_state", lambda: "ready")
    assert server.alive(), "another process has started one"
    said = iter(["absent", "loading", "absent", "absent"])
    monkeypatch.setattr(server, "_state", lambda: next(said))
    assert [server.alive(), server.alive()] == [True, False], "an operator may cut off one client"


def test_a_server_that_is_used_in_a_block_is_stopped_after_it(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(server, "start", lambda: (done.append("start"), server)[1])
    monkeypatch.setattr(server, "stop", lambda: done.append("stop"))
    with server as used:
        done.append("used")
    assert (used, done) == (server, ["start", "used", "stop"])
