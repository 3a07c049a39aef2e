"""The experiment's side of the fork server: starts hosts, and reports those that have ended."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.errors import CogitateError
from cogitate.ops.experiment.fork_server import HostEnded, HostOrder
from cogitate.ops.experiment.host import HostedRun
from cogitate.workers.processes.worker_process import PATHS_VARIABLE, import_paths

MODULE = "cogitate.ops.experiment.fork_server"


class HostsLost(CogitateError, RuntimeError):
    """The process that starts the hosts of an experiment has ended. Run the same command to continue."""


class Hosts:
    """The hosts of an experiment. The end of the block kills the running ones.

    Args:
        lock: descriptor of the experiment's lock, held until no host is left.
    """

    def __init__(self, lock: int) -> None:
        self.running: set[str] = set()
        self._lock = lock
        self._read = b""
        self._server: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-m", MODULE, str(self._lock)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {PATHS_VARIABLE: import_paths()},
            pass_fds=[self._lock],
            start_new_session=True,  # Ctrl-C goes to the experiment only
        )
        return self

    def __exit__(self, *_: object) -> None:
        with self._server:  # closes the pipes, and waits until the server has killed the rest
            self.running.clear()

    def begin(
        self,
        name: str,
        hosted: HostedRun | None,
        command: Sequence[str],
        environment: Mapping[str, str],
        log_file: Path,
    ) -> None:
        """Start a host.

        Raises:
            HostsLost: when the process that starts hosts has ended.
        """
        order = HostOrder(name, hosted, tuple(command), dict(environment), str(log_file))
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(msgspec.json.encode(order) + b"\n")
            self._server.stdin.flush()
        except BrokenPipeError:
            raise HostsLost(HostsLost.__doc__) from None
        self.running.add(name)

    def ended(self, timeout: float) -> list[HostEnded]:
        """Return the hosts that have ended since the last call.

        Args:
            timeout: the most seconds to wait for the first.

        Raises:
            HostsLost: when the process that starts hosts has ended.
        """
        assert self._server.stdout is not None
        number = self._server.stdout.fileno()
        if not select.select([number], [], [], timeout)[0]:
            return []
        if not (read := os.read(number, 1 << 16)):
            raise HostsLost(HostsLost.__doc__)
        *lines, self._read = (self._read + read).split(b"\n")
        ended = [typed_json.decode(line, HostEnded) for line in lines]
        self.running.difference_update(one.name for one in ended)
        return ended
