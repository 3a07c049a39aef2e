"""`cogitate gateway` as a process that may kill itself at a chosen moment of a tick."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.gateway_client import Client
from tests.patience import LONGEST
from tests.process_environment import clean_environment

OURS = ("COGITATE_", "OPENAI_")
#: A script that runs the command in a process that kills itself at a named moment of a tick.
DYING = """
import os, signal, sys
from cogitate.hosting.protocol.hosted_run import HostedRun
from cogitate.hosting.protocol.hosted_run import PostedLoop
from cogitate.scheduler.ledger.ledger import HostLedger

moment, at = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def after(owner, name, tick):
    work = getattr(owner, name)
    def wrapped(self, *given, **named):
        number = tick(self, *given)
        found = work(self, *given, **named)
        if number == at:
            die()
        return found
    setattr(owner, name, wrapped)

if moment == "turn":
    after(PostedLoop, "_make_calls", lambda loop, turn: loop._passed.number)
elif moment == "committed":
    after(HostLedger, "advance", lambda ledger, commit, apply: commit.tick)
elif moment == "answer":
    after(HostedRun, "_take", lambda run, tick, turn, digest: tick)
elif moment == "opened":
    after(HostLedger, "ask_ready", lambda ledger, keys: 0)

from cogitate.ops.cli import main
main()
"""


class Running(NamedTuple):
    """A running gateway: its client and its process."""

    client: Client
    process: subprocess.Popen[str]


@contextmanager
def gateway(
    data_dir: Path, *, token: str = "", dies: tuple[str, int] | None = None, port: int = 0
) -> Iterator[Running]:
    """Run a gateway process for a block; at the end, terminate it and check its exit code, unless it has died."""
    start = ["-m", "cogitate.ops"] if dies is None else ["-c", DYING, dies[0], str(dies[1])]
    process = subprocess.Popen(
        [sys.executable, *start, "gateway", "--port", str(port), "--workers", "1", "--data-dir", str(data_dir)],
        env=clean_environment(**({"COGITATE_GATEWAY_TOKEN": token} if token else {})),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"at (http://\S+);", line)
        assert found is not None, line + process.stderr.read()
        assert process.stdout is not None
        assert process.stdout.readline() == f"{found[1]}\n", "the URL is flushed although stdout is no terminal"
        yield Running(Client(found[1], token or None), process)
        if process.poll() is None:
            process.terminate()
            _, said = process.communicate(timeout=LONGEST)
            assert process.returncode == 143, said
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
