"""Workers at the start of a run: hosts wait for them, they import the host's modules, and lacking kinds are named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.claims import trial_hints
from cogitate.tasks import registry
from cogitate.tasks.prune import Prune
from cogitate.tasks.registry import kind_names
from cogitate.workers.processes import readiness
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.patience import LONGEST
from tests.process_environment import clean_environment

OWNERS = {"agent:ada": Profile(name="Ada")}
Logs = list[MutableMapping[str, Any]]

BESIDE = """
import os
import cogitate
from cogitate.tasks.prune import Prune

class Dream(Prune):
    name = "dream"
    order = 91
    latency = 3

cogitate.kinds.register(Dream())
"""
SCRIPT = """
from pathlib import Path
import sys
from cogitate import Profile, Settings, TickLoop

if __name__ == "__main__":
    settings = Settings(data_dir=Path(sys.argv[1]), kinds=("dreams",), workers=1)
    with TickLoop(run="night", owners={"agent:ada": Profile(name="Ada")}, settings=settings, ticks=10) as loop:
        for tick in loop:
            if tick.number == 2:
                loop.request("dream", "agent:ada")
        print(dict(loop.ended))
"""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend the timeouts of starting workers for busy machines."""
    monkeypatch.setattr(readiness, "OWN", 120.0)
    monkeypatch.setattr(readiness, "SLOW", 120.0)


@pytest.fixture
def registered() -> Callable[[str], None]:
    """Return a function that registers a kind in this process only."""

    def register(name: str) -> None:
        kind = type("Dream", (Prune,), {"name": name, "order": 91})()
        registry.register(kind)

    return register


def events(logs: Logs) -> list[str]:
    return [entry["event"] for entry in logs if entry["log_level"] in ("warning", "error")]


def test_workers_import_modules_beside_the_hosts_script(tmp_path: Path) -> None:
    scripts, elsewhere = tmp_path / "scripts", tmp_path / "elsewhere"
    scripts.mkdir()
    elsewhere.mkdir()
    (scripts / "dreams.py").write_text(BESIDE)
    (scripts / "night.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, str(scripts / "night.py"), str(tmp_path / "data")],
        cwd=elsewhere,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "{('dream', 'heuristic', 'none'): 1}" in ended.stdout
    assert "worker." not in ended.stderr


@pytest.mark.parametrize("tick_rate", [None, 50.0])
def test_a_worker_that_cannot_start_stops_the_run_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tick_rate: float | None
) -> None:
    module = (
        "import os\nif 'COGITATE_PARENT_PID' in os.environ:\n    raise RuntimeError('no lamp, key ' + 'sk-secret')\n"
    )
    (tmp_path / "lamps.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings(
        data_dir=tmp_path / "data", kinds=("lamps",), workers=1, tick_rate=tick_rate, api_key="sk-secret"
    )
    lived: list[int] = []

    def live() -> None:
        with TickLoop(run="dark", owners=OWNERS, settings=settings, ticks=20) as loop:
            for tick in loop:
                lived.append(tick.number)
                if tick.number == 1:
                    loop.request("prune", "agent:ada")

    with (
        capture_logs() as logs,
        pytest.raises(ConfigurationError, match=r"a worker cannot start: .*no lamp, key \*\*\*"),
    ):
        live()
    assert 20 not in lived
    assert not (tick_rate and lived)
    assert events(logs) == ["worker.given_up"], "a restarted worker would fail the same way"


def test_a_paced_run_waits_for_its_workers_before_the_first_tick(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, workers=1, tick_rate=1000.0)
    keys = [hint.key for hint in trial_hints("early", kind_names())]
    with capture_logs() as logs, TickLoop(run="early", owners=OWNERS, settings=settings, ticks=3) as loop:
        assert next(iter(loop)).number == 1
        assert loop.ledger.answered(keys) == set(keys)
        assert audit(loop.ledger.client, "early") == []
    assert "workers.not_ready" not in events(logs)


def test_a_run_that_waits_for_results_starts_at_once(tmp_path: Path) -> None:
    with TickLoop(run="calm", owners=OWNERS, settings=Settings(data_dir=tmp_path, workers=1), ticks=3) as loop:
        assert [tick.number for tick in loop] == [1, 2, 3]


def test_a_stopping_host_does_not_wait_for_workers(tmp_path: Path, valkey: EmbeddedServer) -> None:
    settings = Settings(data_dir=tmp_path, redis_url=valkey.url, workers=0, tick_rate=1000.0)
    with capture_logs() as logs, TickLoop(run="over", owners=OWNERS, settings=settings, ticks=3) as loop:
        loop.stop()
        assert list(loop) == []
    assert events(logs) == []


def test_a_run_without_workers_warns_and_continues(
    tmp_path: Path, valkey: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "OTHERS", 0.05)
    settings = Settings(data_dir=tmp_path, redis_url=valkey.url, workers=0, tick_rate=1000.0)
    with capture_logs() as logs, TickLoop(run="alone", owners=OWNERS, settings=settings, ticks=3) as loop:
        assert [tick.number for tick in loop] == [1, 2, 3]
    assert events(logs) == ["workers.not_ready"]


@pytest.mark.parametrize("tick_rate", [None, 50.0])
def test_a_kind_unknown_to_the_hosts_workers_is_reported(
    tmp_path: Path,
    registered: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[..., None],
    tick_rate: float | None,
) -> None:
    monkeypatch.setattr("cogitate.hosting.tick_loop.PATIENT", 2.0)
    known = {hint.key for hint in trial_hints("night", kind_names())}
    registered("dream")
    settings = Settings(data_dir=tmp_path, workers=1, tick_rate=tick_rate, wait=3.0 if tick_rate is None else None)
    with capture_logs() as logs, TickLoop(run="night", owners=OWNERS, settings=settings, ticks=40) as loop:
        eventually(lambda: loop.ledger.answered(sorted(known)) == known, "the worker to answer")
        for tick in loop:
            if tick.number == 1:
                loop.request("dream", "agent:ada")
    said = [entry for entry in logs if entry["event"] == "workers.unknown_kind"]
    assert [entry["kinds"] for entry in said] == [["dream"]]


def test_a_kind_unknown_to_all_other_workers_is_reported(
    tmp_path: Path,
    valkey: EmbeddedServer,
    worker_log: Callable[[], str],
    registered: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness, "OTHERS", 60.0)
    registered("dream")
    settings = Settings(data_dir=tmp_path, redis_url=valkey.url, workers=0, tick_rate=1000.0)
    with capture_logs() as logs, TickLoop(run="guests", owners=OWNERS, settings=settings, ticks=2) as loop:
        assert [tick.number for tick in loop] == [1, 2]
    assert [entry["kinds"] for entry in logs if entry["event"] == "workers.unknown_kind"] == [["dream"]]
    assert "Traceback" not in worker_log()
