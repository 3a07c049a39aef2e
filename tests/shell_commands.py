"""`cogitate` and `python` for shells that tests start, forked from a process that has imported the product.

    python -m tests.shell_commands CHANNEL FOLDER

A folder on the shell's PATH holds both as short programs that ask a server to fork the process and then act as its
proxy: they hand it their arguments, environment, folder and streams, forward signals, and exit with its status. What
the server does not fork, such as `python -m`, they execute themselves. `tests.forked_python` explains why processes
are forked.
"""

from __future__ import annotations

import array
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests import forked_python, zygote
from tests.forked_python import Order
from tests.zygote import Forked

NAMES = ("cogitate", "python")
PROGRAM = """#!{python} -IS
import _signal, _socket, os, sys
from array import array
from json import dumps

name, arguments = os.path.basename(__file__), sys.argv[1:]
real = os.path.join({bin!r}, name)
options, words = [], list(arguments)
while name == "python" and words[:1] == ["-W"]:
    options.append(words[1])
    words = words[2:]
settings = {{key: value for key, value in os.environ.items() if key.startswith({settings!r}) and key != "PYTHONPATH"}}
known = name == "cogitate" or words[:1] == ["-"] or (words and words[0].endswith(".py") and os.path.exists(words[0]))
if settings != {ours!r} or not known:
    os.execv(real, [real, *arguments])
program = __file__ if name == "cogitate" else words.pop(0)
umask = os.umask(0)
os.umask(umask)
order = dict(command=[{python!r}, *(part for option in options for part in ("-W", option)), program, *words],
             warnings=options, module=False, program=program, arguments=words, environment=dict(os.environ),
             folder=os.getcwd(), session=False, group=-1, umask=umask, passed=[])
body = dumps(order).encode()
server = _socket.socket(_socket.AF_UNIX)
server.connect({socket!r})
server.sendmsg([array("Q", [len(body)]).tobytes()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", [0, 1, 2]))])
while body:
    body = body[server.send(body):]
process = int.from_bytes(server.recv(8), "big")
for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
    _signal.signal(number, lambda number, _: os.kill(process, number))
ended = server.recv(4)
code = os.waitstatus_to_exitcode(int.from_bytes(ended, "big"))
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def command_folder() -> str:
    """Write both commands, start the server that they ask, and return their folder."""
    folder = Path(tempfile.mkdtemp(prefix="cogitate-commands-"))
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", forked_python.COMMANDS, str(theirs.fileno()), str(folder)],
            cwd=forked_python.ROOT,
            env=forked_python._environment,
            pass_fds=[theirs.fileno()],
        )
    forked_python.keep(ours, server)
    forked_python.read_exactly(ours, 1)  # wait until it listens
    settings = {
        name: value
        for name, value in forked_python._environment.items()
        if name.startswith(forked_python.START_SETTINGS) and name != "PYTHONPATH"
    }
    program = PROGRAM.format(
        python=sys.executable,
        bin=str(Path(sys.executable).parent),
        settings=forked_python.START_SETTINGS,
        ours=settings,
        socket=str(folder / "socket"),
    )
    for name in NAMES:
        (folder / name).write_text(program)
        (folder / name).chmod(0o755)
    return str(folder)


def serve(channel: socket.socket, listener: socket.socket) -> Forked:
    """Fork a process for each command that connects, and return in it; exit when the channel ends."""
    waiting: set[int] = set()
    while True:
        ready, _, _ = select.select([channel, listener], [], [])
        if channel in ready:
            shutil.rmtree(Path(listener.getsockname()).parent)
            os._exit(0)
        caller, _ = listener.accept()
        if middle := os.fork():
            waiting.add(middle)
            waiting -= {process for process in waiting if os.waitpid(process, os.WNOHANG)[0]}
            caller.close()
            continue
        channel.close()
        listener.close()
        size = array.array("i").itemsize
        head, extra, _, _ = caller.recvmsg(8, socket.CMSG_SPACE(3 * size))
        handed = array.array("i", b"".join(data for _, _, data in extra))
        body = forked_python.read_exactly(caller, int.from_bytes(head, sys.byteorder))
        if not (process := os.fork()):
            caller.close()
            return Forked(Order(**json.loads(body)), handed.tolist())
        for descriptor in handed:
            os.close(descriptor)
        caller.sendall(process.to_bytes(8, "big"))
        _, status = os.waitpid(process, 0)
        caller.sendall(status.to_bytes(4, "big"))
        os._exit(0)


def main() -> None:
    """Serve commands; in a forked process, run the command, with a zygote of its own."""
    folder = Path(sys.argv[2])
    channel = socket.socket(fileno=int(sys.argv[1]))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(64)
    channel.sendall(b"1")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    forked = serve(channel, listener)
    path = forked.order.environment.get("PYTHONPATH", "")
    if path:  # processes that this one starts import from it too
        sys.path[1:1] = path.split(os.pathsep)
        forked_python._environment["PYTHONPATH"] = path
    if (below := zygote.keep_zygote(forked)) is not None:
        forked = zygote.fork_for(below)
    zygote.become(forked)
    typed = Path(forked.order.program)
    if forked.order.program == "-":
        sys.path[0] = ""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    zygote.run(forked.order, Path(sys.executable).parent / "cogitate" if typed.parent == folder else None)


if __name__ == "__main__":
    main()
