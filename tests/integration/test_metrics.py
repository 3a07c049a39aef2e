"""A real Prometheus scrapes a live run, host and worker, and its figures are the run's."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ops.drive import drive
from ops.fake_llm import FakeEndpoint
from ops.host import TickLoop
from ops.worlds import WorldChoice
from scheduler.settings import ConfigurationError, Settings
from scheduler.summary import summarise_run

Eventually = Callable[..., None]
SHIPPED = Path(__file__).parents[2] / "ops" / "prometheus"


def free_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    while True:
        with closing(socket.socket()) as first:
            first.bind(("127.0.0.1", 0))
            start: int = first.getsockname()[1]
            if start + count > 65_000:
                continue
            try:
                for port in range(start + 1, start + count):
                    with closing(socket.socket()) as other:
                        other.bind(("127.0.0.1", port))
            except OSError:
                continue
            return start


@contextmanager
def prometheus(folder: Path, targets: dict[str, int]) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """A Prometheus with our rules that scrapes these jobs at loopback ports; yields how to query it."""
    binary = shutil.which("prometheus")
    if binary is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no prometheus on this machine")
    port = free_ports(1)
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]} for name, target in targets.items()
    ]
    config = folder / "prometheus.yml"
    config.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(SHIPPED / "alerts.yml")],
                "scrape_configs": jobs,
            }
        )
    )
    with (folder / "prometheus.log").open("wb") as out:
        process = subprocess.Popen(
            [
                *(binary, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"),
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=out,
            stderr=out,
        )

    def ask(expression: str) -> list[dict[str, Any]]:
        url = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
                return found
        except OSError:
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            return []

    try:
        yield ask
    finally:
        process.terminate()
        process.wait(20)


def total(found: list[dict[str, Any]]) -> int:
    return sum(int(float(series["value"][1])) for series in found)


@pytest.mark.system
def test_prometheus_scrapes_a_live_run(tmp_path: Path, eventually: Eventually) -> None:
    port = free_ports(2)
    world = WorldChoice(agents=4).open()
    with (
        FakeEndpoint() as endpoint,
        prometheus(tmp_path, {"cogitate-host": port, "cogitate-worker": port + 1}) as ask,
        TickLoop(
            run="seen", owners=world.owners(), locations=world.locations, brief=world.brief, ticks=500,
            start_minute=world.start_minute, settings=Settings(
                data_dir=tmp_path / "data", workers=1, metrics_port=port, llm="openai", base_url=endpoint.url,
                api_key=SecretStr("any"), limit_tokens=10_000_000,
            ),
        ) as loop,
    ):  # fmt: skip
        drive(loop, world)
        ended = sum(loop.ended.values())
        assert ended

        def scraped() -> bool:
            jobs = total(ask('cogitate_jobs_total{job="cogitate-host"}'))
            return jobs + total(ask('cogitate_requests_total{decision=~"deferred|dropped"}')) == ended

        eventually(scraped, "Prometheus to know as many ended jobs as the host")

        def charged() -> int:
            lines = summarise_run(loop.ledger.client, "seen").budget
            return next(x.spent for x in lines if (x.window, x.scope, x.unit) == ("run:0", "run", "calls"))

        eventually(
            lambda: (
                0
                < charged()
                == total(ask('cogitate_budget_spent{period="run",scope="run",unit="calls"}'))
                == total(ask('cogitate_attempts_total{job="cogitate-worker",source="llm"}'))
            ),
            "ledger, host and worker to agree on the calls",
        )
        sources = ask('sum by (source) (cogitate_attempts_total{job="cogitate-worker"})')
        assert [series["metric"]["source"] for series in sources] == ["llm"]
        assert total(ask("cogitate_host_tick_seconds_count")) == 500
        assert total(ask("cogitate_ledger_up")) == 1


@pytest.mark.system
def test_the_shipped_rules_and_configuration_are_accepted(tmp_path: Path) -> None:
    tool = shutil.which("promtool")
    if tool is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no promtool on this machine")
    for arguments in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run([tool, "check", *arguments], cwd=SHIPPED, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_port_that_is_taken_is_said_before_anything_runs(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port}.*COGITATE_METRICS_PORT"):
            TickLoop(run="r", owners={}, settings=Settings(data_dir=tmp_path, metrics_port=port), inline=True)
