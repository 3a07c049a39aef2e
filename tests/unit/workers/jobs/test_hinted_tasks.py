"""Tasks of hints: what monitors hear of them, and when a worker draws one itself."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from types import SimpleNamespace
from typing import Any

import pytest
from celery.bootsteps import CLOSE, RUN
from celery.concurrency.thread import TaskPool
from celery.worker import state
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as Away

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.celery_app import make_app
from cogitate.workers.jobs import hinted_tasks, process_lane
from cogitate.workers.jobs.hinted_tasks import Draws, HintedTask, strategy
from cogitate.workers.jobs.runner import Outcome
from cogitate.workers.publish import Template
from cogitate.workers.transport.hints import ASKING, queue_hints, read_hint, tickets_key

APP = make_app("redis://localhost:1/1")
PLAN = Template(APP, "plan")


def job(number: int) -> Job:
    return Job(run="town", key=JobKey(number, "plan", "agent:a", 0, 0), minute=3, due=9, reads=(), model="default")


class Consumer:
    """Celery's consumer, as far as tasks use it."""

    hostname = "tested@here"
    connection_errors = (OSError,)

    def __init__(self) -> None:
        self.app = APP
        self.sent: list[dict[str, Any]] = []
        self.event_dispatcher: Any = self
        self.task_consumer: Any = SimpleNamespace(queues=[SimpleNamespace(name=name) for name in ("plan", "control")])
        self.controller = SimpleNamespace(blueprint=SimpleNamespace(state=RUN))
        self.pool = object.__new__(TaskPool)
        self.pool.executor = _AtOnce()  # type: ignore[assignment]

    def send(self, event: str, **fields: Any) -> None:
        self.sent.append({"type": event, **fields})

    def heard(self) -> list[str]:
        return [event["type"].removeprefix("task-") for event in self.sent]


class _AtOnce(Executor):
    def submit(self, work: Any, /, *args: Any, **options: Any) -> Future[Any]:
        work(*args, **options)
        return Future()


@pytest.fixture
def consumer() -> Iterator[Consumer]:
    yield Consumer()
    state.reset_state()
    state.should_stop = None


def hinted(consumer: Consumer, number: int = 3) -> HintedTask:
    return HintedTask(consumer, "plan", *read_hint(PLAN.render(job(number), "tag"), "plan"))


def test_monitors_hear_what_celery_tells_of_a_task(consumer: Consumer) -> None:
    task, job_id = hinted(consumer), job(3).id
    assert task.is_received()
    assert ([*state.reserved_requests], [*state.active_requests]) == ([task], [])
    shown: list[dict[str, Any]] = []

    def run(given: str) -> Outcome:
        assert given == job_id
        assert [*state.active_requests] == [task]
        shown.append(task.info(safe=True))
        return Outcome("staged", "llm")

    task.run(run)
    received, started, succeeded = consumer.sent
    display = {"args": "a · tick 3", "kwargs": "town · due 9"}
    assert received == {
        **{"type": "task-received", "uuid": job_id, "name": "plan", "root_id": job_id, "parent_id": None},
        **{"retries": 0, "eta": None, "expires": None},
        **display,
    }
    assert started == {"type": "task-started", "uuid": job_id}
    assert (succeeded.pop("runtime") >= 0, succeeded) == (
        True,
        {"type": "task-succeeded", "uuid": job_id, "result": "'llm'"},
    )
    assert shown[0].items() >= {"id": job_id, "name": "plan", "hostname": "tested@here", **display}.items()
    assert (state.all_total_count, dict(state.total_count), state.requests) == ([1], {"plan": 1}, {})


def test_a_job_that_raises_is_a_failed_task_and_ends_no_thread(
    consumer: Consumer, caplog: pytest.LogCaptureFixture
) -> None:
    task = hinted(consumer)
    assert task.is_received()

    def run(_: str) -> Outcome:
        raise ValueError("a bug")

    task.run(run)
    assert consumer.heard() == ["received", "started", "failed"]
    assert consumer.sent[-1]["exception"] == "ValueError('a bug')"
    assert f"Task plan[{job(3).id}] raised unexpected" in caplog.text
    assert not state.requests


def test_a_worker_without_a_connection_tells_nothing(consumer: Consumer) -> None:
    consumer.event_dispatcher = None
    task = hinted(consumer)
    assert task.is_received()
    task.run(lambda _: Outcome("staged", "llm"))
    assert consumer.sent == []


def test_a_revoked_task_is_not_run(consumer: Consumer) -> None:
    state.revoked.add(job(3).id)
    assert not hinted(consumer).is_received()
    assert consumer.heard() == ["revoked"]


def test_a_message_is_acknowledged_when_its_thread_begins(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(process_lane, "run_hint", lambda hint: order.append(hint.job_id))
    take = strategy(APP.tasks["plan"], APP, consumer)
    headers = json.loads(PLAN.render(job(3), "tag"))["headers"]
    message = SimpleNamespace(payload=[[job(3).id], {}, {}], headers=headers)
    take(message, None, lambda *_: order.append("ack"), None, [])
    assert order == ["ack", job(3).id]


def test_a_process_that_cannot_run_jobs_fails_the_task(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: HintedTask) -> None:
        raise ValueError("a broken template")

    monkeypatch.setattr(process_lane, "run_hint", fails)
    headers = json.loads(PLAN.render(job(3), "tag"))["headers"]
    message = SimpleNamespace(payload=[[job(3).id], {}, {}], headers=headers)
    strategy(APP.tasks["plan"], APP, consumer)(message, None, lambda *_: None, None, [])
    assert consumer.heard() == ["received", "failed"]


class Broker:
    """A Redis with the hints of jobs, and a worker that draws them."""

    def __init__(self, consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client: Any = FakeRedis()
        monkeypatch.setattr(hinted_tasks, "connect", lambda *_, **__: self.client)
        self.draws = Draws(consumer, Settings(redis_url="redis://localhost:1/0"))

    def put(self, *hints: str) -> None:
        queue_hints(self.client, "cogitate:plan", ASKING, "town", 1, [*hints])

    def drawn(self) -> list[str]:
        return [task.job_id for task in self.draws.draw()]

    def left(self) -> int:
        return int(self.client.llen("cogitate:" + tickets_key("plan", ASKING)))


@pytest.fixture
def broker(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> Broker:
    return Broker(consumer, monkeypatch)


def test_a_worker_draws_the_hints_of_its_queues_one_by_one(broker: Broker, consumer: Consumer) -> None:
    broker.put(PLAN.render(job(3), "1"), PLAN.render(job(4), "2"))
    assert [broker.drawn() for _ in range(3)] == [[job(3).id], [job(4).id], []]
    assert consumer.heard() == ["received", "received"]


def test_an_invalid_hint_is_dropped(broker: Broker, consumer: Consumer) -> None:
    broker.put("{", "[]", PLAN.render(job(3), "1").replace('"task": "plan"', '"task": "act"'))
    assert [broker.drawn() for _ in range(3)] == [[], [], []]
    assert (broker.left(), consumer.heard()) == (0, [])


@pytest.mark.parametrize("why", ["ends", "gives up", "no connection", "no queue"])
def test_a_stopping_or_disconnected_worker_draws_no_hints(broker: Broker, consumer: Consumer, why: str) -> None:
    broker.put(PLAN.render(job(3), "1"))
    match why:
        case "ends":
            consumer.controller.blueprint.state = CLOSE
        case "gives up":
            state.should_stop = 70
        case "no connection":
            consumer.task_consumer = None
        case "no queue":  # an operator has cancelled its consumer
            consumer.task_consumer.queues = []
    assert (broker.drawn(), broker.left()) == ([], 1)


def test_a_broker_that_is_away_is_left_alone_for_a_while(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    asked: list[float] = []

    def away(*_: Any, **__: Any) -> list[tuple[str, str]]:
        asked.append(now[0])
        raise Away("away")

    monkeypatch.setattr(hinted_tasks, "next_hints", away)
    for now[0] in (100.0, 100.5, 101.5):
        assert broker.drawn() == []
    assert asked == [100.0, 101.5]
