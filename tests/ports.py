"""Ports that nobody listens on, for the programs that a test starts.

A port that the system has just given away may be anybody's again before a program binds it: the system hands out the
ports of its own range to every connection that is made. Whoever connects again and again to a port of that range can
even be given that port and meet itself. So these come from below that range, where only who asks by number is served,
and each process of a test run has ports of its own.
"""

from __future__ import annotations

import itertools
import os
import socket
from pathlib import Path

FIRST = int(os.environ.get("TEST_PORTS_FROM", "10000"))  # runs beside each other can be kept apart
EACH = 2_000  # ports of each process of a test run
BLOCK = 10  # ports that are looked for together
BLOCKED = 10_080  # the only port from FIRST on that browsers refuse to open (the Fetch standard's "bad port")
_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")

_blocks = itertools.count(os.getpid())  # two runs of tests on one machine seldom look for the same


def free_ports(count: int = 1) -> int:
    """Return the first of so many free ports in a row, at most ten.

    Raises:
        RuntimeError: when there are none among those of this process.
    """
    start = FIRST + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) * EACH
    if count > BLOCK or start + EACH > _first_of_the_system():
        raise RuntimeError(f"no {count} ports from {start} on are below those that the system gives away")
    for _ in range(EACH // BLOCK):
        first = start + next(_blocks) * BLOCK % EACH
        ports = range(first, first + count)
        if BLOCKED not in ports and all(map(_is_free, ports)):
            return first
    raise RuntimeError(f"ports {start} to {start + EACH - 1} have no {count} free ones in a row")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: no waiting for old connections
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _first_of_the_system() -> int:
    """Return the first port that the system gives away itself; IANA's where it does not say."""
    return int(_SYSTEM.read_text().split()[0]) if _SYSTEM.exists() else 49_152
