"""The shipped alerts fire exactly when they should, according to Prometheus's own rule tests."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.hosting.prometheus_case import LIMIT, SHIPPED


@pytest.mark.system
def test_the_shipped_rules_and_configuration_are_accepted(tmp_path: Path) -> None:
    tool = shutil.which("promtool")
    if tool is None:
        # Under COGITATE_REQUIRE_SYSTEM, as in CI, this is a failure.
        pytest.skip("no promtool on this machine")
    for arguments in (["rules", "alerts.yml"], ["config", "prometheus.yml"]):
        done = subprocess.run([tool, "check", *arguments], cwd=SHIPPED, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


OF_5_DOLLARS = {f"cogitate_budget_limit{{{LIMIT}}}": "5000000x60"}
ROOM = {"limit": 1000, "for_retries": 200, "retried": 10}


AlertCase = tuple[str, dict[str, str], list[str]]  # name, series, and the labels of each firing alert


def check_alert(tmp_path: Path, *cases: AlertCase) -> None:
    """Check which alerts fire at the end of series of sixty scrapes, by one `promtool test rules`.

    On failure it shows the alert of each failed case, with the expected and the actual labels.
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
    """Return series of one limit's gauges, each constant."""
    return {f"cogitate_budget_{name}{{{LIMIT}}}": f"{value}x60" for name, value in (ROOM | gauges).items()}


@pytest.mark.system
@pytest.mark.parametrize(
    ("spent", "reserved", "refused", "firing"),
    [
        (400, 100, "_x40 1x20", 1),  # its first refusal
        (400, 100, "2x40 3x20", 1),
        (400, 100, "3x60", 0),  # its last refusal was long ago
        (600, 60, "2x40 3x20", 0),  # most of what admission may grant is used
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
        ("1x20 stale", "1x20 0x40", 1),  # killed: only the worker still reports it
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
def test_alerts_fire_when_they_should(tmp_path: Path) -> None:
    check_alert(tmp_path, *ALERT_CASES)


def test_every_alert_fires_in_a_test() -> None:
    named = re.findall(r"alert: Cogitate(\w+)", (SHIPPED / "alerts.yml").read_text())
    tested = Path(__file__).read_text()
    assert len(named) > 15
    assert [name for name in named if f'("{name}", ' not in tested] == []


def test_rules_are_evaluated_as_often_as_targets_are_scraped() -> None:
    shipped = (SHIPPED / "prometheus.yml").read_text()
    assert re.findall(r"^  (?:scrape|evaluation)_interval: (\S+)", shipped, re.MULTILINE) == ["5s", "5s"]
