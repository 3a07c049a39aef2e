"""By default nothing listens beyond loopback: host, workers, embedded server, metrics, Flower, fake-llm."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import DEVNULL, Popen

import psutil

from tests.live_flower import flower, get, started, until
from tests.patience import LONGEST
from tests.ports import free_ports


def listening(pid: int) -> dict[int, str]:
    """Return the TCP ports on which a process and its descendants listen, with their addresses."""
    root = psutil.Process(pid)
    found: dict[int, str] = {}
    for process in (root, *root.children(recursive=True)):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:  # a zombie listens on nothing
                continue
            sockets = process.net_connections("inet")
        except psutil.NoSuchProcess:
            continue
        found |= {one.laddr.port: one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN}
    return found


def answers(address: str) -> bool:
    try:
        return get(address)[0] == 200
    except OSError:
        return False


def test_nothing_listens_beyond_loopback(tmp_path: Path) -> None:
    metrics = free_ports(3)
    model = metrics + 2
    data, log = tmp_path / "data", tmp_path / "run.log"
    run = ("run", "--town", 2, "--days", 9, "--tick-rate", 5, "--workers", 1)
    own = {"COGITATE_METRICS_PORT": str(metrics)}
    fake = Popen(
        [sys.executable, "-m", "cogitate.ops", "fake-llm", "--port", str(model)],
        cwd=tmp_path,
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        with started(*run, data_dir=data, log=log, **own) as host:
            until(lambda: answers(f"http://127.0.0.1:{metrics}/metrics"), "the host's metrics")
            until(lambda: answers(f"http://127.0.0.1:{metrics + 1}/metrics"), "the worker's metrics")
            until(lambda: answers(f"http://127.0.0.1:{model}/v1/models"), "fake-llm")
            with flower(data) as address:
                port = int(address.rpartition(":")[2])
                found = listening(psutil.Process().pid)
            names = {one.name() for one in psutil.Process(host.pid).children(recursive=True)}
    finally:
        fake.terminate()
        fake.wait(LONGEST)
    assert {metrics, metrics + 1, model, port} <= found.keys()
    assert {ip for at, ip in found.items()} == {"127.0.0.1"}
    assert any("valkey" in name for name in names), "the embedded server runs and listens on no port"
