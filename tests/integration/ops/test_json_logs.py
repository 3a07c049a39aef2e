"""`COGITATE_LOG=json`: hosts and workers log one JSON object per line, with its time and job."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from tests.integration.command import cogitate


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """Run a host and a worker whose model rejects every call, and return the log lines of each."""
    data_dir: Path = tmp_path_factory.mktemp("logged") / "data"
    with FakeEndpoint(faults={"401": 1.0}) as endpoint:
        done = cogitate(
            "run",
            "--town",
            2,
            "--ticks",
            60,
            "--workers",
            1,
            "--llm",
            "openai",
            "--limit-tokens",
            100_000,
            "-v",
            data_dir=data_dir,
            COGITATE_SECONDS_PER_TICK="600",
            COGITATE_LOG="json",
            COGITATE_MODEL=MODEL,
            COGITATE_BASE_URL=endpoint.url,
            OPENAI_API_KEY="any-secret",
            PYTHONWARNINGS="ignore",
        )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("{")]
    return said, (data_dir / "worker-1.log").read_text().splitlines()


def parsed(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_a_host_logs_json_with_time_run_and_tick(logged: tuple[list[str], list[str]]) -> None:
    events = parsed(logged[0])
    assert {"run.left", "endpoint.unreachable"} <= {event["event"] for event in events}
    for event in events:
        assert event["level"] in ("debug", "info", "warning", "error")
        at = datetime.fromisoformat(event["timestamp"])
        assert at.tzinfo == UTC
        assert at.year >= 2026
        assert event["run"] == "town-1"
        assert 0 <= event["tick"] <= 60


def test_a_worker_logs_json_with_run_job_tick_and_attempt(
    logged: tuple[list[str], list[str]],
) -> None:
    text = {line for line in logged[1] if not line.startswith("{")}
    assert text <= {"", "worker: Warm shutdown (MainProcess)"}, "Celery prints this past the logs"
    events = parsed([line for line in logged[1] if line not in text])
    of_jobs = [event for event in events if "job" in event]
    assert {"job.degraded", "llm.failed"} <= {event["event"] for event in of_jobs}
    for event in of_jobs:
        assert event["run"] == "town-1"
        assert event["job"].startswith(f"town-1/{event['tick']}/")
        assert event["attempt"] >= 1
    assert "any-secret" not in "".join(logged[1])
