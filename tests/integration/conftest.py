"""Real servers and processes for the integration tests; each fixture stops what it started, by process id."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from tests.processes import running

Eventually = Callable[..., None]


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Yield a real Valkey that serves the whole session."""
    with EmbeddedServer(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def valkey(valkey_server: EmbeddedServer) -> EmbeddedServer:
    """Empty the session's Valkey and return it; `.url` is the state's database, `.client(1)` that of messages."""
    with valkey_server.client() as client:
        client.flushall()
    return valkey_server


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    """Yield a client of the emptied Valkey's state."""
    with valkey.client() as client:
        yield client


@pytest.fixture(scope="session")
def worker_settings(valkey_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of a worker on the session's server."""
    return Settings(data_dir=tmp_path_factory.mktemp("worker"), redis_url=valkey_server.url, concurrency=2)


@pytest.fixture(scope="module")
def worker_log(
    valkey_server: EmbeddedServer, worker_settings: Settings, eventually: Eventually
) -> Iterator[Callable[[], str]]:
    """Run a real worker on the session's server for one module, and yield a function that returns its log so far."""
    log = worker_settings.data_dir / "worker.log"
    with log.open("wb") as out:
        command = [part if part != "warning" else "info" for part in worker_command("tested@%h")]
        process = subprocess.Popen(
            command, env=worker_environment(worker_settings), cwd=worker_settings.data_dir, stdout=out, stderr=out
        )
    with running(process):
        eventually(lambda: "ready." in log.read_text() or process.poll() is not None, "the worker to be ready")
        assert process.poll() is None, log.read_text()
        yield lambda: _read(log, process)


def _read(log: Path, process: subprocess.Popen[bytes]) -> str:
    assert process.poll() is None, f"the worker has ended:\n{log.read_text()}"
    return log.read_text()
