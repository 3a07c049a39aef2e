"""A server whose disk is full: `cogitate status` reports it, a real Prometheus fires the alert, and the run goes on."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.integration.hosting.test_metrics import prometheus
from tests.live_flower import started
from tests.ports import free_ports

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process"),
]

ALERT = 'ALERTS{alertname="CogitateRedisRefusesWrites",alertstate="firing"}'


def test_a_full_disk_fires_an_alert_and_the_run_continues(tmp_path: Path, eventually: Callable[..., None]) -> None:
    data_dir, port = tmp_path / "data", free_ports(2)
    with (
        EmbeddedServer(data_dir) as server,
        server.client() as client,
        prometheus(tmp_path, {"cogitate-host": [port]}) as ask,
        started(
            *("run", "--town", 2, "--ticks", 200_000, "--tick-rate", 5, "--workers", 1, "--run", "full"),
            data_dir=data_dir,
            log=tmp_path / "run.log",
            COGITATE_METRICS_PORT=str(port),
            COGITATE_OUTAGE_WAIT="600",
        ) as host,
    ):

        def tick() -> int:
            return RunStore.open(client, "full").tick() if "full" in run_names(client) else 0

        eventually(lambda: tick() > 5 or host.poll() is not None, "the run to begin", 60.0)
        eventually(lambda: ask('cogitate_ledger_up{run="full"} == 1'), "Prometheus to know its host", 30.0)
        assert not ask(ALERT)
        assert server.pid is not None
        client.config_set("appendfsync", "everysec")  # with "always" the server would exit instead
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        try:
            eventually(lambda: ask(ALERT), "the alert to fire", 90.0)
            shown = typed("status", "full", data_dir=data_dir)
            assert "Redis refuses writes: it cannot save to disk" in shown.stderr + shown.stdout
            last = tick()
        finally:
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        eventually(lambda: tick() > last, "the run to go on", 60.0)
        eventually(lambda: not ask(ALERT), "the alert to end", 60.0)
        assert host.poll() is None, (tmp_path / "run.log").read_text()
