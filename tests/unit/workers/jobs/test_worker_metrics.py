"""What a worker counts of its attempts."""

from __future__ import annotations

from typing import Any

import celery.signals
import pytest
from fakeredis import FakeRedis
from prometheus_client import CollectorRegistry
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import ConfigurationError, PinnedSettings
from cogitate.scheduler.inspection.vitals import RunHead
from cogitate.scheduler.ledger.worker_signs import MissingWorker, WorkersSeen
from cogitate.workers.jobs import metrics
from cogitate.workers.jobs.metrics import REGISTRY, ServerGauges, attempted, serve


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"cogitate_{name}", labels) or 0.0


def test_each_attempt_is_counted_with_its_time_and_its_tokens() -> None:
    for _ in range(2):
        attempted("own", "heuristic", "server", 3.0, "strong", 40)
    attempted("own", "llm", "", 0.5, "strong", 7)
    assert counted("attempts_total", kind="own", source="heuristic", failure="server") == 2
    assert counted("attempts_total", kind="own", source="llm", failure="") == 1
    assert counted("attempt_seconds_sum", kind="own", source="heuristic") == 6.0
    assert counted("attempt_seconds_bucket", kind="own", source="llm", le="0.5") == 1
    assert counted("tokens_total", kind="own", model="strong") == 87


def test_an_attempt_without_a_model_adds_no_series_of_tokens() -> None:
    attempted("plain", "heuristic", "", 0.01, "", 0)
    assert REGISTRY.get_sample_value("cogitate_tokens_total", {"kind": "plain", "model": ""}) is None


def test_durations_are_distinguished_from_a_millisecond_to_a_minute() -> None:
    attempted("timed", "llm", "", 61.0, "strong", 7)
    samples = [sample for metric in REGISTRY.collect() for sample in metric.samples]
    bounds = {s.labels["le"]: s.value for s in samples if s.labels.get("kind") == "timed" and "le" in s.labels}
    assert [*bounds] == [
        "0.001",
        "0.005",
        "0.02",
        "0.1",
        "0.25",
        "0.5",
        "1.0",
        "2.5",
        "5.0",
        "10.0",
        "30.0",
        "60.0",
        "+Inf",
    ]
    assert [bound for bound, number in bounds.items() if number] == ["+Inf"]


def test_the_process_itself_is_measured_too() -> None:
    assert "process_resident_memory_bytes" in {metric.name for metric in REGISTRY.collect()}


# -- runs and their hosts ----------------------------------------------------------------------------

HEADS = [
    RunHead("a", "running", True),
    RunHead("b", "paused", False),
    RunHead("c", "finished", False),
    RunHead("d", "unreadable", False),
    RunHead("e", "stopped", True),
]


def hosts(monkeypatch: pytest.MonkeyPatch, heads: Any) -> dict[str, float]:
    monkeypatch.setattr(metrics, "run_heads", heads)
    registry = CollectorRegistry()
    registry.register(ServerGauges(FakeRedis()))
    return {
        s.labels["run"]: s.value for m in registry.collect() for s in m.samples if s.name == "cogitate_run_has_host"
    }


def test_unfinished_runs_report_whether_they_have_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hosts(monkeypatch, lambda client: HEADS) == {"a": 1.0, "b": 0.0}


def test_while_redis_does_not_answer_runs_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(client: Any) -> Any:
        raise RedisConnectionError("gone")

    with capture_logs() as logs:
        assert hosts(monkeypatch, gone) == {}
    assert {(log["event"], log["error"]) for log in logs} == {("metrics.no_ledger", "ConnectionError")}


def test_live_and_missing_workers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = WorkersSeen(alive=["a", "b"], missing=[MissingWorker(worker="c", seconds=9.0)], kinds=[])
    monkeypatch.setattr(metrics, "workers_seen", lambda client: seen)
    registry = CollectorRegistry()
    registry.register(ServerGauges(FakeRedis()))
    assert registry.get_sample_value("cogitate_workers_alive") == 2
    assert registry.get_sample_value("cogitate_workers_missing") == 1

    def gone(client: Any) -> Any:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(metrics, "workers_seen", gone)
    assert registry.get_sample_value("cogitate_workers_alive") is None


# -- serving -----------------------------------------------------------------------------------------


class Server:
    """A server of metrics that notes how it is used."""

    def __init__(self) -> None:
        self.at: Any = ()
        self.ended: list[str] = []

    def start(self, *at: Any) -> Any:
        self.at = at
        return self

    def shutdown(self) -> None:
        self.ended.append("shutdown")

    def server_close(self) -> None:
        self.ended.append("close")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(metrics, "start_server", made.start)
    monkeypatch.setattr(metrics, "application", lambda registry, client: registry)
    return made


def test_metrics_are_served_where_the_settings_say(server: Server) -> None:
    registry = CollectorRegistry()
    client = FakeRedis()
    assert serve(PinnedSettings(metrics_port=9123, metrics_address="127.0.0.1"), registry, client) is server  # type: ignore[comparison-overlap]
    assert server.at == (9123, "127.0.0.1", registry)
    with pytest.raises(ConfigurationError, match="metrics_port is not set"):
        serve(PinnedSettings(), registry, client)


@pytest.mark.parametrize("error", [OSError(98, "Address already in use"), OSError("odd")])
def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def taken(*at: Any) -> Any:
        raise error

    monkeypatch.setattr(metrics, "start_server", taken)
    told = f"port 9123: {error.strerror or 'odd'}; set COGITATE_METRICS_PORT"
    with pytest.raises(ConfigurationError, match=told):
        serve(PinnedSettings(metrics_port=9123), CollectorRegistry(), FakeRedis())


class Signals:
    """What is connected to the signals of a worker."""

    def __init__(self) -> None:
        self.connected: list[Any] = []

    def connect(self, receiver: Any, weak: bool = True) -> None:
        self.connected.append((receiver, weak))


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Signals:
    made = Signals()
    for name in ("worker_ready", "worker_shutdown"):
        monkeypatch.setattr(celery.signals, name, made)
    return made


def settings(monkeypatch: pytest.MonkeyPatch, **given: Any) -> None:
    monkeypatch.setattr(metrics, "Settings", lambda: PinnedSettings.tuned(redis_url="redis://localhost:1/0", **given))
    monkeypatch.setattr(metrics, "REGISTRY", CollectorRegistry())
    monkeypatch.setattr(metrics, "run_heads", lambda client: HEADS)
    monkeypatch.setattr(metrics, "workers_seen", lambda client: WorkersSeen(alive=[], missing=[], kinds=[]))


def test_a_worker_serves_its_metrics_from_its_first_message_to_its_end(
    monkeypatch: pytest.MonkeyPatch, server: Server, signals: Signals
) -> None:
    settings(monkeypatch, metrics_port=9123)
    metrics.register()
    ((start, _),) = signals.connected
    assert server.at == ()
    start()
    assert server.at[0] == 9123
    assert "cogitate_run_has_host" in {metric.name for metric in server.at[2].collect()}
    (_, (stop, weak)) = signals.connected
    assert not weak, "nobody else holds it"
    stop()
    assert server.ended == ["shutdown", "close"]


def test_a_worker_without_a_port_serves_nothing(
    monkeypatch: pytest.MonkeyPatch, server: Server, signals: Signals
) -> None:
    settings(monkeypatch)
    metrics._start()
    assert (server.at, signals.connected) == ((), [])


def test_a_worker_whose_port_is_taken_runs_without_metrics(monkeypatch: pytest.MonkeyPatch, signals: Signals) -> None:
    def taken(*at: Any) -> Any:
        raise OSError("taken")

    monkeypatch.setattr(metrics, "start_server", taken)
    settings(monkeypatch, metrics_port=9123)
    with capture_logs() as logs:
        metrics._start()
    assert [log["event"] for log in logs] == ["metrics.not_served"]
    assert "taken" in logs[0]["error"]
    assert signals.connected == []
