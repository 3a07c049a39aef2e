"""The guard of an embedded server, which outlives its host for a moment."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from typing import Any

import pytest

from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.workers.processes import embedded as module
from cogitate.workers.processes import server_guard
from cogitate.workers.processes.embedded import EmbeddedServer, EmbeddedServerError
from tests.unit.workers.embedded.embedded_case import Process, Started


def test_a_guard_that_lives_is_not_started_again(server: EmbeddedServer) -> None:
    guard: Any = Process()
    module._guards[server.data_dir] = guard
    server._start_guard()
    assert module._guards == {server.data_dir: guard}


@pytest.mark.parametrize("before", [False, True])
def test_a_guard_is_handed_the_locks_and_a_connection_and_ends_with_its_host(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    ended: Any = Process()
    ended.returncode = 0
    if before:
        module._guards[server.data_dir] = ended
    started = Started(server, monkeypatch)
    seen: list[Any] = []
    start = started.start

    def handed(command: list[str], **how: Any) -> Process:
        seen.extend(os.fstat(number) for number in how["pass_fds"])
        return start(command, **how)

    monkeypatch.setattr(subprocess, "Popen", handed)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(server.socket))
        listening.listen()
        server._start_guard()
        listening.accept()[0].close()
    (guard,) = started.processes
    assert module._guards == {server.data_dir: guard}
    lock, users, connection = seen
    assert lock.st_ino == (server.data_dir / "server.lock").stat().st_ino
    assert users.st_ino == (server.data_dir / "server.users").stat().st_ino
    assert stat.S_ISSOCK(connection.st_mode)
    interpreter, isolated, bare, program, *named = guard.command
    assert (interpreter, isolated, bare) == (sys.executable, "-I", "-S")
    assert program == server_guard.__file__
    assert named == [*map(str, guard.how["pass_fds"]), str(server.data_dir / SERVER_FILE), str(server.socket)]
    how = guard.how
    assert (how["stdin"], how["stdout"], how["stderr"]) == (subprocess.PIPE, subprocess.DEVNULL, subprocess.DEVNULL)
    assert (how["cwd"], how["start_new_session"]) == ("/", True)


def test_a_guard_that_cannot_start_raises_an_error_with_advice(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(server, "_start_guard", lambda: started.append("guard"))
    server._guard()
    assert started == ["guard"]

    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(server, "_start_guard", full)
    with pytest.raises(EmbeddedServerError, match=r"cannot be started: .*No space left.*; .*COGITATE_REDIS_URL"):
        server._guard()
