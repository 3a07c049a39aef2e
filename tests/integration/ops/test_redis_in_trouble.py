"""`cogitate status` and `doctor` while Redis refuses writes, is full, paused, stopped or slow: they work and say so."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from redis import Redis
from redis.exceptions import RedisError

from cogitate import Settings, TickLoop
from cogitate.hosting.metrics import HostMetrics
from cogitate.scheduler.inspection.redis_problems import FULL, PROBE, redis_problems, refused_writes
from cogitate.scheduler.ledger.connect import SILENT, connect
from cogitate.workers.jobs.metrics import ServerGauges
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed

DELAY = 0.06  # seconds by which `SlowWay` delays each reply

Break = Callable[[Any, EmbeddedServer], object]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """Yield a separate server with a run."""
    with EmbeddedServer(tmp_path / "server") as server, server.client() as client:
        settings = Settings(data_dir=tmp_path)
        with TickLoop(run="r", owners={}, settings=settings, ticks=3, inline=True, client=client) as loop:
            for _ in loop:
                pass
        yield server


class SlowWay:
    """A proxy of a server that delays each reply."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self._waiting = threading.Event()  # never set, so waiting for it takes the whole `DELAY`
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"

    def __enter__(self) -> SlowWay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                there.connect(str(self._server.socket))
                threading.Thread(target=self._pass_on, args=(here, there, 0), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(there, here, DELAY), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, delay: float) -> None:
        with suppress(OSError), source, target:
            while read := source.recv(65_536):
                if delay:
                    self._waiting.wait(delay)
                target.sendall(read)
            target.shutdown(socket.SHUT_RDWR)


def disk_is_full(client: Any, server: EmbeddedServer) -> None:
    """Stop the server's file from growing."""
    assert server.pid is not None
    client.config_set("appendfsync", "everysec")  # with "always" the server would exit instead
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, 1))
    client.set("filler", "x" * 100_000)  # the server acknowledges this and then cannot write it
    assert refused(client)


def refused(client: Any) -> bool:
    """Write until the server refuses, which it does only after a failed write to disk; return True."""
    try:
        while True:
            client.set("filler", "x")
    except RedisError:
        return True


linux = pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda c, s: c.config_set("min-replicas-to-write", 1), "refuses writes: too few replicas"),
        (lambda c, s: c.execute_command("REPLICAOF", "127.0.0.1", "1"), "refuses writes: it is a read-only replica"),
        (lambda c, s: c.config_set("maxmemory", 1), "is full and refuses writes: raise maxmemory"),
        (lambda c, s: c.execute_command("CLIENT", "PAUSE", 600_000, "WRITE"), "accepts no writes within"),
        pytest.param(disk_is_full, "refuses writes: it cannot save to disk", marks=linux),
    ],
    ids=["replicas", "replica", "full", "paused", "disk"],
)
def test_status_and_doctor_report_a_server_that_refuses_writes(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Break, said: str
) -> None:
    monkeypatch.setattr("cogitate.scheduler.inspection.redis_problems.PATIENCE", 0.3)
    with server.client() as client:
        harm(client, server)
        try:
            asked: dict[str, Any] = {"data_dir": tmp_path, "COGITATE_REDIS_URL": server.url}
            shown = typed("status", "r", "--json", **asked)
            listed = typed("status", **asked)
            examined = typed("doctor", "--json", **asked)
        finally:
            with suppress(RedisError):
                client.execute_command("CLIENT", "UNPAUSE")
                client.execute_command("REPLICAOF", "NO", "ONE")
    assert (shown.returncode, listed.returncode) == (0, 0), (shown.stderr, listed.stderr)
    assert f"Redis {said}" in shown.stderr
    found = json.loads(shown.stdout.splitlines()[-1])
    assert found["tick"] == 3
    assert [said in one for one in found["redis"]] == [True]
    assert f"Redis {said}" in " ".join(listed.stdout.split())
    assert examined.returncode == 1
    findings = {one["what"]: one for one in json.loads(examined.stdout.splitlines()[-1])}
    assert said in findings["state"]["found"]
    assert said in findings["broker"]["found"]
    assert findings["state version"]["grade"] == "ok"
    assert "broker" in findings["workers"]["found"]


FOR_EVER = "1000000"  # seconds; a command that waited for this timeout would never return


@contextmanager
def stopped(server: EmbeddedServer) -> Iterator[SimpleNamespace]:
    """Stop the server's process for a block; afterwards `tries` is the number of connections that were attempted."""
    assert server.pid is not None
    with server.client() as client:
        before, asked = client.info("stats")["total_connections_received"], SimpleNamespace(tries=0)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            yield asked
        finally:
            os.kill(server.pid, signal.SIGCONT)
            client.ping()  # by the time the server answers, it has accepted the waiting connections
            asked.tries = client.info("stats")["total_connections_received"] - before


@pytest.mark.parametrize(
    ("command", "embedded"),
    [("runs", False), ("status r", False), ("budget r", False), ("audit r", False), ("status r", True)],
)
def test_readers_report_a_stopped_server_after_one_try(
    server: EmbeddedServer, tmp_path: Path, command: str, embedded: bool
) -> None:
    own = {} if embedded else {"COGITATE_REDIS_URL": server.url}
    folder = server.data_dir if embedded else tmp_path
    with stopped(server) as asked:
        shown = typed(*command.split(), data_dir=folder, COGITATE_SOCKET_TIMEOUT=FOR_EVER, **own)
    assert shown.returncode == 2
    assert "does not answer" in shown.stderr
    assert SILENT in shown.stderr
    assert asked.tries == 1, "several tries would add up their timeouts"


@pytest.mark.parametrize("embedded", [False, True], ids=["server", "data folder"])
def test_the_doctor_explains_how_to_wake_a_stopped_server(
    server: EmbeddedServer, tmp_path: Path, embedded: bool
) -> None:
    own = {} if embedded else {"COGITATE_REDIS_URL": server.url}
    folder = server.data_dir if embedded else tmp_path
    with stopped(server) as asked:
        examined = typed("doctor", "--json", data_dir=folder, COGITATE_SOCKET_TIMEOUT=FOR_EVER, **own)
    findings = {one["what"]: one for one in json.loads(examined.stdout.splitlines()[-1])}
    assert (examined.returncode, findings["state"]["grade"]) == (1, "failed")
    assert "does not answer" in findings["state"]["found"]
    assert "kill -CONT" in findings["state"]["advice"]
    assert "redis_url" not in findings["state"]["advice"], "another server has none of its runs"
    assert asked.tries == 1


def test_a_scrape_reports_a_stopped_server_after_one_try(server: EmbeddedServer) -> None:
    with connect(server.url, float(FOR_EVER)) as client:
        scrapes = HostMetrics(client, "r").registry, CollectorRegistry()
        scrapes[1].register(ServerGauges(client))
        for registry in scrapes:
            with stopped(server) as asked:
                up = registry.get_sample_value("cogitate_ledger_up", {"run": "r"})
            assert up == (0 if registry is scrapes[0] else None)
            assert asked.tries == 1
        assert scrapes[0].get_sample_value("cogitate_ledger_up", {"run": "r"}) == 1


def test_status_and_doctor_report_a_slow_server(server: EmbeddedServer, tmp_path: Path) -> None:
    with SlowWay(server) as way:
        asked: dict[str, Any] = {"data_dir": tmp_path, "COGITATE_REDIS_URL": way.url}
        shown, examined = typed("status", "r", **asked), typed("doctor", "--json", **asked)
    assert shown.returncode == 0, shown.stderr
    assert "Redis is slow: " in shown.stdout
    findings = {one["what"]: one for one in json.loads(examined.stdout.splitlines()[-1])}
    assert "is slow: " in findings["state"]["found"]
    assert findings["state latency"]["grade"] == "warning"


@pytest.mark.parametrize("commands", [["+info"], []])
def test_info_replaces_a_forbidden_test_write(server: EmbeddedServer, commands: list[str]) -> None:
    with server.client() as client:
        client.acl_setuser("looks", enabled=True, passwords=["+p"], commands=commands)
        with Redis(unix_socket_path=str(server.socket), username="looks", password="p") as looking:
            assert refused_writes(looking) == ""
            client.config_set("maxmemory", 1)
            assert refused_writes(looking) == (FULL if commands else ""), "only INFO tells that memory is full"


def test_the_check_of_a_healthy_server_leaves_no_key(server: EmbeddedServer, client: Redis) -> None:
    assert redis_problems(client) == []
    assert not client.exists(PROBE)
