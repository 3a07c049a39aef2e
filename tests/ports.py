"""Free ports for the programs that a test starts.

A port from the system's ephemeral range is not reserved: the system may give it to any outgoing connection before the
program binds it. A client that keeps reconnecting to a port of that range can even be given that port as its own and
connect to itself. So these ports lie below the ephemeral range, where a port is used only by number, and each test
process has ports of its own.
"""

from __future__ import annotations

import itertools
import os
import socket
from pathlib import Path

FIRST = int(os.environ.get("TEST_PORTS_FROM", "10000"))  # configurable to keep concurrent test runs apart
EACH = 2_000  # ports per test process
BLOCK = 10  # ports probed together
BLOCKED = 10_080  # the only port above FIRST that browsers refuse to open (a "bad port" of the Fetch standard)
_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")

_blocks = itertools.count(os.getpid())  # so that two test runs on one machine rarely probe the same block


def free_ports(count: int = 1) -> int:
    """Return the first of `count` consecutive free ports; `count` is at most ten.

    Raises:
        RuntimeError: this process's range has no such ports.
    """
    start = FIRST + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) * EACH
    if count > BLOCK or start + EACH > _first_of_the_system():
        raise RuntimeError(f"the range from {start} has no {count} ports below the system's ephemeral range")
    for _ in range(EACH // BLOCK):
        first = start + next(_blocks) * BLOCK % EACH
        ports = range(first, first + count)
        if BLOCKED not in ports and all(map(_is_free, ports)):
            return first
    raise RuntimeError(f"no {count} consecutive ports from {start} to {start + EACH - 1} are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like servers: do not wait for old connections
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _first_of_the_system() -> int:
    """Return the first port of the system's ephemeral range, or of IANA's if the system does not name one."""
    return int(_SYSTEM.read_text().split()[0]) if _SYSTEM.exists() else 49_152
