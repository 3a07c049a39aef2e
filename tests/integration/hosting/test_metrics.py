"""A real Prometheus scrapes a live run, host and worker, and its figures are the run's."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
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
from tests.integration.scheduler.ledger.ledger_case import Host
from tests.patience import LONGEST
from tests.ports import free_ports
from tests.repository import ROOT

Eventually = Callable[..., None]
SHIPPED = ROOT / "ops" / "prometheus"


@contextmanager
def prometheus(
    folder: Path, targets: Mapping[str, Sequence[int]], *, port: int | None = None
) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """A Prometheus with our rules that scrapes these jobs at loopback ports; yields how to query it."""
    binary = shutil.which("prometheus")
    if binary is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no prometheus on this machine")
    port = port or free_ports(1)
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{target}" for target in found]}]}
        for name, found in targets.items()
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
            with urllib.request.urlopen(url, timeout=LONGEST) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
                return found
        except OSError:
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            return []

    try:
        yield ask
    finally:
        process.terminate()
        process.wait(LONGEST)


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


@pytest.mark.system
def test_the_shipped_rules_and_configuration_are_accepted(tmp_path: Path) -> None:
    tool = shutil.which("promtool")
    if tool is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no promtool on this machine")
    for arguments in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run([tool, "check", *arguments], cwd=SHIPPED, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


LIMIT = 'run="town",period="run",scope="run",unit="tokens"'
OF_5_DOLLARS = {f"cogitate_budget_limit{{{LIMIT}}}": "5000000x60"}
ROOM = {"limit": 1000, "for_retries": 200, "retried": 10}


AlertCase = tuple[str, dict[str, str], list[str]]  # name, series, and labels of each that fires


def check_alert(tmp_path: Path, *cases: AlertCase) -> None:
    """Check for whom alerts fire at the end of series of sixty scrapes, by one `promtool test rules`.

    It shows the alert of each case that fails, with what was expected and what fires.
    """
    tool = shutil.which("promtool")
    if tool is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no promtool on this machine")
    (tmp_path / "alerts.yml").write_bytes((SHIPPED / "alerts.yml").read_bytes())
    tests = []
    for name, series, firing in cases:
        alert = f'ALERTS{{alertname="Cogitate{name}",alertstate="firing"'
        expected = [{"labels": f"{alert}{labels and ',' + labels}}}", "value": 1} for labels in firing]
        tests.append(
            {
                "interval": "5s",
                "input_series": [{"series": one, "values": values} for one, values in series.items()],
                "promql_expr_test": [{"expr": alert + "}", "eval_time": "300s", "exp_samples": expected}],
            }
        )
    rules = {"rule_files": ["alerts.yml"], "evaluation_interval": "5s", "tests": tests}
    (tmp_path / "test.yml").write_text(json.dumps(rules))
    done = subprocess.run(
        [tool, "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def budget(**gauges: int) -> dict[str, str]:
    """Series of the gauges of one limit, each with one value."""
    return {f"cogitate_budget_{name}{{{LIMIT}}}": f"{value}x60" for name, value in (ROOM | gauges).items()}


@pytest.mark.system
@pytest.mark.parametrize(
    ("spent", "reserved", "refused", "firing"),
    [
        (400, 100, "_x40 1x20", 1),  # its first refusal
        (400, 100, "2x40 3x20", 1),
        (400, 100, "3x60", 0),  # it refused long ago
        (600, 60, "2x40 3x20", 0),  # most of what admission may give out is gone
    ],
)
def test_an_alert_reports_refusals_below_the_limit(
    tmp_path: Path, spent: int, reserved: int, refused: str, firing: int
) -> None:
    series = budget(spent=spent, reserved=reserved) | {f"cogitate_limit_refused_total{{{LIMIT}}}": refused}
    check_alert(tmp_path, ("RefusedUnspent", series, [LIMIT] * firing))


@pytest.mark.system
@pytest.mark.parametrize(("spent", "firing"), [(720, 0), (731, 1)])
def test_an_alert_reports_that_only_the_retry_pool_is_left(tmp_path: Path, spent: int, firing: int) -> None:
    check_alert(tmp_path, ("BudgetNearlySpent", budget(spent=spent, reserved=0), [LIMIT] * firing))


@pytest.mark.system
@pytest.mark.parametrize(
    ("host", "worker", "firing"),
    [
        ("1x20 stale", "1x20 0x40", 1),  # killed: only workers are left to say so
        ("1x60", "1x60", 0),
        ("1x20 stale", "1x20 stale", 0),  # it left its run
    ],
)
def test_an_alert_reports_a_run_without_a_host(tmp_path: Path, host: str, worker: str, firing: int) -> None:
    series = {
        'cogitate_run_has_host{run="town",job="cogitate-host"}': host,
        'cogitate_run_has_host{run="town",job="cogitate-worker"}': worker,
    }
    check_alert(tmp_path, ("NoHost", series, ['run="town"'] * firing))


@pytest.mark.system
@pytest.mark.parametrize(
    ("late", "too_slow", "admitted", "firing"),
    [
        ("0+1x60", None, "0+2x60", 1),
        (None, "0+1x60", "0+2x60", 1),
        ("0+1x60", "0+1x60", "0+20x60", 0),
        (None, None, "0+2x60", 0),
    ],
)
def test_an_alert_reports_late_thoughts(
    tmp_path: Path, late: str | None, too_slow: str | None, admitted: str, firing: int
) -> None:
    asked = 'cogitate_requests_total{run="town",kind="act"'
    series = {'cogitate_tick{run="town"}': "0+20x60", f'{asked},decision="admitted",reason="none"}}': admitted}
    if late:
        series['cogitate_jobs_total{run="town",kind="act",end="applied",reason="late"}'] = late
    if too_slow:
        series[f'{asked},decision="dropped",reason="too_slow"}}'] = too_slow
    check_alert(tmp_path, ("ThoughtsTooLate", series, ['run="town"'] * firing))


@pytest.mark.system
@pytest.mark.parametrize(("seconds", "firing"), [("0+2x60", 0), ("0+5x60", 1)])
def test_an_alert_reports_jobs_waiting_for_workers(tmp_path: Path, seconds: str, firing: int) -> None:
    series = {'cogitate_queue_age_seconds{run="town",kind="act"}': seconds}
    check_alert(tmp_path, ("QueueOld", series, ['run="town",kind="act"'] * firing))


ENDPOINT = 'endpoint="default"'


WORKER = 'job="cogitate-worker",instance="w:1"'
NO_WRITES = {"cogitate_redis_refuses_writes": "0x20 1x40"}
WAITING = {'cogitate_open_jobs{state="waiting"}': "3x60"}
OF_100_BYTES = {"cogitate_redis_memory_limit_bytes": "100x60"}
CALLS = {f"cogitate_endpoint_calls_total{{{ENDPOINT}}}": "0+10x60"}
FAILURES = f'cogitate_endpoint_failures_total{{{ENDPOINT},failure="server"}}'
ENDED = 'cogitate_jobs_total{run="town",kind="act",end="applied"'
HELD = f"cogitate_endpoint_held_seconds{{{ENDPOINT}}}"
REFUSED = f"cogitate_endpoint_refused_total{{{ENDPOINT},why="


ALERT_CASES: list[AlertCase] = [
    ("TargetDown", {f"up{{{WORKER}}}": "1x20 0x40"}, [WORKER]),
    ("TargetDown", {f"up{{{WORKER}}}": "1x60"}, []),
    ("TargetDown", {'up{job="cogitate-host"}': "0x60"}, []),
    ("NoWorker", {"cogitate_workers_alive": "1x20 0x40"} | WAITING, [""]),
    ("NoWorker", {"cogitate_workers_alive": "1x60"} | WAITING, []),
    ("NoWorker", {"cogitate_workers_alive": "0x60", 'cogitate_open_jobs{state="waiting"}': "0x60"}, []),
    ("WorkerMissing", {'cogitate_workers_missing{job="cogitate-host"}': "0x20 1x40"}, [""]),
    ("WorkerMissing", {'cogitate_workers_missing{job="cogitate-host"}': "0x60"}, []),
    ("WorkerMissing", {"cogitate_workers_missing": "0x20 1x40"} | NO_WRITES, []),
    ("NoWorker", {"cogitate_workers_alive": "1x20 0x40"} | WAITING | NO_WRITES, []),
    ("NoHost", {'cogitate_run_has_host{run="town"}': "1x20 0x40"} | NO_WRITES, []),
    ("EndpointHeld", {HELD: "0x20 30x40"}, [ENDPOINT]),
    ("EndpointHeld", {HELD: "0x20" + 10 * " 15 10 5 0"}, [ENDPOINT]),  # a call between two pauses
    ("EndpointHeld", {HELD: "0x50 15 10 5 0x8"}, []),
    ("EndpointHeld", {f'{REFUSED}"rate_limited_here"}}': "0+1x60"}, [ENDPOINT]),
    ("EndpointHeld", {f'{REFUSED}"breaker_open"}}': "0+1x60"}, []),
    ("EndpointFailing", CALLS | {FAILURES: "0+3x60"}, [ENDPOINT]),
    ("EndpointFailing", CALLS | {FAILURES: "0+1x60"}, []),
    ("HistoryNotExported", {'cogitate_journal_unexported{run="town"}': "0x20 1x40"}, ['run="town"']),
    ("HistoryNotExported", {'cogitate_journal_unexported{run="town"}': "0x60"}, []),
    ("BreakerOpen", {f"cogitate_endpoint_breaker_open{{{ENDPOINT}}}": "0x20 1x40"}, [ENDPOINT]),
    ("HostLags", {'cogitate_lag_ticks{run="town"}': "0x20 6x40"}, ['run="town"']),
    ("LedgerAway", {'cogitate_ledger_up{run="town"}': "1x20 0x40"}, ['run="town"']),
    ("RedisRefusesWrites", {"cogitate_redis_refuses_writes": "0x20 1x40"}, [""]),
    ("RedisRefusesWrites", {"cogitate_redis_refuses_writes": "0x60"}, []),
    ("RedisNearlyFull", {"cogitate_redis_memory_bytes": "70x20 81x40"} | OF_100_BYTES, [""]),
    ("RedisNearlyFull", {"cogitate_redis_memory_bytes": "79x60"} | OF_100_BYTES, []),
    ("RedisNearlyFull", {"cogitate_redis_memory_bytes": "81x60"}, []),
    ("Overrun", OF_5_DOLLARS | {f"cogitate_budget_overrun{{{LIMIT}}}": "0x20 60000x40"}, [LIMIT]),
    ("Overrun", OF_5_DOLLARS | {f"cogitate_budget_overrun{{{LIMIT}}}": "0x20 30x40"}, []),  # micro-dollars
    ("Overrun", OF_5_DOLLARS | {f"cogitate_budget_overrun{{{LIMIT}}}": "0x60"}, []),
    ("DeadJobs", {f'{ENDED},reason="dead"}}': "0x20 1x40"}, ['run="town",kind="act"']),
    ("DeadJobs", {f'{ENDED},reason="late"}}': "0+1x60"}, []),
]


@pytest.mark.system
def test_alerts_fire_where_they_should(tmp_path: Path) -> None:
    check_alert(tmp_path, *ALERT_CASES)


def test_the_memory_of_redis_and_its_limit_are_told(valkey: EmbeddedServer) -> None:
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


def test_every_alert_fires_in_a_test() -> None:
    named = re.findall(r"alert: Cogitate(\w+)", (SHIPPED / "alerts.yml").read_text())
    tested = Path(__file__).read_text()
    assert len(named) > 15
    assert [name for name in named if f'("{name}", ' not in tested] == []


def test_rules_are_evaluated_as_often_as_targets_are_scraped() -> None:
    shipped = (SHIPPED / "prometheus.yml").read_text()
    assert re.findall(r"^  (?:scrape|evaluation)_interval: (\S+)", shipped, re.MULTILINE) == ["5s", "5s"]


def scraped(port: int) -> dict[str, float]:
    """What stands at a metrics port."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LONGEST) as answer:
        lines = answer.read().decode().splitlines()
    found = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in found}


def test_metrics_export_what_the_alerts_read(tmp_path: Path, client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InlinePublisher, "publish", lambda publisher, jobs: len(jobs))  # nobody takes them
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
    assert 0 < waited[0] < waited[1], "nobody takes it"
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
    gone = msgspec.structs.replace(here, began="before")  # its process id is another's by now
    client.hset(store.key("state"), "status", "running")
    assert told() == [0], "none has ever said so"
    for host, expected in ((here, 1), (gone, 0)):
        client.set(store.key("host"), msgspec.json.encode(host))
        assert told() == [expected]
    client.hset(store.key("state"), "status", "stopped")
    assert told() == [], "it was left"


def test_a_damaged_run_hides_no_other(client: Redis) -> None:
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
