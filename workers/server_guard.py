"""Stops the embedded server of a folder once nobody uses it any more, also when its last user was killed.

A process of its own that loads nothing of the product: `python -I -S server_guard.py`, with a pipe as its standard
input whose other end only the process holds that started the server. When that one is gone, however it ended, the
guard looks whether other processes use the server (they hold a lock that the kernel takes from the dead). If none does,
it lets workers report what they have in hand, and shuts the server down.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import sys
import time
from pathlib import Path

LOOK_EVERY = 0.25  # seconds
PATIENCE = 300.0  # seconds for clients to leave of themselves: a worker without a host ends within its job's deadline
SILENT, GONE = 0, -1  # instead of a number of clients
CLIENTS = re.compile(rb"connected_clients:(\d+)\r\n")


def main(lock: int, users: int, connection: int, record: str, address: str) -> None:
    """Wait for the end of who started this, then for that of the server.

    The first three are descriptors, open from the beginning: the folder of a host that was killed may be gone at once.

    Args:
        lock: of the file that is locked while the server is started or stopped.
        users: of the file that all who use the server have locked.
        connection: to the server.
        record: the file that says where the server is.
        address: the server's socket.
    """
    server: socket.socket | None = socket.socket(fileno=connection)
    while os.read(0, 1):
        pass
    alone_since: float | None = None
    while True:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if server is None or _clients(server) == GONE:
            server = _connected(address)
        if server is None:
            return
        if _locked(users):
            alone_since = None
        else:
            alone_since = alone_since or time.monotonic()
            clients, late = _clients(server), time.monotonic() - alone_since > PATIENCE
            if clients == 1 or (clients > 1 and late):
                _shut_down(server)
                Path(record).unlink(missing_ok=True)
                if Path(address).parent != Path(record).parent:
                    with contextlib.suppress(OSError):
                        Path(address).parent.rmdir()
                return
        fcntl.flock(lock, fcntl.LOCK_UN)
        time.sleep(LOOK_EVERY)  # between two looks


def _locked(users: int) -> bool:
    """Return whether another process has the file locked."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(users, fcntl.LOCK_UN)
    return False


def _connected(address: str) -> socket.socket | None:
    """Return a connection to the server; None when it is gone."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.connect(address)
    except OSError:
        found.close()
        return None
    return found


def _clients(server: socket.socket) -> int:
    """Return how many are connected, this one included; `SILENT` when the server does not say, `GONE` when it is."""
    server.settimeout(LOOK_EVERY)
    said = b""
    try:
        server.sendall(b"INFO clients\r\n")
        while not (found := CLIENTS.search(said)):
            received = server.recv(4096)
            if not received:
                return GONE
            said = (said + received)[-4096:]
    except TimeoutError:
        return SILENT
    except OSError:
        return GONE
    return int(found[1])


def _shut_down(server: socket.socket) -> None:
    """Return when the server has closed the connection, which it does once everything is on disk."""
    server.settimeout(None)
    with contextlib.suppress(OSError):
        server.sendall(b"SHUTDOWN\r\n")
        while server.recv(4096):
            pass


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
