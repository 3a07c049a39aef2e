"""Real incidents, observed by a real Prometheus: each fires its alert.

`test_disk_full_alert` does the same with a full disk; `test_alert_rules` tests every rule with series.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.integration.hosting.test_metrics import prometheus
from tests.integration.hosting.thinking_town import thinking
from tests.live_flower import started
from tests.ports import free_ports

pytestmark = pytest.mark.system

Ask = Callable[[str], list[dict[str, Any]]]


def alerts(ask: Ask, state: str = "firing") -> set[str]:
    """Return the names of the alerts in a state."""
    found = ask(f'ALERTS{{alertstate="{state}"}}')
    return {series["metric"]["alertname"].removeprefix("Cogitate") for series in found}


@contextmanager
def worker(data_dir: Path, log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker without a supervisor for a block."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "cogitate",
        "worker",
        "-P",
        "threads",
        "-c",
        "9",
        "-n",
        "by-hand@here",
    ]
    given = {"COGITATE_DATA_DIR": str(data_dir), **environment}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=os.environ | given, cwd=log.parent, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Watched:
    """Two runs on one server with a worker, and a Prometheus that scrapes all but the second run's host."""

    folder: Path
    ask: Ask
    server: EmbeddedServer
    endpoint: FakeEndpoint
    worker: subprocess.Popen[bytes]
    host: subprocess.Popen[bytes]
    gone: subprocess.Popen[bytes]

    def budget(self, limit: int) -> None:
        """Set the limit of the first run."""
        done = typed("budget", "town", "set", "run.usd_micros", str(limit), data_dir=self.folder / "data")
        assert done.returncode == 0, done.stderr


@pytest.fixture
def watched(tmp_path: Path, eventually: Callable[..., None]) -> Iterator[Watched]:
    """Yield two healthy runs."""
    data_dir, ports = tmp_path / "data", free_ports(3)
    paced = ("run", "--town", 3, "--days", 90, "--tick-rate", 4, "--workers", 0, "--llm", "openai", "--limit-usd", 1)
    with EmbeddedServer(data_dir) as server, FakeEndpoint(latency=0.02) as endpoint:
        thinks = {
            **thinking(endpoint.url),
            "COGITATE_SOCKET_TIMEOUT": "0.3",
            "COGITATE_TUNING": '{"breaker_failures": 4, "breaker_pause": 1}',
            "COGITATE_OUTAGE_WAIT": "600",
            "COGITATE_LIMITS": json.dumps({}),
        }
        targets = {"cogitate-host": [ports], "cogitate-worker": [ports + 1]}

        def run(name: str, port: int) -> Any:
            return started(
                *paced,
                "--run",
                name,
                data_dir=data_dir,
                log=tmp_path / f"{name}.log",
                COGITATE_METRICS_PORT=str(port),
                **thinks,
            )

        with (
            prometheus(tmp_path, targets) as ask,
            worker(data_dir, tmp_path / "worker.log", thinks | {"COGITATE_METRICS_PORT": str(ports + 1)}) as hand,
            run("town", ports) as host,
            run("gone", ports + 2) as gone,
        ):
            asked = "cogitate_endpoint_calls_total > 5"
            eventually(lambda: host.poll() is not None or ask(asked), "the model to be asked")
            eventually(lambda: len(ask("up == 1")) == 2, "all targets to answer")
            assert alerts(ask) == set(), "all is well"
            yield Watched(tmp_path, ask, server, endpoint, hand, host, gone)
            assert host.poll() is None, (tmp_path / "town.log").read_text()


def test_a_limited_model_and_a_spent_budget_fire_their_alerts(
    watched: Watched, eventually: Callable[..., None]
) -> None:
    ask = watched.ask
    watched.endpoint.change(faults={"429:3": 1.0})  # each call is answered by a request to pause for three seconds
    watched.budget(100)
    seen: set[str] = set()

    def both_fired() -> bool:
        seen.update(alerts(ask))
        return {"EndpointHeld", "BudgetNearlySpent"} <= seen or watched.host.poll() is not None

    eventually(both_fired, "the alerts of a limited model and a spent budget")
    watched.budget(1_000_000)
    eventually(lambda: "BudgetNearlySpent" not in alerts(ask), "that alert to end")


def test_incidents_fire_their_alerts(watched: Watched, eventually: Callable[..., None]) -> None:
    ask = watched.ask
    watched.endpoint.change(faults={"503": 1.0})
    eventually(lambda: "BreakerOpen" in alerts(ask), "the breaker's alert")
    eventually(lambda: "EndpointFailing" in alerts(ask) | alerts(ask, "pending"), "the failures to be counted")
    for process in (watched.worker, watched.gone):
        process.kill()
        process.wait()
    wanted = {"NoHost", "TargetDown", "WorkerMissing", "ThoughtsTooLate", "EndpointFailing"}
    seen: set[str] = set()

    def all_fired() -> bool:
        seen.update(alerts(ask))
        return wanted <= seen or watched.host.poll() is not None

    eventually(all_fired, "each incident to fire its alert")
    assert wanted <= seen, (watched.folder / "town.log").read_text()

    assert watched.server.pid is not None
    os.kill(watched.server.pid, signal.SIGSTOP)
    try:
        eventually(lambda: "LedgerAway" in alerts(ask), "the alert of a frozen Redis")
    finally:
        os.kill(watched.server.pid, signal.SIGCONT)
    eventually(lambda: "LedgerAway" not in alerts(ask), "that alert to end")
