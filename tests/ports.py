"""Ports that nobody listens on."""

from __future__ import annotations

import socket
from contextlib import closing


def free_ports(count: int) -> int:
    """Return the first of so many free ports in a row."""
    while True:
        with closing(socket.socket()) as first:
            first.bind(("127.0.0.1", 0))
            start: int = first.getsockname()[1]
            if start + count > 65_000:
                continue
            try:
                for port in range(start + 1, start + count):
                    with closing(socket.socket()) as other:
                        other.bind(("127.0.0.1", port))
            except OSError:
                continue
            return start
