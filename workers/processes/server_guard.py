"""A process that stops a folder's embedded server once it has no users left, even if the last one was killed.

It runs without the product: `python -I -S server_guard.py`, with a pipe as its standard input. The process that started
the server, and its forks without exec, hold the other end. Once all of them have exited, for whatever reason, the guard
checks whether other processes use the server: users hold a lock, which the kernel releases when they die. If there are
none, the guard lets workers report their jobs in flight and then shuts the server down.
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
AGAIN_AFTER = 2.0  # seconds after a refused shutdown; each refusal adds a line to the server's log
SHUT_DOWN_WITHIN = 30.0  # seconds for the last write to reach the disk
PATIENCE = 300.0  # seconds for clients to leave; a worker without a host exits within its job's deadline
SILENT, GONE = 0, -1  # results of `_clients` in place of a number
CLIENTS = re.compile(rb"connected_clients:(\d+)\r\n")


def main(lock: int, users: int, connection: int, record: str, address: str) -> None:
    """Wait until the process that started this one has exited, then until the server has.

    The first three arguments are open descriptors, because a killed host's folder may be deleted at any moment.

    Args:
        lock: the file that a process locks while it starts or stops the server.
        users: the file that every user of the server locks.
        connection: the connection to the server.
        record: the file with the server's address.
        address: the server's socket.
    """
    server: socket.socket | None = socket.socket(fileno=connection)
    while os.read(0, 1):
        pass
    alone_since: float | None = None
    while True:
        pause = LOOK_EVERY
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
                if _shut_down(server):
                    Path(record).unlink(missing_ok=True)
                    if Path(address).parent != Path(record).parent:
                        with contextlib.suppress(OSError):
                            Path(address).parent.rmdir()
                    return
                server.close()
                server, pause = None, AGAIN_AFTER
        fcntl.flock(lock, fcntl.LOCK_UN)
        time.sleep(pause)  # a poll: Redis does not announce that a client has left


def _locked(users: int) -> bool:
    """Return whether another process holds a lock on the file."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(users, fcntl.LOCK_UN)
    return False


def _connected(address: str) -> socket.socket | None:
    """Return a connection to the server, or None if it is gone."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.connect(address)
    except OSError:
        server.close()
        return None
    return server


def _clients(server: socket.socket) -> int:
    """Return the number of clients, including this one; `SILENT` without an answer, `GONE` without a server."""
    server.settimeout(LOOK_EVERY)
    buffer = b""
    try:
        server.sendall(b"INFO clients\r\n")
        while not (count := CLIENTS.search(buffer)):
            received = server.recv(4096)
            if not received:
                return GONE
            buffer = (buffer + received)[-4096:]
    except TimeoutError:
        return SILENT
    except OSError:
        return GONE
    return int(count[1])


def _shut_down(server: socket.socket) -> bool:
    """Shut the server down; return whether it closed the connection, as it does once everything is on disk.

    A server that cannot write refuses and keeps running; the guard must not wait for it with the start-and-stop lock.
    """
    server.settimeout(SHUT_DOWN_WITHIN)
    try:
        server.sendall(b"SHUTDOWN\r\n")
        while reply := server.recv(4096):
            if reply.startswith(b"-"):
                return False
    except TimeoutError:
        return False
    except OSError:
        pass  # the server has closed the connection already
    return True


if __name__ == "__main__":
    _, lock, users, connection, record, address = sys.argv
    main(int(lock), int(users), int(connection), record, address)
