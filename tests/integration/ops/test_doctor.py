"""`cogitate doctor` reports the fault of a setup and its remedy, for setups that are broken in different ways."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.doctor.command import examine_workers
from cogitate.ops.doctor.redis import examine_redis
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.registry import kinds
from cogitate.workers.celery_app import make_app
from cogitate.workers.llm.requests.dialect import Dialect, DialectStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import cogitate, typed

KINDS = [kind.name for kind in kinds()]


def findings(data_dir: Path, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run the doctor, and return its exit code and its findings by the thing examined."""
    done = typed("doctor", "--json", data_dir=data_dir, **environment)
    assert done.stdout, done.stderr
    return done.returncode, {finding["what"]: finding for finding in json.loads(done.stdout.splitlines()[-1])}


@pytest.fixture
def no_worker_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait for workers' answers where no worker runs."""
    monkeypatch.setattr("cogitate.ops.doctor.command.ANSWER_WITHIN", 0.1)


def test_a_new_data_folder_passes(tmp_path: Path) -> None:
    code, found = findings(tmp_path / "data")
    assert code == 0
    assert {finding["grade"] for finding in found.values()} == {"ok"}
    assert found["state persistence"]["found"] == "append-only file, appendfsync always"
    assert {"configuration", "clock", "broker eviction", "workers", "endpoints"} <= set(found)
    table = cogitate("doctor", data_dir=tmp_path / "data")
    assert (table.returncode, "noeviction" in table.stdout) == (0, True)


def test_an_unreachable_server_and_an_invalid_setting_fail(tmp_path: Path) -> None:
    code, found = findings(
        tmp_path / "data", COGITATE_REDIS_URL="redis://127.0.0.1:1/0", COGITATE_LIMITS='{"day.kind:dream.calls": 1}'
    )
    assert code == 1
    assert "127.0.0.1:1" in found["state"]["found"]
    assert found["state"]["advice"]
    assert (found["configuration"]["grade"], "'dream'" in found["configuration"]["found"]) == ("failed", True)


def test_a_misspelt_variable_is_a_warning_with_a_suggestion(tmp_path: Path) -> None:
    code, found = findings(tmp_path / "data", COGITATE_WORKRS="3", COGITATE_RECORDINGS="/somewhere")
    assert code == 0
    assert found["COGITATE_WORKRS"]["grade"] == "warning"
    assert found["COGITATE_WORKRS"]["advice"] == "did you mean COGITATE_WORKERS?"
    assert "COGITATE_RECORDINGS" not in found


def test_a_server_that_may_lose_data_is_reported(valkey: EmbeddedServer) -> None:
    with valkey.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", client.info()["used_memory"])
        client.config_set("appendfsync", "no")
        try:
            found = {finding.what: finding for finding in examine_redis(client, "state")}
        finally:
            client.config_set("maxmemory", 0)
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("appendfsync", "always")
    assert (found["state eviction"].grade, found["state memory"].grade) == ("failed", "warning")
    assert (found["state persistence"].grade, "appendfsync" in found["state persistence"].advice) == ("warning", True)


def test_a_clock_difference_is_a_warning(valkey: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    there = time.time
    monkeypatch.setattr("cogitate.ops.doctor.redis.time.time", lambda: there() - 100)
    with valkey.client() as client:
        found = {finding.what: finding for finding in examine_redis(client, "state")}
    assert found["clock"].grade == "warning"
    assert "+100" in found["clock"].found


def test_queues_and_kinds_that_workers_lack_are_reported(
    worker_settings: Settings, worker_log: Callable[[], str]
) -> None:
    assert worker_log()
    with make_app(worker_settings.messages_url()) as app:
        found = {finding.what: finding for finding in examine_workers(app, KINDS, expected=True)}
        assert {finding.grade for finding in found.values()} == {"ok"}
        more = {finding.what: finding for finding in examine_workers(app, [*KINDS, "dream"], expected=True)}
    assert (more["queues"].grade, "dream" in more["queues"].found) == ("failed", True)
    lacking = [finding for what, finding in more.items() if what.startswith("worker ")]
    assert [finding.found for finding in lacking] == ["does not know dream"]


@pytest.mark.usefixtures("no_worker_is_awaited")
def test_missing_workers_are_reported_only_if_a_run_waits(valkey: EmbeddedServer) -> None:
    with make_app(valkey.url) as app:
        assert [one.grade for one in examine_workers(app, KINDS, expected=False)] == ["ok"]
        assert [one.grade for one in examine_workers(app, KINDS, expected=True)] == ["failed"]


@pytest.mark.usefixtures("no_worker_is_awaited")
def test_endpoints_and_models_are_examined(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as redis:
        with FakeEndpoint() as endpoint:
            asked = {"COGITATE_LLM": "openai", "COGITATE_LIMIT_TOKENS": "1000", "COGITATE_BASE_URL": endpoint.url}
            code, found = findings(tmp_path / "data", COGITATE_MODEL=MODEL, **asked)
            assert (code, found["endpoint default"]["grade"], found["model default"]["grade"]) == (0, "ok", "ok")
            code, found = findings(tmp_path / "data", COGITATE_MODEL="gone", **asked)
            assert (code, "'gone'" in found["model default"]["found"]) == (1, True)
            with redis.client() as client:
                server = endpoint.url.rstrip("/")
                DialectStore(client).save(server, MODEL, Dialect(form="text"))
            _, found = findings(tmp_path / "data", COGITATE_MODEL=MODEL, **asked)
            assert (found["model default"]["grade"], "text" in found["model default"]["found"]) == ("warning", True)
        code, found = findings(tmp_path / "data", COGITATE_MODEL=MODEL, **asked)
        assert (code, found["endpoint default"]["grade"]) == (1, "failed")
