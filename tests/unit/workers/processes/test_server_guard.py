"""The guard of an embedded server that refuses to shut down: nobody waits for it."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from cogitate.workers.processes import server_guard
from tests.patience import LONGEST


class Stubborn:
    """A server whose disk is full: it answers, refuses to shut down, and leaves every connection open."""

    def __init__(self, address: Path) -> None:
        self.refused = threading.Event()
        self._open: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(address))
        self._listening.listen()
        self._answering: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def end(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        for one in self._open:
            with suppress(OSError):  # whoever was connected has gone
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._answering:
            thread.join()
        for one in (self._listening, *self._open):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listening.accept()
            except OSError:
                return
            self._open.append(here)
            self._answering.append(threading.Thread(target=self._answer, args=(here,)))
            self._answering[-1].start()

    def _answer(self, here: socket.socket) -> None:
        with suppress(ConnectionError):  # the guard was killed in the midst of it
            while said := here.recv(100):
                if said.startswith(b"INFO"):
                    here.sendall(b"$22\r\nconnected_clients:1\r\n\r\n")
                else:
                    here.sendall(b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n")
                    self.refused.set()


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[Stubborn]:
    server = Stubborn(tmp_path / "server.sock")
    yield server
    server.end()


def test_a_server_that_refuses_to_shut_down_keeps_no_start_waiting(
    tmp_path: Path, stubborn: Stubborn, eventually: Callable[..., None]
) -> None:
    record = tmp_path / "server.json"
    record.write_text("{}")
    with ExitStack() as opened:
        lock, users = (opened.enter_context((tmp_path / name).open("ab")) for name in ("lock", "users"))
        server = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        server.connect(str(tmp_path / "server.sock"))
        handed = [file.fileno() for file in (lock, users, server)]
        guard = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                server_guard.__file__,
                *map(str, handed),
                str(record),
                str(tmp_path / "server.sock"),
            ],
            stdin=subprocess.DEVNULL,
            pass_fds=handed,
        )
    try:
        assert stubborn.refused.wait(LONGEST)

        def unlocked() -> bool:
            with (tmp_path / "lock").open("ab") as ours:
                try:
                    fcntl.flock(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
            return True

        eventually(unlocked, "the lock of start and stop")
        assert guard.poll() is None, "it goes on watching"
        assert record.exists()
        stubborn.refused.clear()
        assert stubborn.refused.wait(LONGEST), "it asks again"
    finally:
        guard.kill()
        guard.wait()


def test_it_waits_for_the_end_of_its_host_alone(
    tmp_path: Path, stubborn: Stubborn, eventually: Callable[..., None]
) -> None:
    with ExitStack() as opened:
        lock, users = (opened.enter_context((tmp_path / name).open("ab")) for name in ("lock", "users"))
        server = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        server.connect(str(tmp_path / "server.sock"))
        handed = [file.fileno() for file in (lock, users, server)]
        command = [sys.executable, "-I", "-S", server_guard.__file__, *map(str, handed), str(tmp_path / "server.json")]
        guard = subprocess.Popen(
            [*command, str(tmp_path / "server.sock")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=handed,
        )
    with guard:
        try:
            assert guard.stdin is not None
            guard.stdin.close()  # as the end of the host does; what the guard would read elsewhere is not there
            eventually(lambda: stubborn.refused.is_set() or guard.poll() is not None, "a look at the server")
            assert stubborn.refused.is_set()
        finally:
            guard.kill()


class Obedient:
    """A server that says how many are connected, and ends when it is told to."""

    def __init__(self, address: Path, *clients: int | None, refuses: int = 0) -> None:
        self.clients = list(clients)  # as it says each time it is asked, the last ever after; None: it does not answer
        self.refuses = refuses  # to shut down, so often
        self.ended = False
        self._address = address
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(address))
        self._listening.listen()
        self._here = self._listening  # until somebody connects
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        for one in (self._listening, self._here):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(LONGEST)

    def _serve(self) -> None:
        while not self.ended:
            try:
                here, _ = self._listening.accept()
            except OSError:
                return
            self._here = here
            with here:
                while not self.ended and (said := here.recv(100)):
                    if said.startswith(b"INFO"):
                        number = self.clients.pop(0) if len(self.clients) > 1 else self.clients[0]
                        if number is not None:
                            here.sendall(b"$22\r\nconnected_clients:%d\r\n\r\n" % number)
                    elif self.refuses:
                        self.refuses -= 1
                        here.sendall(b"-ERR cannot write\r\n")
                    else:
                        self._address.unlink()
                        self.ended = True


class Guard:
    """A guard in this process whose clock and looks a test is told of."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.record, self.address = folder / "server.json", folder / "socket" / "server.sock"
        self.record.write_text("{}")
        self.address.parent.mkdir()
        self.now, self.pauses = 1_000.0, list[float]()
        self.between: Callable[[], object] = lambda: None  # two looks
        self._made: list[socket.socket] = []
        monkeypatch.setattr(server_guard, "time", self)
        monkeypatch.setattr(server_guard, "socket", SimpleNamespace(**{**vars(socket), "socket": self._socket}))
        monkeypatch.setattr(os, "read", lambda *_: b"")

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert not self.locked("lock"), "start and stop go on meanwhile"
        self.pauses.append(seconds)
        assert len(self.pauses) < 50
        self.between()

    def locked(self, name: str) -> bool:
        with (self.folder / name).open("ab") as ours:
            return server_guard._locked(ours.fileno())

    def _socket(self, *args: int, **named: int) -> socket.socket:
        self._made.append(socket.socket(*args, **named))
        return self._made[-1]

    def watch(self) -> None:
        with ExitStack() as opened:
            opened.callback(lambda: [one.close() for one in self._made])  # a guard of its own process just ends
            lock, users = (opened.enter_context((self.folder / name).open("ab")) for name in ("lock", "users"))
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.connect(str(self.address))
            server_guard.main(lock.fileno(), users.fileno(), server.detach(), str(self.record), str(self.address))
            assert self.locked("lock"), "until it has ended: who starts then finds a server or none"


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guard:
    return Guard(tmp_path, monkeypatch)


def test_an_unused_server_is_shut_down_and_its_record_removed(guard: Guard) -> None:
    server = Obedient(guard.address, 1)
    guard.watch()
    server.close()
    assert (server.ended, guard.pauses, guard.record.exists()) == (True, [], False)
    assert not guard.address.parent.exists(), "the folder of a socket goes with it"
    assert guard.folder.exists()


def test_while_others_use_it_a_server_lives(guard: Guard) -> None:
    server = Obedient(guard.address, 1)
    with (guard.folder / "users").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_SH)

        def leave() -> None:
            assert not server.ended
            guard.now += 1_000.0
            if len(guard.pauses) == 3:
                fcntl.flock(other, fcntl.LOCK_UN)

        guard.between = leave
        guard.watch()
    server.close()
    assert (server.ended, guard.pauses) == (True, [server_guard.LOOK_EVERY] * 3)


def test_clients_are_given_time_to_leave_of_themselves(guard: Guard) -> None:
    server = Obedient(guard.address, 3, 3, 2, 2, 1)  # it is asked twice at each look
    guard.watch()
    server.close()
    assert (server.ended, len(guard.pauses)) == (True, 2)


def test_a_server_that_does_not_list_its_clients_stays_up(guard: Guard) -> None:
    server = Obedient(guard.address, None, None, 1)
    guard.watch()
    server.close()
    assert (server.ended, guard.pauses) == (True, [server_guard.LOOK_EVERY])


def test_a_refused_shutdown_is_repeated_a_little_later(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_guard, "SHUT_DOWN_WITHIN", 3_600.0)
    server = Obedient(guard.address, 1, refuses=2)
    guard.between = lambda: guard.record.read_text()  # it is still there
    guard.watch()
    server.close()
    assert (server.ended, guard.pauses, guard.record.exists()) == (True, [2.0, 2.0], False)


def test_clients_that_do_not_leave_are_left_after_some_minutes(guard: Guard) -> None:
    server = Obedient(guard.address, 2)

    def later() -> None:
        assert not server.ended
        guard.now += 100.0

    guard.between = later
    guard.watch()
    server.close()
    assert (server.ended, len(guard.pauses)) == (True, 4), "300 s are not yet more than is waited for"


def test_the_guard_ends_with_its_server(guard: Guard) -> None:
    server = Obedient(guard.address, 2)

    def end() -> None:
        server.ended = True
        server.close()

    guard.between = end
    guard.watch()
    assert guard.record.exists(), "it may be that of the next server"


class Connection:
    """A connection to a server that says these things, one after the other, and then closes it."""

    def __init__(self, *says: bytes | OSError) -> None:
        self.says, self.told, self.patience = list(says), b"", 0.0

    def settimeout(self, seconds: float) -> None:
        self.patience = seconds

    def sendall(self, data: bytes) -> None:
        self.told += data

    def recv(self, size: int) -> bytes:
        said = self.says.pop(0) if self.says else b""
        if isinstance(said, OSError):
            raise said
        return said


@pytest.mark.parametrize(
    ("says", "is_down"),
    [
        ((), True),
        ((b"+OK\r\n",), True),
        ((b"+OK\r\n", b"-ERR"), False),
        ((b"-ERR Errors",), False),
        ((TimeoutError(),), False),
        ((b"+OK\r\n", TimeoutError()), False),
        ((ConnectionResetError(),), True),
    ],
)
def test_a_server_is_down_once_it_has_closed_the_connection_and_did_not_refuse(
    says: tuple[bytes | OSError, ...], is_down: bool
) -> None:
    connection = Connection(*says)
    assert server_guard._shut_down(connection) is is_down  # type: ignore[arg-type]
    assert (connection.told, connection.patience) == (b"SHUTDOWN\r\n", server_guard.SHUT_DOWN_WITHIN)
