"""The guard of an embedded server that refuses to shut down: nobody waits for it."""

from __future__ import annotations

import fcntl
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from workers import server_guard


class Stubborn:
    """A server whose disk is full: it answers, refuses to shut down, and leaves every connection open."""

    def __init__(self, address: Path) -> None:
        self.refused = threading.Event()
        self._open: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(address))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def end(self) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):  # whoever was connected has gone
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listening.accept()
            except OSError:
                return
            self._open.append(here)
            threading.Thread(target=self._answer, args=(here,), daemon=True).start()

    def _answer(self, here: socket.socket) -> None:
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
                sys.executable, "-I", "-S", server_guard.__file__, *map(str, handed), str(record),
                str(tmp_path / "server.sock"),
            ],
            stdin=subprocess.DEVNULL,
            pass_fds=handed,
        )  # fmt: skip
    try:
        assert stubborn.refused.wait(60)

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
        assert stubborn.refused.wait(60), "it asks again"
    finally:
        guard.kill()
        guard.wait()
