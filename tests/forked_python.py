"""Fork the product's Python processes that tests start from one that has already imported it (`tests.zygote`).

Importing the product takes a second of CPU, and the tests start hundreds of commands, hosts and workers. A process is
forked if its command is `python -m` with a module of the product or `python` with a script, or if a documentation
page's shell starts it (`tests.shell_commands`). `celery -A`, `python -c`, the wheel and interpreters with `PYTHON…`
variables of their own start normally. On systems other than Linux everything does: only Linux can make a grandchild
a child.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WORKER = "cogitate.workers.processes.celery_worker"
COMMANDS = "tests.shell_commands"  # forks what shells start
MODULES = ("cogitate.ops", "cogitate.ops.experiment.fork_server", WORKER, COMMANDS)
GREEN = ("gevent", "eventlet")  # pools that change modules before anything else is imported
START_SETTINGS = ("PYTHON", "LANG", "LC_", "LANGUAGE")  # prefixes of variables that an interpreter reads at its start
SET_CHILD_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER: orphaned descendants become children of this process

_start: Callable[..., None] = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_signature = inspect.signature(_start)


@dataclass(frozen=True)
class Order:
    """A process to fork: a module or a script, and the arguments of `subprocess.Popen`."""

    command: list[str]
    warnings: list[str]  # of -W
    module: bool
    program: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    session: bool
    group: int
    umask: int
    passed: list[int]


class Zygote:
    """A client of this process's zygote, which listens at the other end of a channel. Thread-safe."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def ours(self) -> bool:
        """Return whether this process started the zygote, rather than being forked from the process that did."""
        return self._owner == os.getpid()

    def fork(self, order: Order, handed: list[int]) -> int:
        """Fork a new child of this process that executes the order, and return its process id."""
        body = json.dumps(asdict(order)).encode()
        with self._lock, _adopting_orphans():
            length = array.array("Q", [len(body)]).tobytes()
            socket.send_fds(self._channel, [length], handed)
            self._channel.sendall(body)
            return int.from_bytes(read_exactly(self._channel, 8), "big")


def read_exactly(channel: socket.socket, count: int) -> bytes:
    """Read exactly `count` bytes.

    Raises:
        EOFError: the other process has ended.
    """
    read = b""
    while len(read) < count:
        if not (more := channel.recv(count - len(read))):
            raise EOFError("the process that forks others has ended")
        read += more
    return read


def moved_up(descriptor: int, least: int) -> int:
    """Replace a descriptor by one of the same file whose number is at least `least`, and return that."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)
    os.close(descriptor)
    return moved


@contextlib.contextmanager
def _adopting_orphans() -> Any:
    _libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def order_of(asked: dict[str, Any]) -> Order | None:
    """Return the order for the arguments of `Popen`, or None if a new interpreter must start."""
    command = asked["args"]
    if (
        isinstance(command, str | bytes | os.PathLike)
        or asked["shell"]
        or asked["executable"] not in (None, command[0])
    ):
        return None
    words = [os.fsdecode(word) for word in command]
    if words[0] != sys.executable or any(green in word for green in GREEN for word in words):
        return None
    if asked["preexec_fn"] is not None or asked["uid"] is not None or asked["gid"] is not None or asked["gids"]:
        return None
    rest, options = words[1:], []
    while rest[:1] == ["-W"]:
        options.append(rest[1])
        rest = rest[2:]
    module = rest[:1] == ["-m"]
    rest = rest[module:]
    if not rest or not (rest[0] in MODULES if module else rest[0].endswith(".py")):
        return None
    folder = str(Path(os.fsdecode(asked["cwd"] or "")).absolute())  # the zygote has another working directory
    environment = dict(os.environ if asked["env"] is None else asked["env"])
    needed = Path(folder) if module else Path(folder, rest[0])
    if not needed.exists() or not _same_start(environment):
        return None
    return Order(
        command=words,
        warnings=options,
        module=module,
        program=rest[0],
        arguments=rest[1:],
        environment=environment,
        folder=folder,
        session=asked["start_new_session"],
        group=-1 if asked.get("process_group") is None else asked["process_group"],
        umask=asked["umask"],
        passed=sorted(asked["pass_fds"]),
    )


def _same_start(environment: dict[str, str]) -> bool:
    """Return whether an interpreter would start with the zygote's settings and import path."""
    ours, theirs = (
        {name: value for name, value in given.items() if name.startswith(START_SETTINGS)}
        for given in (_environment, environment)
    )
    return ours == theirs


def install(zygote: Zygote | None = None) -> None:
    """Fork the processes that this process starts from now on. Without a zygote, start one on first use."""
    if not sys.platform.startswith("linux"):
        return
    held = [zygote] if zygote else []
    starting = threading.Lock()

    def start(process: Any, *arguments: Any, **named: Any) -> None:
        asked = _signature.bind(process, *arguments, **named).arguments
        order = order_of(asked) if not held or held[0].ours else None
        if order is None:
            _start(process, *arguments, **named)
            return
        with starting:
            if not held:
                held.append(_started())
        given = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        streams = [number if descriptor == -1 else descriptor for number, descriptor in enumerate(given)]
        process.pid = held[0].fork(order, [*streams, *order.passed])
        process._child_created = True
        process._close_pipe_fds(
            *(asked[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )

    subprocess.Popen._execute_child = start  # type: ignore[attr-defined]


def _started() -> Zygote:
    ours, theirs = socket.socketpair()
    with theirs:
        zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.zygote", str(theirs.fileno()), "-" * 4096],
            cwd=ROOT,
            env=_environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    keep(ours, zygote)
    return Zygote(ours)


def keep(channel: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Have `stop` close this channel and wait for the process at its other end."""
    _channels.append(channel)
    _processes.append(process)


def stop() -> None:
    """End this process's zygote and every other kept process, the latest first."""
    subprocess.Popen._execute_child = _start  # type: ignore[attr-defined]
    while _channels:
        _channels.pop().close()
        _processes.pop().wait()


_libc = ctypes.CDLL(None)
_environment = dict(os.environ)
_processes: list[subprocess.Popen[bytes]] = []
_channels: list[socket.socket] = []
