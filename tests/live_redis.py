"""Empty databases of a real server; each test process has one server.

Every test process imports this module, so it imports the product and redis-py only when a test asks for a database.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tests.patience import LONGEST

if TYPE_CHECKING:
    from redis import Redis

DATABASES = 10_000  # per server; more than the tests of one process use
_next = count()
_started: list[tuple[subprocess.Popen[bytes], Path]] = []


def empty_redis() -> Redis:
    """Return a client of a database that no other test uses."""
    from redis import Redis

    return Redis(unix_socket_path=str(_socket()), db=next(_next))


def stop_server() -> None:
    """Stop this process's server, if there is one."""
    while _started:
        server, folder = _started.pop()
        server.kill()
        server.wait()
        shutil.rmtree(folder)
    _socket.cache_clear()


@cache
def _socket() -> Path:
    """Start the server and return its socket."""
    from redis import Redis
    from redis.backoff import ConstantBackoff
    from redis.exceptions import ConnectionError as NotUp
    from redis.retry import Retry

    from cogitate.workers.processes.embedded import server_binary

    folder = Path(tempfile.mkdtemp(prefix="cogitate-redis-"))
    socket = folder / "socket"
    command = [str(server_binary()), "--port", "0", "--unixsocket", str(socket), "--dir", str(folder)]
    command += ["--databases", str(DATABASES), "--save", "", "--appendonly", "no"]
    with (folder / "log").open("wb") as log:
        _started.append((subprocess.Popen(command, stdout=log, stderr=log), folder))
    starting = Retry(ConstantBackoff(0.05), int(LONGEST / 0.05), (NotUp,))
    with Redis(unix_socket_path=str(socket), retry=starting) as client:
        client.ping()
    return socket
