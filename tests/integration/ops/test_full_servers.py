"""Valkey and Redis 7 with full memory: every reading command works, and no run is begun or lost silently.

With full memory, Redis 7 refuses every transaction; Valkey does not.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

from cogitate import Settings, TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.inspection.redis_problems import FULL
from cogitate.scheduler.inspection.snapshot import take_snapshot
from cogitate.scheduler.ledger.connect import read_at_once
from cogitate.scheduler.ledger.errors import Fenced
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import server_binary
from tests.integration.command import typed
from tests.ports import free_ports

OWNER = "agent:ada"
SERVERS = ["valkey", pytest.param("redis-server", marks=pytest.mark.system)]
READS = (
    "runs",
    "status",
    "status r",
    f"memory r {OWNER}",
    f"plan r {OWNER}",
    "jobs r",
    "report r",
    "export r --what memories",
    "export r --what jobs",
    "export r --what journal",
    "budget r",
    "throttle r",
    "audit r",
    "replay r --verify",
    "estimate",
)


@contextmanager
def running(binary: str, folder: Path, eventually: Callable[..., None], *options: str) -> Iterator[str]:
    """Run a server for a block, and yield its URL."""
    port = free_ports()
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *options]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with Redis(port=port) as client:
            eventually(lambda: process.poll() is not None or answers(client), "the server to answer")
        assert process.poll() is None, (folder / "server.log").read_text()
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


def answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


@pytest.fixture(params=SERVERS)
def binary(request: pytest.FixtureRequest) -> str:
    """Return the program of a server."""
    if request.param == "valkey":
        return str(server_binary())
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"needs {request.param}")
    return found


@pytest.fixture
def url(binary: str, tmp_path: Path, eventually: Callable[..., None]) -> Iterator[str]:
    """Yield the URL of a server with a run of 400 ticks."""
    with running(binary, tmp_path, eventually) as url:
        with Redis.from_url(url) as client:
            owners = {OWNER: Profile(name="Ada Smith")}
            settings = Settings(data_dir=tmp_path)
            with TickLoop(run="r", owners=owners, settings=settings, ticks=400, inline=True, client=client) as loop:
                for _ in loop:
                    pass
        yield url


def fill(client: Redis) -> None:
    """Make the server refuse all commands that take memory."""
    client.config_set("maxmemory", 1)


def test_every_reading_command_works_on_a_full_server(url: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"data_dir": tmp_path, "COGITATE_REDIS_URL": url}
    before = {command: typed(*command.split(), **own) for command in READS}
    with Redis.from_url(url) as client:
        fill(client)
    for command in READS:
        done = typed(*command.split(), **own)
        assert done.returncode == before[command].returncode == 0, f"{command}: {done.stderr}"
        if command.startswith("export"):
            assert done.stdout == before[command].stdout
        if command.startswith("status"):
            assert f"Redis {FULL}" in " ".join((done.stdout + done.stderr).split())


def test_several_reads_of_a_full_server_see_one_state(url: str) -> None:
    with Redis.from_url(url) as client:
        client.config_set("maxmemory", 0)
        store = RunStore.open(client, "r")
        snapshot = take_snapshot(store)
        fill(client)
        assert take_snapshot(store) == snapshot
        client.config_set("maxmemory", 0)
        client.set("a", 0)
        fill(client)
        writes = iter(["changes", "changes again"])  # as if the server had room for a moment

        def queue(pipeline: Any) -> None:
            if value := next(writes, ""):
                client.config_set("maxmemory", 0)
                client.mset({"a": value, "b": value})
                fill(client)
            pipeline.get("a")
            pipeline.get("b")

        one, other = read_at_once(client, queue)
        assert one == other != b"0"


def test_a_run_that_a_full_server_refused_suggests_no_resume(url: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"data_dir": tmp_path, "COGITATE_REDIS_URL": url, "COGITATE_OUTAGE_WAIT": "0"}
    with Redis.from_url(url) as client:
        fill(client)
    begun = typed("run", "--town", 2, "--ticks", 9, "--workers", 0, "--run", "new", **own)
    assert (begun.returncode, begun.stdout) == (1, "")
    assert f"Redis {FULL}" in begun.stderr
    assert "resume" not in begun.stderr


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_a_server_that_evicts_is_refused_and_fails_the_doctor(url: str, tmp_path: Path, policy: str) -> None:
    own: dict[str, Any] = {"data_dir": tmp_path, "COGITATE_REDIS_URL": url}
    with Redis.from_url(url) as client:
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", 100_000_000)
        client.acl_setuser(
            "plain", enabled=True, passwords=["+p"], keys=["*"], channels=["*"], commands=["+@all", "-config"]
        )
        named = url.replace("//", "//plain:p@")
        for address in (url, named):  # a user without access to the configuration gets the same error
            begun = typed("run", "--town", 2, "--ticks", 9, "--workers", 0, **own | {"COGITATE_REDIS_URL": address})
            assert begun.returncode == 2
            assert f"maxmemory-policy {policy}" in begun.stderr
            assert "noeviction" in begun.stderr
        assert client.smembers("cogitate:runs") == {b"r"}, "no run was begun"
        examined = typed("doctor", "--json", **own)
        findings = {one["what"]: one for one in json.loads(examined.stdout.splitlines()[-1])}
        assert (examined.returncode, findings["state eviction"]["grade"]) == (1, "failed")
        for safe in ({"maxmemory": 0}, {"maxmemory-policy": "volatile-lru"}, {"maxmemory-policy": "noeviction"}):
            for name, value in safe.items():
                client.config_set(name, value)
            done = typed("run", "--town", 2, "--ticks", 2, "--workers", 0, **own)
            assert done.returncode == 0, done.stderr
            client.config_set("maxmemory", 100_000_000)


def test_an_evicted_run_is_explained_to_host_and_readers(url: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"data_dir": tmp_path, "COGITATE_REDIS_URL": url}
    settings = Settings(data_dir=tmp_path)
    with Redis.from_url(url) as client:
        with (  # noqa: PT012 — the policy changes while a host lives
            pytest.raises(Fenced, match=r"maxmemory-policy allkeys-lru, [1-9]"),
            TickLoop(
                run="r", owners={}, settings=settings, exist="resume", ticks=900, inline=True, client=client
            ) as loop,
        ):
            for tick in loop:
                if tick.number == 402:
                    client.config_set("maxmemory-policy", "allkeys-lru")
                    client.config_set("maxmemory", 1)
                    while client.dbsize():  # each command makes the server evict keys
                        with pytest.raises(RedisError):
                            client.set("filler", "x" * 10_000)
        for command in (["status", "r"], ["run", "--run", "r", "--resume"]):
            shown = typed(*command, **own)
            assert shown.returncode == 2
            assert "maxmemory-policy allkeys-lru" in shown.stderr


def test_a_server_that_returns_empty_explains_why(url: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with (  # noqa: PT012 — the server changes while a host lives
        Redis.from_url(url) as client,
        pytest.raises(Fenced, match="no append-only file"),
        TickLoop(run="r", owners={}, settings=settings, exist="resume", ticks=900, inline=True, client=client) as loop,
    ):
        for tick in loop:
            if tick.number == 402:
                client.flushall()
    shown = typed("status", "r", data_dir=tmp_path, COGITATE_REDIS_URL=url)
    assert "no append-only file" in shown.stderr
