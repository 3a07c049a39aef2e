"""Worker processes of a host: started again when they die, given up when they keep dying, stopped with their host."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import PinnedSettings, Settings
from cogitate.workers.processes import supervisor as module
from cogitate.workers.processes.supervisor import (
    FIRST_DELAY,
    GIVE_UP,
    HURRY,
    LONGEST_DELAY,
    MARGIN,
    QUICK_DEATH,
    USAGE,
    WorkerPool,
    worker_command,
    worker_environment,
)
from cogitate.workers.processes.worker_process import CANNOT_START, PARENT_VARIABLE, PATHS_VARIABLE
from tests.patience import LONGEST
from tests.repository import ROOT


def settings_of(folder: Path, **given: Any) -> PinnedSettings:
    return PinnedSettings.tuned(**{"data_dir": folder, "redis_url": "redis://localhost:1/0", **given})


class Machine:
    """Processes that live as long as a test says, on a clock that passes while somebody waits."""

    TimeoutExpired = subprocess.TimeoutExpired
    DEVNULL, STDOUT = subprocess.DEVNULL, subprocess.STDOUT

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *lives: tuple[float, int], says: str = "") -> None:
        self.now, self.lives, self.says = 100.0, list(lives), says
        self.started: list[tuple[list[str], dict[str, Any]]] = []
        self.slept = 0.0
        self.pool: Any = None
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))
        monkeypatch.setattr(module, "subprocess", self)

    def sleep(self, seconds: float) -> None:
        self.now, self.slept = self.now + seconds, self.slept + seconds

    def Popen(self, command: list[str], **how: Any) -> Any:
        self.started.append((command, how))
        life, code = self.lives.pop(0)
        if self.says and how["stdout"] is not None:
            how["stdout"].write(self.says.encode())
            how["stdout"].flush()
        return SimpleNamespace(pid=len(self.started), wait=lambda: self.end(life, code), poll=lambda: code)

    def end(self, life: float, code: int) -> int:
        self.now += life
        if not self.lives:
            self.pool._stopping = self.pool._stopping or code == 0
        return code

    def keep(self, folder: Path, number: int = 1, **given: Any) -> tuple[WorkerPool, list[Any]]:
        """Keep a worker until it is given up or its pool stops; the pool, and what was logged."""
        how = {name: given.pop(name) for name in ("shown", "arguments") if name in given}
        self.pool = WorkerPool(settings_of(folder, **given), 2, **how)
        with capture_logs() as logs:
            self.pool._keep(number)
        return self.pool, logs


QUICK, LONG = 1.0, QUICK_DEATH + 1.0


def test_a_worker_that_keeps_dying_at_once_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, *[(QUICK, 1)] * GIVE_UP)
    pool, logs = machine.keep(tmp_path)
    delays = [FIRST_DELAY * 2**n for n in range(GIVE_UP - 1)]
    assert [log.get("delay") for log in logs] == [*delays, None]
    assert [log["event"] for log in logs] == ["worker.restarted"] * (GIVE_UP - 1) + ["worker.given_up"]
    assert {(log["number"], log["code"]) for log in logs} == {(1, 1)}
    assert logs[-1]["log_file"] == str(tmp_path / "worker-1.log")
    assert machine.slept == pytest.approx(sum(delays), abs=0.3)
    assert pool.cannot_start == "", "it had begun"


def test_a_worker_that_lived_longer_starts_with_a_clean_slate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lives = [(QUICK, 1), (QUICK, 1), (QUICK_DEATH, 1), (LONG, 1), (QUICK, 1), (0.0, 0)]
    _, logs = Machine(monkeypatch, *lives).keep(tmp_path)
    assert [log["delay"] for log in logs] == [0.2, 0.4, 0.8, 0.2, 0.4]


def test_no_delay_is_longer_than_the_longest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "GIVE_UP", 99)
    _, logs = Machine(monkeypatch, *[(QUICK, 1)] * 8, (0.0, 0)).keep(tmp_path)
    assert [log["delay"] for log in logs][-3:] == [6.4, LONGEST_DELAY, LONGEST_DELAY]


@pytest.mark.parametrize("code", [USAGE, CANNOT_START])
def test_a_worker_that_cannot_begin_is_not_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int
) -> None:
    (tmp_path / "worker-2.log").write_text("of before\n")
    pool, logs = Machine(monkeypatch, (QUICK, code), says="no such\nmodule\n").keep(tmp_path, 2)
    assert [log["event"] for log in logs] == ["worker.given_up"]
    assert pool.cannot_start == "no such / module"
    said = pool.cannot_start
    machine = Machine(monkeypatch, (QUICK, code), says="another")
    machine.pool = pool
    pool._keep(1)
    assert pool.cannot_start == said, "the first is told"


def test_without_a_log_the_exit_code_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for how in ({}, {"shown": True}):
        pool, (told,) = Machine(monkeypatch, (QUICK, CANNOT_START)).keep(tmp_path, **how)
        assert pool.cannot_start == f"it exited with code {CANNOT_START}"
        assert ("log_file" in told) is (not how)


def test_a_failed_restart_is_given_up_but_not_called_a_failed_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pool, logs = Machine(monkeypatch, (QUICK, 1), (QUICK, USAGE), says="odd").keep(tmp_path)
    assert (pool.cannot_start, logs[-1]["event"]) == ("", "worker.given_up")


def test_a_stopping_pool_starts_and_restarts_no_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, (QUICK, 0))
    _, logs = machine.keep(tmp_path)
    assert (len(machine.started), logs) == (1, [])
    machine.pool._keep(1)
    assert len(machine.started) == 1
    waiting = Machine(monkeypatch, (QUICK, 1))
    waiting.pool = WorkerPool(settings_of(tmp_path), 1)
    sleep = waiting.sleep

    def stops(seconds: float) -> None:
        sleep(seconds)
        waiting.pool._stopping = True

    monkeypatch.setattr("cogitate.workers.processes.supervisor.time.sleep", stops)
    waiting.pool._keep(1)
    assert len(waiting.started) == 1


def test_a_worker_is_started_with_its_own_log_name_and_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, (QUICK, 0))
    pool, _ = machine.keep(tmp_path, 2, metrics_port=9100, arguments=("--concurrency", "3"))
    ((command, how),) = machine.started
    assert command[-2:] == ["--concurrency", "3"]
    assert any(part.startswith("worker2.") and part.endswith("@%h") for part in command)
    assert (how["env"]["COGITATE_METRICS_PORT"], how["env"][PARENT_VARIABLE].isdigit()) == ("9101", True)
    assert (how["cwd"], how["stdin"], how["stderr"]) == (tmp_path, subprocess.DEVNULL, subprocess.STDOUT)
    assert how["start_new_session"]
    assert Path(how["stdout"].name) == pool.log_file(2)
    shown = Machine(monkeypatch, (QUICK, 0))
    shown.keep(tmp_path, shown=True)
    ((_, how),) = shown.started
    assert (how["stdout"], how["stderr"]) == (None, None)
    assert "COGITATE_METRICS_PORT" not in how["env"]


# -- stopping ----------------------------------------------------------------------------------------


class Child:
    """A process that ends when it is told to, or only when it is killed."""

    def __init__(self, *, obeys: bool = True, error: BaseException | None = None) -> None:
        self.pid, self.obeys, self.error = 7, obeys, error
        self.did: list[Any] = []

    def send_signal(self, number: int) -> None:
        self.did.append(number.name)  # type: ignore[attr-defined]

    def wait(self, timeout: float | None = None) -> int:
        self.did.append(None if timeout is None else round(timeout, 1))
        if timeout is not None and self.error is not None:
            raise self.error
        if timeout is not None and not self.obeys:
            raise subprocess.TimeoutExpired("x", timeout)
        return 0

    def kill(self) -> None:
        self.did.append("kill")

    def poll(self) -> int | None:
        return None if self.obeys else 1


def stopped(folder: Path, *children: Child, hurry: bool = False) -> list[Any]:
    pool = WorkerPool(settings_of(folder), 0)
    pool._processes = dict(enumerate(children, 1))  # type: ignore[arg-type]
    with capture_logs() as logs:
        pool.stop(hurry=hurry)
    assert pool._stopping
    return [log["event"] for log in logs]


@pytest.mark.parametrize("hurry", [False, True])
def test_workers_are_terminated_and_then_killed(tmp_path: Path, hurry: bool) -> None:
    patience = round(HURRY if hurry else Settings().job_deadline + MARGIN, 1)
    good, bad = Child(), Child(obeys=False)
    assert stopped(tmp_path, good, bad, hurry=hurry) == ["worker.killed"]
    assert good.did == ["SIGTERM", patience]
    assert bad.did == ["SIGTERM", patience, "kill", None]


def test_an_interrupted_stop_kills_all_workers_and_says_why(tmp_path: Path) -> None:
    first, second = Child(error=KeyboardInterrupt()), Child()
    with pytest.raises(KeyboardInterrupt):
        stopped(tmp_path, first, second)
    assert (first.did[-1], second.did) == ("kill", ["SIGTERM", "kill"])


def test_a_pool_is_left_in_a_hurry_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: list[bool] = []
    monkeypatch.setattr(WorkerPool, "stop", lambda self, hurry=False: how.append(hurry))
    folder = tmp_path / "new" / "folder"
    with WorkerPool(settings_of(folder), 0) as pool:
        assert folder.is_dir()
        assert (pool.any_left(), pool.pids()) == (False, [])
    with pytest.raises(ZeroDivisionError), WorkerPool(settings_of(folder), 0):
        print(1 / 0)
    assert how == [False, True]


def test_a_pool_has_workers_left_while_one_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(WorkerPool, "_keep", lambda self, number: over.wait(LONGEST) if number == 2 else None)
    pool = WorkerPool(settings_of(tmp_path), 2).start()
    pool._threads[0].join(LONGEST)
    assert pool.any_left()
    pool._processes = {2: Child(), 1: Child(), 3: Child(obeys=False)}  # type: ignore[dict-item]
    pool._processes[2].pid = 22
    assert pool.pids() == [7, 22], "in order of their numbers, without those that ended"
    over.set()
    pool.stop()
    assert not pool.any_left()


# -- environment -------------------------------------------------------------------------------------


def test_a_worker_has_exactly_the_settings_of_its_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://another/0")
    monkeypatch.setenv("COGITATE_METRICS_PORT", "9999")
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.chdir(tmp_path)
    settings = PinnedSettings(
        data_dir=Path("data"),
        redis_url=SecretStr("redis://me:secret@here/3"),
        morning=420,
        limits={"run.run.calls": 3},
        api_key=SecretStr("a key"),
        endpoints={"ours": {"base_url": "http://here/v1", "api_key": "another key"}},
    )
    found = worker_environment(settings)
    assert not [name for name in found if name.startswith("CELERY_")]
    assert "COGITATE_METRICS_PORT" not in found, "the host has none"
    assert found["COGITATE_DATA_DIR"] == str(tmp_path / "data")
    assert found["COGITATE_REDIS_URL"] == "redis://me:secret@here/3"
    assert found["COGITATE_BROKER_URL"] == settings.messages_url()
    assert found["COGITATE_MORNING"] == "420"
    assert found["COGITATE_API_KEY"] == "a key"
    assert json.loads(found["COGITATE_ENDPOINTS"])["ours"]["api_key"] == "another key"
    assert json.loads(found["COGITATE_LIMITS"]) == {"run.run.calls": 3}
    assert found["PYTHONPATH"] == "/mine", "as the host has it: the worker searches the host's own paths before"
    assert json.loads(found[PATHS_VARIABLE]) == [str(Path(path).absolute()) for path in sys.path]
    assert worker_command("me@%h")[-6:-2] == ["--hostname", "me@%h", "--loglevel", "warning"]


def test_a_host_that_leaves_its_workers_running_ends(tmp_path: Path) -> None:
    host = (
        "import sys, threading; from pathlib import Path;"
        "from cogitate.scheduler.config.settings import PinnedSettings;"
        "from cogitate.workers.processes.supervisor import WorkerPool\n"
        "class Kept(WorkerPool):\n"
        "    def _keep(self, number): threading.Event().wait()\n"
        "Kept(PinnedSettings(data_dir=Path(sys.argv[1]), redis_url='redis://localhost:1/0'), 1).start()"
    )
    ended = subprocess.run([sys.executable, "-c", host, str(tmp_path)], cwd=ROOT, timeout=LONGEST, check=False)
    assert ended.returncode == 0
