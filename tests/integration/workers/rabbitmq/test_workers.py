"""A real worker on RabbitMQ, as Flower and the doctor show it."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest

from cogitate import Settings
from cogitate.ops.doctor.command import examine_workers
from cogitate.tasks.registry import kind_names
from cogitate.workers.celery_app import make_app
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from cogitate.workers.transport.lanes import queues_of
from tests.integration.workers.rabbitmq.rabbitmq_case import Eventually, job, publish
from tests.live_flower import flower
from tests.patience import LONGEST
from tests.processes import running
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system


@pytest.fixture
def worker(settings: Settings, rabbitmq: RabbitMQ, eventually: Eventually) -> Iterator[subprocess.Popen[bytes]]:
    """Run a real worker as hosts start them."""
    settings.data_dir.mkdir()
    log = settings.data_dir / "worker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            worker_command("tested@%h"), env=worker_environment(settings), cwd=settings.data_dir, stdout=out, stderr=out
        )
    with running(process):
        eventually(lambda: consumers(rabbitmq) or process.poll() is not None, "the worker to consume")
        assert process.poll() is None, log.read_text()
        yield process


def consumers(rabbitmq: RabbitMQ) -> int:
    """Return the number of workers that consume plans."""
    return len([one for one in rabbitmq.ask("consumers") if one["queue"]["name"] == "cogitate.plan.now"])


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=LONGEST) as answer:
        text: str = answer.read().decode()
        return text


def test_flower_shows_queues_workers_and_tasks_of_rabbitmq(
    worker: subprocess.Popen[bytes], settings: Settings, rabbitmq: RabbitMQ, eventually: Eventually
) -> None:
    where = {
        "COGITATE_REDIS_URL": settings.state_url(),
        "COGITATE_BROKER_URL": rabbitmq.url,
        "FLOWER_UNAUTHENTICATED_API": "true",
    }
    with flower(settings.data_dir, f"--broker-api={rabbitmq.management}", **where) as address:
        eventually(lambda: "tested@" in get(f"{address}/api/workers?refresh=1"), "Flower to know the worker")
        one = job("reflect", model="")
        publish(settings, [one])
        eventually(lambda: one.id in json.loads(get(f"{address}/api/tasks")), "Flower to show the task")
        page = get(f"{address}/broker")
        assert "guest:guest" not in page
        for kind in kind_names():
            for name in queues_of(kind):
                assert name in page
        assert "cogitate.plan.soon" in page


def test_a_worker_consumes_again_after_its_queues_are_deleted(
    worker: subprocess.Popen[bytes], rabbitmq: RabbitMQ, eventually: Eventually
) -> None:
    rabbitmq.ask("queues/%2F/cogitate.plan.now", "DELETE")
    eventually(lambda: consumers(rabbitmq), "the worker to consume again")
    assert worker.poll() is None


def test_the_doctor_names_the_workers_on_rabbitmq(
    worker: subprocess.Popen[bytes], settings: Settings, eventually: Eventually
) -> None:
    def found() -> dict[str, str]:
        with make_app(settings.messages_url()) as app:
            return {one.what: one.found for one in examine_workers(app, kind_names(), expected=True)}

    eventually(lambda: found()["workers"].startswith("1 answer: tested@"), "the worker to answer in time")
    eventually(lambda: found().get("queues") == f"each of {len(kind_names())} has a worker", "its queues to be named")
