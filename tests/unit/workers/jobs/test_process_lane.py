"""What a worker process creates for its jobs, once, and how it ends."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery.utils.dispatch import Signal
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.job import JobKey
from cogitate.workers.jobs import model_lane, process_lane
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.kept_results import KeptResults
from cogitate.workers.jobs.runner import Outcome, Runner
from cogitate.workers.llm.requests.dialect import DialectStore
from cogitate.workers.transport import room

SETTINGS = Settings.tuned(
    lease=10.0, concurrency=3, socket_timeout=7.0, redis_url="redis://localhost:7/1", prompts=Path("mine")
)
JOB = f"town/{JobKey(3, 'plan', 'agent:a', 0, 0).text()}"


class Process:
    """What a process has done and created, its Redis apart."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.client = FakeRedis()
        self.runners: list[dict[str, Any]] = []
        self.ran: list[str] = []
        self.signals = SimpleNamespace(
            worker_shutting_down=Signal(name="worker_shutting_down"), worker_shutdown=Signal(name="worker_shutdown")
        )

    def run(self, job_id: str) -> Outcome:
        self.ran.append(job_id)
        return Outcome("ready")

    def connect(self, url: str, timeout: float, **how: Any) -> FakeRedis:
        self.done.append(("connect", url, timeout, how))
        return self.client

    def runner(self, client: Any, claims: Any, heartbeat: Any, settings: Any, kept: Any, batches: Any) -> Any:
        assert batches._worker == claims._worker
        self.runners.append(
            {
                "client": client,
                "claims": claims,
                "heartbeat": heartbeat,
                "settings": settings,
                "kept": kept,
            }
        )
        return SimpleNamespace(
            run=self.run,
            stop=lambda: self.done.append("stop"),
            close=lambda: self.done.append("close"),
            desk=SimpleNamespace(start=lambda: self.done.append("desk")),
        )


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    made = Process()
    monkeypatch.setattr(process_lane, "tune", lambda: made.done.append("tune"))
    monkeypatch.setattr(process_lane, "use_prompts", lambda prompts: made.done.append(("prompts", prompts)))
    monkeypatch.setattr(process_lane, "Settings", lambda: SETTINGS)
    monkeypatch.setattr(process_lane, "connect", made.connect)
    monkeypatch.setattr(process_lane, "Runner", made.runner)
    monkeypatch.setattr(process_lane, "signals", made.signals)
    monkeypatch.setattr(model_lane, "_slots", [])
    monkeypatch.setattr(room, "_left", room._left)  # and put it back at the end
    process_lane._lane.cache_clear()
    yield made
    process_lane._lane.cache_clear()


def test_a_process_creates_its_runner_once_before_the_first_job(process: Process) -> None:
    process_lane.warm_up()
    connected = ("connect", SETTINGS.state_url(), 7.0, {"client": CombinedRedis})
    assert process.done == ["tune", ("prompts", SETTINGS.prompts), connected]
    process_lane.warm_up()
    assert process_lane.run_job(JOB) == "ready"
    assert (len(process.runners), process.ran) == (1, [JOB])


def test_the_runner_shares_one_ledger_and_beats_five_times_in_a_lease(process: Process) -> None:
    process_lane.warm_up()
    (runner,) = process.runners
    claims, heartbeat, kept = runner["claims"], runner["heartbeat"], runner["kept"]
    assert (runner["client"], runner["settings"]) == (process.client, SETTINGS)
    assert isinstance(heartbeat, Heartbeat)
    assert (heartbeat._beat, heartbeat._interval) == (claims.beat, 2.0)
    assert isinstance(kept, KeptResults)
    assert (kept._claims, kept._interval) == (claims, 2.0)


@pytest.mark.parametrize(("batch", "started"), [("off", 0), ("auto", 1)])
def test_a_process_looks_for_batches_only_where_a_model_may_be_asked_in_them(
    process: Process, monkeypatch: pytest.MonkeyPatch, batch: Any, started: int
) -> None:
    settings = SETTINGS.changed(models={"default": ModelSettings(), "slow": ModelSettings(batch=batch)})
    monkeypatch.setattr(process_lane, "Settings", lambda: settings)
    process_lane.warm_up()
    assert process.done.count("desk") == started


def test_every_process_has_a_unique_name(process: Process) -> None:
    names = []
    for _ in range(2):
        process_lane._lane.cache_clear()
        process_lane.warm_up()
        names.append(process.runners[-1]["claims"]._worker)
    start = f"{os.uname().nodename}:{os.getpid()}:"
    assert all(name.startswith(start) and name != start for name in names)
    assert names[0] != names[1], "two that have the same number one after the other differ"


@pytest.mark.parametrize(("slots", "places"), [([], 3), ([9], 8)])
def test_a_process_has_a_place_for_a_model_in_all_its_slots_but_one(
    process: Process, slots: list[int], places: int
) -> None:
    model_lane._slots[:] = slots
    lane = process_lane._lane(os.getpid())
    assert lane._free == places
    assert lane._asks_model == process.runners[0]["claims"].asks_model
    assert room._left == lane.room


def test_an_ending_process_starts_nothing_and_closes_after_its_jobs(process: Process) -> None:
    lane = process_lane._lane(os.getpid())
    process.done.clear()
    gc.collect()  # what only a signal knows must stay
    process.signals.worker_shutting_down.send(sender=None, sig="TERM")
    assert (lane._closed, process.done) == (True, ["stop"])
    process.signals.worker_shutdown.send(sender=None)
    assert process.done == ["stop", "close"]


@pytest.mark.parametrize("foreign", ["", "town", "x" * 1_000, None, 5, ["town/1/plan/a/0/0"]])
def test_an_invalid_job_is_logged_briefly_and_dropped(process: Process, foreign: Any) -> None:
    with capture_logs() as logs:
        assert process_lane.run_job(foreign) == "not run: refused"
    ((event, said),) = [(log["event"], log["error"]) for log in logs]
    assert event == "message.refused"
    assert 0 < len(said) <= 200
    assert (process.ran, process.runners) == ([], [])


# -- a runner ----------------------------------------------------------------------------------------


class Clients:
    """Clients of models that note what they are told."""

    unusable = False

    def __init__(self, *given: Any) -> None:
        self.given = given
        self.prepared: list[str] = []
        self.closed = False

    def of(self, endpoint: str) -> Clients:
        self.prepared.append(endpoint)
        if self.unusable:
            raise ConfigurationError("no key")
        return self

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("unusable", [False, True])
def test_a_runner_prepares_the_endpoint_that_its_settings_ask(monkeypatch: pytest.MonkeyPatch, unusable: bool) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Clients)
    monkeypatch.setattr(Clients, "unusable", unusable)
    endpoints = {name: {"base_url": "http://localhost:1/v1"} for name in ("ours", "theirs")}
    models = {"default": {"endpoint": "ours", "model": "m"}, "unasked": {"endpoint": "theirs", "model": "m"}}
    settings = Settings(llm="openai", concurrency=5, models=models, endpoints=endpoints)
    unused: Any = None
    clients: Any = Runner(FakeRedis(), unused, unused, settings)._models
    assert clients.prepared == ["ours"], "the first call says what is wrong with it"
    assert clients.given[:2] == (settings.endpoint_table(), 5)
    assert isinstance(clients.given[2], DialectStore)


def test_a_runner_without_a_model_prepares_no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Clients)
    unused: Any = None
    runner = Runner(FakeRedis(), unused, unused, Settings())
    clients: Any = runner._models
    assert clients.prepared == []
    assert runner._attempts._calls.gate._stopping is runner._stopping, "its end ends the waits of its attempts"


def test_a_runner_closes_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Clients)
    heartbeat: Any = SimpleNamespace(close=lambda: closed.append("heartbeat"))
    claims: Any = None
    runner = Runner(FakeRedis(), claims, heartbeat, Settings())
    calls: Any = SimpleNamespace(close=lambda: closed.append("calls"))
    runner._calls = calls
    runner.close()
    clients: Any = runner._models
    assert clients.closed
    assert closed == ["calls", "heartbeat"]
