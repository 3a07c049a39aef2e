"""Flower with a server that is frozen or has ended: signals end it, and its pages say what to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_environment
from tests.live_flower import flower, get, started, until
from tests.patience import LONGEST
from tests.ports import free_ports


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_flower_while_redis_is_frozen(tmp_path: Path, stop: signal.Signals) -> None:
    log, port = tmp_path / "flower.log", free_ports(1)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return get(f"{address}/healthz")[0] == 200
        except OSError:
            return False

    with (
        EmbeddedServer(tmp_path / "data") as server,
        started("flower", f"--port={port}", data_dir=tmp_path / "data", log=log) as process,
    ):
        until(lambda: process.poll() is not None or answers(), "Flower to know that Redis answers")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        try:
            assert get(f"{address}/overview/data")[0] == 503, "its threads wait for Redis"
            process.send_signal(stop)
            until(lambda: process.poll() is not None, "Flower to end", 20)
        finally:
            os.kill(server.pid, signal.SIGCONT)
    assert process.returncode == 0, log.read_text()


INTERRUPTED = """
import os, signal, sys
from flower.app import Flower

stop = signal.Signals[sys.argv.pop()]

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), stop)

update_workers = Flower.update_workers

def start_and_finalize(self, *args):
    self.io_loop.add_callback(lambda: Finalized() and None)
    return update_workers(self, *args)

Flower.update_workers = start_and_finalize
from celery.__main__ import main
sys.argv[1:1] = ["-A", "cogitate", "flower"]
main()
"""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_finalizer_ends_flower(tmp_path: Path, stop: signal.Signals) -> None:
    with EmbeddedServer(tmp_path / "data"):
        ended = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, f"--port={free_ports(1)}", stop.name],
            env=worker_environment(Settings(data_dir=tmp_path / "data")),
            capture_output=True,
            timeout=LONGEST,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr


def test_a_server_that_ended_with_its_host_is_reported(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    server = EmbeddedServer(data_dir)
    with ExitStack() as stack:
        with server:
            address = stack.enter_context(flower(data_dir))
            assert get(f"{address}/overview/data")[0] == 200
        # Viewers share a reading for a second, so the page may show the old state that long.
        until(lambda: get(f"{address}/overview/data")[0] == 503, "the page to notice that its server ended")
        said = get(f"{address}/overview/data")[1]
    assert "has ended with that host. Start a host and then Flower again" in json.loads(said)["error"]
