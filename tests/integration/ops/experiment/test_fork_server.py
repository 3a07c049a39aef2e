"""The process that forks an experiment's hosts, which leaves none of them behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from cogitate.ops.experiment.fork_server import HostOrder
from cogitate.ops.experiment.hosts import MODULE
from tests.faults.attacked import Eventually


def alive(pid: int) -> bool:
    """Return whether a process exists, even one that has exited and is not reaped yet."""
    return Path(f"/proc/{pid}").exists()


def test_a_killed_experiment_leaves_no_host_behind(tmp_path: Path, eventually: Eventually) -> None:
    def order(name: str, then: str) -> bytes:
        command = ("sh", "-c", f"echo $$ > {tmp_path / name}; {then}")
        return msgspec.json.encode(HostOrder(name, None, command, dict(os.environ), os.devnull)) + b"\n"

    def process_of(name: str) -> int:
        pid_file = tmp_path / name
        eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"), f"the process of {name}")
        return int(pid_file.read_text())

    with (
        (tmp_path / "lock").open("ab") as lock,
        subprocess.Popen(
            [sys.executable, "-m", MODULE, str(lock.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[lock.fileno()],
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.close()  # the death of an experiment closes this a moment before it closes the input
        server.stdin.write(order("long", "exec sleep 600") + order("short", "exit 0"))
        server.stdin.flush()
        long, short = process_of("long"), process_of("short")
        eventually(lambda: not alive(short), "the end of the short host")
        _, errors = server.communicate()
    assert server.returncode == 0, errors
    assert not alive(long)
