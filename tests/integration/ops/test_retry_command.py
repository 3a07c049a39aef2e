"""`cogitate retry` after an outage: a model's plan replaces the heuristic's."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery, JobRecord
from cogitate.scheduler.ledger.run_store import run_names
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.conftest import Eventually
from tests.integration.command import command, summary
from tests.patience import LONGEST
from tests.process_environment import clean_environment

RUN = "again"


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """Yield a model that refuses every request until the test changes it."""
    with FakeEndpoint(faults={"refusal": 1.0}) as running:
        yield running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "data") as running:
        yield running


@pytest.fixture
def host(server: EmbeddedServer, endpoint: FakeEndpoint) -> Iterator[subprocess.Popen[bytes]]:
    """Run a paced town that calls this model; agents plan from 00:30 on, and no plan comes too late."""
    told = {
        "COGITATE_BASE_URL": endpoint.url,
        "OPENAI_API_KEY": "any",
        "COGITATE_MORNING": "30",
        "COGITATE_LATENCY": '{"plan": 600}',
        "COGITATE_APPLY": "ready",
    }
    with (server.data_dir / "host.log").open("wb") as log:
        started = subprocess.Popen(
            command(
                "run",
                "--run",
                RUN,
                "--town",
                2,
                "--ticks",
                20_000,
                "--workers",
                1,
                "--tick-rate",
                20,
                "--wait",
                60,
                "--llm",
                "openai",
                "--limit-tokens",
                10_000_000,
                data_dir=server.data_dir,
            ),
            env=clean_environment(**told),
            cwd=server.data_dir.parent,
            stdout=log,
            stderr=log,
        )
        yield started
        started.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(LONGEST)
        started.kill()
        started.wait()


def test_a_retry_replaces_the_heuristics_plan_by_the_models(
    server: EmbeddedServer, host: subprocess.Popen[bytes], endpoint: FakeEndpoint, eventually: Eventually
) -> None:
    def plans(source: str) -> list[JobRecord]:
        assert host.poll() is None, (server.data_dir / "host.log").read_text()
        applied = (
            JobHistory(client, RUN).newest(0, JobQuery(kind="plan", state="applied"))
            if RUN in run_names(client)
            else []
        )
        return [plan for plan in applied if plan.source == source]

    with server.client() as client:
        eventually(lambda: plans("heuristic"), "a plan by the heuristic", 60)
        failed = plans("heuristic")[-1]
        endpoint.change(faults={})
        (request,) = summary("retry", failed.id, data_dir=server.data_dir)["requests"]
        assert request["state"] == "applied"
        again = f"{RUN}/{request['detail']}"
        eventually(lambda: again in [plan.id for plan in plans("llm")], "the model's plan by the new job", 60)
        (was,), (now,) = failed.appended, next(plan for plan in plans("llm") if plan.id == again).appended

    memory = summary("memory", RUN, failed.owner, data_dir=server.data_dir)
    assert {entry["number"]: entry["archived"] for entry in memory["entries"]}[was]["into"] == now
