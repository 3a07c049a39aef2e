"""What a run reports about jobs that no model answered: endpoint, start, number, and what to check."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.formatting.run import degraded_lines
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.workers.llm.requests.address import servers_of
from tests.integration.command import typed
from tests.ports import free_ports

OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cid", "Dora")}


@pytest.fixture
def nobody() -> str:
    """Return the address of a server that does not exist."""
    return f"http://user:pass@127.0.0.1:{free_ports()}/v1"


def live(
    client: Redis, folder: Path, url: str, **more: Any
) -> tuple[RunSummary, list[str], list[MutableMapping[str, Any]]]:
    """Run owners that plan at tick 1 and reflect at tick 3; return the summary, its sentences and logged warnings."""
    given: dict[str, Any] = {
        "data_dir": folder,
        "llm": "openai",
        "limit_tokens": 10_000_000,
        "limits": {},
        "breaker_failures": 5,
        "breaker_pause": 600.0,
        "breaker_longest_pause": 600.0,
        "endpoints": {"home": Endpoint(base_url=url, api_key="any")},
        "models": {"small": {"endpoint": "home", "model": "m"}},
        "tiers": {"routine": "small"},
    }
    settings = Settings.tuned(**(given | more))
    with (
        capture_logs() as logs,
        TickLoop(run="town", owners=OWNERS, settings=settings, ticks=40, inline=True, client=client) as loop,
    ):
        for tick in loop:
            for owner in OWNERS:
                seen = {"text": f"It is {tick.minute} now.", "minute": tick.minute, "importance": 4}
                loop.observe(owner, seen)
                if tick.number in (1, 3):
                    loop.request("plan" if tick.number == 1 else "reflect", owner)
    assert audit(client, "town") == []
    summary = summarise_run(client, "town")
    warned = [
        entry for entry in logs if entry["event"] in ("endpoint.unreachable", "real_day.spent") and "run" in entry
    ]
    return summary, degraded_lines(summary, servers_of(settings)), warned


def test_an_unreachable_endpoint_is_named_with_its_cost(client: Redis, tmp_path: Path, nobody: str) -> None:
    summary, lines, warned = live(client, tmp_path, nobody)
    connection, breaker = sorted(summary.shortfalls, key=lambda one: one.because)
    assert (connection.endpoint, connection.failure, breaker.because) == ("home", "connection", "connection")
    assert {kind: connection.kinds.get(kind, 0) + breaker.kinds.get(kind, 0) for kind in breaker.kinds} == {
        "plan": 4,
        "reflect": 4,
    }
    said = next(line for line in lines if line.startswith("Endpoint home"))
    assert nobody.replace("user:pass@", "") in said
    assert "user:pass" not in said
    assert f": first at tick {connection.first} (day 1, 12:0{connection.first} AM), last at" in said
    assert "Heuristic results: 8 (4 plan, 4 reflect)" in said
    assert f"the breaker was already open for {breaker.jobs} of them" in said
    assert not any("gave no usable answer" in line for line in lines)
    assert [(entry["endpoint"], entry["why"], entry["tick"]) for entry in warned] == [
        ("home", "connection", connection.first)
    ], "one warning"
    assert warned[0]["host_address"] == nobody.replace("user:pass@", "")
    assert "COGITATE_BASE_URL on the workers" in warned[0]["then"]
    record = next(one for one in JobHistory(client, "town").newest(0) if one.failure == "breaker_open")
    assert record.because == "connection"


def test_a_custom_host_logs_unanswered_models_at_its_end(client: Redis, tmp_path: Path, nobody: str) -> None:
    settings = Settings(
        data_dir=tmp_path,
        llm="openai",
        limit_tokens=10_000_000,
        limits={},
        base_url=nobody,
        api_key="any",
        model="m",
        clock="24h",
    )
    with (
        capture_logs() as logs,
        TickLoop(run="own", owners=OWNERS, settings=settings, inline=True, client=client) as loop,
    ):
        ticks = iter(loop)
        for owner in OWNERS:
            next(ticks)
            loop.request("plan", owner)
        while loop.state.open:
            next(ticks)
    (told,) = [entry for entry in logs if entry["event"] == "models.unanswered"]
    assert told["run"] == "own"
    assert "could not be reached" in told["said"]
    assert "(day 1, 00:" in told["said"], "in the format of the run's clock"
    assert "Heuristic results: 4 (4 plan)" in told["said"]


def test_unanswered_models_are_logged_even_if_the_journal_is_unreadable(
    client: Redis, tmp_path: Path, nobody: str
) -> None:
    settings = Settings(
        data_dir=tmp_path, llm="openai", limit_tokens=10_000_000, limits={}, base_url=nobody, api_key="any", model="m"
    )

    def die() -> None:
        with TickLoop(run="own", owners=OWNERS, settings=settings, inline=True, client=client) as loop:
            ticks = iter(loop)
            next(ticks)
            loop.request("plan", "agent:ann")
            next(ticks)
            while loop.state.open:
                next(ticks)
            next(ticks)  # the previous tick is committed
            client.lset(loop.ledger.store.key("journal"), 0, b"no line at all")
            raise LookupError("the first error")

    with capture_logs() as logs, pytest.raises(LookupError, match="the first error"):
        die()
    (told,) = [entry for entry in logs if entry["event"] == "models.unanswered"]
    assert (told["since"], "Heuristic results: 1 (1 plan)" in told["said"]) == (1, True)


def test_a_spent_limit_of_the_real_day_is_named_as_the_cause(client: Redis, tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        summary, lines, warned = live(client, tmp_path, endpoint.url, real_day_tokens=100)
        assert endpoint.stats().requests == 0
    assert [(one.failure, one.jobs) for one in summary.shortfalls] == [("real_day_spent", 8)]
    assert any(line.startswith("The limit of the real day was spent") for line in lines)
    assert [entry["event"] for entry in warned] == ["real_day.spent"]


def test_a_refused_key_names_what_to_check(client: Redis, tmp_path: Path) -> None:
    with FakeEndpoint(faults={"401": 1.0}) as endpoint:
        _, lines, warned = live(client, tmp_path, endpoint.url)
    said = next(line for line in lines if line.startswith("Endpoint home"))
    assert "refused the key" in said
    assert "api_key" in said
    assert [entry["why"] for entry in warned] == ["auth"]


def test_unusable_answers_are_attributed_to_the_model(client: Redis, tmp_path: Path) -> None:
    with FakeEndpoint(faults={"not_json": 1.0}) as endpoint:
        summary, lines, warned = live(client, tmp_path, endpoint.url)
    assert {one.failure for one in summary.shortfalls} == {"not_json"}
    assert any(line.startswith("Model small gave no usable answer") and "faults: not_json 8" in line for line in lines)
    assert warned == []


def test_the_commands_report_an_unreachable_endpoint_during_and_after_a_run(tmp_path: Path, nobody: str) -> None:
    folder = tmp_path / "data"
    model = {"COGITATE_BASE_URL": nobody, "COGITATE_MODEL": "m"}
    arguments = ("--town", 2, "--ticks", 370, "--run", "town", "--llm", "openai", "--limit-tokens", 1_000_000)
    ended = typed("run", *arguments, data_dir=folder, **model)
    assert ended.returncode == 0, ended.stderr
    server = nobody.replace("user:pass@", "")
    unreached = "could not be reached, or broke off its answers: "
    assert f"Endpoint default ({server} in the host's settings) {unreached}" in ended.stdout
    assert ended.stderr.count("endpoint.unreachable") == 1
    assert "models.unanswered" not in ended.stderr, "the summary reports it instead"
    assert f"Endpoint default {unreached}" in typed("status", "town", data_dir=folder, **model).stdout
    elsewhere = typed("status", "town", data_dir=folder)
    assert f"Endpoint default {unreached}" in elsewhere.stdout, "the reader's settings are not the run's"
