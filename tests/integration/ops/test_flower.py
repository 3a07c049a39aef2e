"""Real Flower shows jobs by kind, agent, tick, state and runtime; its broker page counts the right database."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.registry import kind_names
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_environment
from cogitate.workers.publish import Publisher
from tests.patience import LONGEST
from tests.ports import free_ports
from tests.processes import running


@pytest.fixture
def flower(
    valkey: EmbeddedServer,
    worker_settings: Settings,
    worker_log: Callable[[], str],
    eventually: Callable[..., None],
) -> Iterator[str]:
    """Run a real `celery -A cogitate flower` beside a real worker, and yield its address."""
    port = free_ports()
    log = worker_settings.data_dir / "flower.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "cogitate", "flower", "--address=127.0.0.1", f"--port={port}"],
            env=worker_environment(worker_settings) | {"FLOWER_UNAUTHENTICATED_API": "true"},
            cwd=worker_settings.data_dir,
            stdout=out,
            stderr=out,
        )
    address = f"http://127.0.0.1:{port}"
    with running(process):
        eventually(lambda: process.poll() is not None or knows_the_worker(address), "Flower to know the worker")
        assert process.poll() is None, log.read_text()
        yield address


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=LONGEST) as answer:
        text: str = answer.read().decode()
        return text


def knows_the_worker(address: str) -> bool:
    try:
        return "tested@" in get(f"{address}/api/workers?refresh=1")
    except OSError:
        return False


def jobs_run(address: str) -> int:
    """Return the number of reflections that the worker has counted."""
    (worker,) = json.loads(get(f"{address}/api/workers?refresh=1")).values()
    counted: int = worker["stats"]["total"].get("reflect", 0)
    return counted


def shown(address: str, one: Job) -> dict[str, Any]:
    tasks: dict[str, dict[str, Any]] = json.loads(get(f"{address}/api/tasks"))
    return tasks.get(one.id, {})


def test_the_task_list_shows_kind_agent_tick_and_cost(
    flower: str, worker_settings: Settings, eventually: Callable[..., None]
) -> None:
    one = Job(
        run="nowhere",
        key=JobKey(420, "reflect", "agent:isabella", 0, 0),
        minute=420,
        due=425,
        reads=(),
        reserved=Cost(calls=1, tokens=1800),
    )
    publisher = Publisher(worker_settings)
    assert publisher.publish([one]) == 1
    publisher.close()
    eventually(lambda: shown(flower, one).get("state") == "SUCCESS", "Flower to show the task")
    task = shown(flower, one)
    assert task["name"] == "reflect"
    assert task["args"] == "isabella · tick 420 · ≤ 1 call · ≤ 1800 tokens"
    assert task["kwargs"] == "nowhere · due 425"
    assert task["runtime"] >= 0
    assert task["received"] <= task["started"] <= task["succeeded"]
    assert task["worker"].startswith("tested@")
    found = json.loads(get(f"{flower}/api/tasks?search=isabella"))
    assert list(found) == [one.id]


def test_jobs_run_outside_celery_are_shown_like_those_that_celery_ran(
    flower: str, worker_settings: Settings, eventually: Callable[..., None]
) -> None:
    before = jobs_run(flower)
    keys = [JobKey(420, "reflect", f"agent:a{number}", 0, 0) for number in range(30)]
    jobs = [Job(run="nowhere", key=key, minute=420, due=425, reads=(), model="default") for key in keys]
    publisher = Publisher(worker_settings)
    assert publisher.publish(jobs) == len(jobs)
    publisher.close()
    for one in jobs:
        eventually(lambda one=one: shown(flower, one).get("state") == "SUCCESS", f"Flower to show {one.id}")
    tasks = [shown(flower, one) for one in jobs]
    assert [task["args"] for task in tasks] == [f"a{number} · tick 420" for number in range(30)]
    assert all(task["received"] <= task["started"] <= task["succeeded"] for task in tasks)
    assert jobs_run(flower) == before + 30


def test_the_broker_page_lists_every_queue(flower: str) -> None:
    page = get(f"{flower}/broker")
    assert "redis+socket://" in page
    for kind in kind_names():
        assert kind in page


def test_the_broker_page_reads_the_database_of_the_url(valkey: EmbeddedServer) -> None:
    code = """
import asyncio, sys
import flower.utils.broker as broker
from cogitate.workers.transport.broker_url import correct_flower
correct_flower()
found = broker.Broker(sys.argv[1], broker_options={"global_keyprefix": "cogitate:"})
print(asyncio.run(found.queues(["unread"]))[0]["messages"])
"""
    with valkey.client(1) as client:
        client.lpush("cogitate:unread", "a", "b")
    url = f"redis+socket://{valkey.socket}?virtual_host=1"
    ended = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "2"


@pytest.mark.parametrize("program", ["celery", "cogitate"])
def test_a_taken_port_is_reported_in_one_line(program: str, valkey: EmbeddedServer, worker_settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ours = {
            "celery": ["-m", "celery", "-A", "cogitate", "flower", "--address=127.0.0.1"],
            "cogitate": ["-m", "cogitate.ops", "flower"],
        }
        done = subprocess.run(
            [sys.executable, *ours[program], f"--port={port}"],
            env=worker_environment(worker_settings),
            cwd=worker_settings.data_dir,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "cogitate: " in line]
    assert f"127.0.0.1:{port}" in line
    assert "--port=N" in line
    assert "Traceback" not in done.stderr
