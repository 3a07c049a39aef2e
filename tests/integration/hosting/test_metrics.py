"""Metrics of hosts and workers: their values equal the run's, also in a real Prometheus."""

from __future__ import annotations

import socket
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.hosting.inline import InlinePublisher
from cogitate.hosting.metrics import _Ledger
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.doctor.command import examine_runs
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.inspection.vitals import run_heads
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.presence import this_process
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.metrics import server_gauges
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.hosting.prometheus_case import LIMIT, prometheus
from tests.integration.scheduler.ledger.ledger_case import Host
from tests.patience import LONGEST
from tests.ports import free_ports

Eventually = Callable[..., None]


def total(found: list[dict[str, Any]]) -> int:
    return sum(int(float(series["value"][1])) for series in found)


@pytest.mark.system
def test_prometheus_scrapes_a_live_run(tmp_path: Path, eventually: Eventually) -> None:
    port = free_ports(2)
    world = WorldChoice(agents=4).open()
    with (
        FakeEndpoint() as endpoint,
        prometheus(tmp_path, {"cogitate-host": [port], "cogitate-worker": [port + 1]}) as ask,
        TickLoop(
            run="seen",
            owners=world.owners(),
            locations=world.locations,
            brief=world.brief,
            ticks=500,
            start_minute=world.start_minute,
            settings=Settings(
                data_dir=tmp_path / "data",
                workers=1,
                metrics_port=port,
                llm="openai",
                base_url=endpoint.url,
                api_key=SecretStr("any"),
                limit_tokens=10_000_000,
            ),
        ) as loop,
    ):
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
        eventually(lambda: total(ask("cogitate_host_tick_seconds_count")) == 500, "Prometheus to know every tick")
        assert total(ask("cogitate_ledger_up")) == 1


def test_the_memory_of_redis_and_its_limit_are_exported(valkey: EmbeddedServer) -> None:
    def told() -> dict[str, float]:
        found = {metric.name: metric.samples for metric in _Ledger(client, "r", lambda tick: 0.0).collect()}
        return {name: found[name][0].value for name in found if name.startswith("cogitate_redis_memory")}

    with valkey.client() as client:
        client.flushall()
        Host(client).turn()
        assert [*told()] == ["cogitate_redis_memory_bytes"], "without a limit"
        client.config_set("maxmemory", "256mb")
        try:
            found = told()
        finally:
            client.config_set("maxmemory", 0)
    assert found["cogitate_redis_memory_limit_bytes"] == 256 * 2**20
    assert 0 < found["cogitate_redis_memory_bytes"] < 256 * 2**20


def scraped(port: int) -> dict[str, float]:
    """Return the samples that a metrics port serves, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LONGEST) as answer:
        lines = answer.read().decode().splitlines()
    found = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in found}


def test_metrics_export_what_the_alerts_read(tmp_path: Path, client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InlinePublisher, "publish", lambda publisher, jobs: len(jobs))  # no worker takes the jobs
    owners = {"agent:ann": Profile(name="Ann"), "agent:ben": Profile(name="Ben")}
    settings = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        base_url="http://127.0.0.1:9/v1",
        api_key=SecretStr("any"),
        wait=0,
        adaptive_latency=False,
        rate_share=0,
        metrics_port=free_ports(1),
        limits={"run.run.tokens": 6_000, "tick.run.jobs": 9},
    )
    found: dict[int, dict[str, float]] = {}
    claims = Claims(client, worker="w")
    with TickLoop(run="town", owners=owners, settings=settings, ticks=21, inline=True, client=client) as loop:
        for tick in loop:
            if tick.number == 1:
                for owner in owners:
                    loop.request("plan", owner)
            if tick.number == 2:
                claim = claims.claim("town/1/plan/agent:ann/0/0")
                assert isinstance(claim, Claim)
                reserved = claim.job.reserved.tokens
            if tick.number == 19:
                claims.settle(claim, None, Cost(calls=1, tokens=500), "timeout")
            if tick.number in (2, 3, 18, 19, 21):
                found[tick.number] = scraped(settings.metrics_port or 0)

    def at(tick: int, name: str) -> float | None:
        return found[tick].get(f"cogitate_{name}{{{','.join(sorted(LIMIT.split(',')))}}}")

    assert reserved > 3_000
    assert at(2, "limit_refused_total") == 1, "Ben's"
    assert found[2]['cogitate_requests_total{decision="heuristic",kind="plan",reason="denied",run="town"}'] == 1
    assert found[2]['cogitate_requests_total{decision="admitted",kind="plan",reason="none",run="town"}'] == 1
    waited = [found[tick]['cogitate_queue_age_seconds{kind="plan",run="town"}'] for tick in (2, 3)]
    assert 0 < waited[0] < waited[1], "no worker takes the job"
    assert (at(2, "budget_limit"), at(2, "budget_for_retries")) == (6_000, 1_200)
    assert [at(18, f"budget_{name}") for name in ("reserved", "spent", "held")] == [reserved, 0, 0], "late, in flight"
    assert [at(19, f"budget_{name}") for name in ("reserved", "spent", "held")] == [0, 500, reserved - 500]
    assert [at(21, f"budget_{name}") for name in ("reserved", "spent", "held")] == [0, 500, 0]


def test_the_presence_of_hosts_is_exported(client: Redis) -> None:
    store = HostLedger.create(client, "town", state={}).store

    def told() -> list[float]:
        gauge = server_gauges(client)[0]
        assert all(one.labels == {"run": "town"} for one in gauge.samples)
        return [one.value for one in gauge.samples]

    here = this_process()
    gone = msgspec.structs.replace(here, began="before")  # another process has its process id by now
    client.hset(store.key("state"), "status", "running")
    assert told() == [0], "no host has registered"
    for host, expected in ((here, 1), (gone, 0)):
        client.set(store.key("host"), msgspec.json.encode(host))
        assert told() == [expected]
    client.hset(store.key("state"), "status", "stopped")
    assert told() == [], "the run was left"


def test_a_damaged_run_hides_no_other_run(client: Redis) -> None:
    good, bad = (HostLedger.create(client, run, state={}).store for run in ("good", "bad"))
    for store in (good, bad):
        client.hset(store.key("state"), "status", "running")
    for damage in ({"schema": "one"}, {"schema": str(SCHEMA), "status": b"\xff"}):
        client.hset(bad.key("state"), mapping=damage)  # type: ignore[arg-type]  # bytes are fine
        gauge = server_gauges(client)[0]
        assert [one.labels for one in gauge.samples] == [{"run": "good"}]
        heads = run_heads(client)
        assert [(head.run, head.status) for head in heads] == [("good", "running"), ("bad", "unreadable")]
        assert [(one.grade, one.what) for one in examine_runs(heads)] == [
            ("warning", "run good"),
            ("failed", "run bad"),
            ("ok", "runs"),
        ]


def test_a_taken_port_is_reported_before_the_run_starts(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port}.*COGITATE_METRICS_PORT"):
            TickLoop(run="r", owners={}, settings=Settings(data_dir=tmp_path, metrics_port=port), inline=True)
