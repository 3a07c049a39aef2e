"""The supervisor of worker processes: it restarts dead workers, and no worker outlives its host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes import supervisor
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import WorkerPool, worker_environment

HOST = """
import sys
from pathlib import Path
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.supervisor import WorkerPool
with WorkerPool(Settings(data_dir=Path(sys.argv[1]), redis_url=sys.argv[2]), 1) as pool:
    print(pool.pids()[0], flush=True)
    sys.stdin.read()
"""


def alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to tell a zombie from a process")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def settings(valkey: EmbeddedServer, tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, redis_url=valkey.url, concurrency=2)


@pytest.fixture
def ready(valkey: EmbeddedServer, eventually: Callable[..., None]) -> Callable[[], None]:
    """Return a function that waits until a worker consumes, which its queue binding shows."""

    def wait() -> None:
        with valkey.client(1) as client:
            eventually(lambda: client.exists("cogitate:_kombu.binding.plan"), "a worker to be ready")

    return wait


def test_a_dead_worker_is_replaced_and_all_end_with_the_pool(
    settings: Settings, eventually: Callable[..., None], ready: Callable[[], None]
) -> None:
    before = settings.data_dir / "worker-1.log"
    before.parent.mkdir(parents=True, exist_ok=True)
    before.touch(mode=0o644)
    before.chmod(0o644)
    with capture_logs() as logs, WorkerPool(settings, 2) as pool:
        eventually(lambda: len(pool.pids()) == 2, "two workers")
        ready()
        first = pool.pids()
        os.kill(first[0], signal.SIGKILL)
        eventually(lambda: len(pool.pids()) == 2 and pool.pids() != first, "the dead worker's successor")
        assert pool.pids()[1] == first[1]
        last = pool.pids()
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["worker.restarted"]
    assert not any(alive(pid) for pid in [*first, *last])
    assert [pool.log_file(number).stat().st_mode & 0o777 for number in (1, 2)] == [0o600, 0o600]


def test_a_worker_that_keeps_dying_is_given_up(
    settings: Settings, eventually: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "worker_command", lambda _node: [sys.executable, "-c", "raise SystemExit(7)"])
    monkeypatch.setattr(supervisor, "FIRST_DELAY", 0.001)
    with capture_logs() as logs, WorkerPool(settings, 1) as pool:
        eventually(lambda: any(entry["event"] == "worker.given_up" for entry in logs), "the pool to give up")
        assert pool.pids() == []
    given_up = logs[-1]
    assert given_up["code"] == 7
    assert given_up["log_file"].endswith("worker-1.log")
    assert len([entry for entry in logs if entry["event"] == "worker.restarted"]) == supervisor.GIVE_UP - 1


def test_a_worker_that_ignores_a_hurried_stop_is_killed(
    settings: Settings, eventually: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    monkeypatch.setattr(supervisor, "worker_command", lambda _node: [sys.executable, "-c", stubborn])
    monkeypatch.setattr(supervisor, "HURRY", 0.05)
    pool = WorkerPool(settings, 1).start()
    eventually(lambda: pool.log_file(1).exists() and "deaf" in pool.log_file(1).read_text(), "the worker to be deaf")
    (pid,) = pool.pids()
    pool.stop(hurry=True)
    assert not alive(pid)


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_its_host(
    settings: Settings,
    valkey: EmbeddedServer,
    eventually: Callable[..., None],
    ready: Callable[[], None],
    blow: signal.Signals,
) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(settings.data_dir), valkey.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert host.stdout is not None
    worker = int(host.stdout.readline())
    ready()
    os.killpg(host.pid, blow)
    host.communicate()
    eventually(lambda: not alive(worker), "the worker to follow its host")


def test_workers_get_exactly_the_hosts_settings(
    valkey: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://elsewhere/0")
    monkeypatch.setenv("COGITATE_TICK_RATE", "5")
    monkeypatch.chdir(tmp_path)
    host = Settings(
        data_dir=Path("data"),
        redis_url=valkey.url,
        llm="openai",
        api_key="sk-1",
        limits={"day.run.calls": 7},
        guarantees={},
        latency={"plan": 9},
        tick_rate=None,
        limit_usd=1.5,
    )
    environment = worker_environment(host)
    assert not any(name.startswith("CELERY_") for name in environment)
    for name in [name for name in os.environ if name.startswith("COGITATE_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        if name.startswith("COGITATE_"):
            monkeypatch.setenv(name, value)
    workers = Settings()
    expected = {"data_dir": tmp_path / "data", "broker_url": workers.broker_url}
    assert workers.model_dump() == host.model_dump() | expected
    assert workers.messages_url() == host.messages_url()
