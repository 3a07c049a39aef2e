"""A process that forks a host for each run, without startup delay, and kills all hosts when the experiment ends.

    python -m cogitate.ops.experiment.fork_server LOCK

The experiment holds the other end of the pipe that is its standard input: each line orders a host, and the end of the
pipe means that the experiment has ended or was killed. It writes a line for each host that has ended. It also holds the
experiment's lock, so that the next experiment begins only when no host of this one is left.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module

import msgspec
from redis.exceptions import RedisError

from cogitate.hosting import logs
from cogitate.memory import typed_json
from cogitate.ops.experiment.host import HostedRun, host
from cogitate.scheduler.ledger.outage import is_outage
from cogitate.workers.processes.worker_process import adopt_import_paths

LOADED = (  # modules loaded before the forks, which hosts or the modules of worlds would import otherwise
    "cogitate.effects",
    "cogitate.experiment",
    "cogitate.hosting.finding",
    "cogitate.hosting.services",
    "cogitate.tasks.own.declaring",
    "cogitate.workers.processes.readiness",
    "celery.app.amqp",
    "celery.app.events",
    "celery.backends.base",
    "celery.events",
    "kombu.transport.memory",
    "snowballstemmer",
)
LOOK_EVERY = 0.03  # seconds
CANNOT_BEGIN = 127  # exit code when the command does not exist
SERVER_AWAY = 75  # exit code of a host that failed because the server was away (EX_TEMPFAIL of sysexits.h)


class HostOrder(msgspec.Struct, frozen=True):
    """An order to start a host: of a run in a fork of this process, or by a command."""

    name: str
    hosted: HostedRun | None
    command: tuple[str, ...]
    environment: dict[str, str]
    log_file: str


class HostEnded(msgspec.Struct, frozen=True):
    """The end of a host, with its exit code."""

    name: str
    code: int


def serve(lock: int) -> None:
    """Fork hosts as ordered until the input ends; then kill the remaining ones."""
    os.set_inheritable(lock, False)
    names: dict[int, str] = {}  # by process id
    waiting = b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_EVERY)
        if ready:
            if not (read := os.read(0, 1 << 20)):
                break
            *lines, waiting = (waiting + read).split(b"\n")
            for line in lines:
                order = typed_json.decode(line, HostOrder)
                if (process := os.fork()) == 0:
                    _become(order, lock)
                names[process] = order.name
        while names and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            report = HostEnded(names.pop(ended[0]), os.waitstatus_to_exitcode(ended[1]))
            with suppress(BrokenPipeError):  # the experiment was killed just now; the input ends next
                os.write(1, msgspec.json.encode(report) + b"\n")
    for process in names:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # its open tick is not committed; a resumed run repeats it
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)  # if it has no process group of its own yet
        os.waitpid(process, 0)


def _become(order: HostOrder, lock: int) -> None:
    """Host the run in this forked process, and exit."""
    code = 1
    try:
        os.setsid()
        os.close(lock)
        log = os.open(order.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in ((0, null), (1, log), (2, log)):
            os.dup2(descriptor, number)
        os.environ.clear()
        os.environ.update(order.environment)
        if order.hosted is None:
            code = CANNOT_BEGIN
            os.execvp(order.command[0], order.command)
        adopt_import_paths()
        logs.configure(0)
        host(order.hosted)
        code = 0
    except BaseException as error:  # the host's own code may raise anything
        traceback.print_exc()
        code = SERVER_AWAY if _is_outage(error) else code
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _is_outage(error: BaseException | None) -> bool:
    """Return whether the error, or one of its causes, means that the server is away."""
    while error is not None:
        if isinstance(error, RedisError) and is_outage(error):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


if __name__ == "__main__":
    for module in LOADED:
        import_module(module)
    serve(int(sys.argv[1]))
