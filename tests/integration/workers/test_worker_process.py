"""`celery -A cogitate worker` as typed: it runs hints, drops other messages, and reports a start error in one line."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.registry import kinds
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.publish import Publisher
from tests.patience import LONGEST
from tests.process_environment import clean_environment

KINDS = [kind.name for kind in kinds()]


def job(kind: str, owner: str = "agent:isabella") -> Job:
    key = JobKey(420, kind, owner, 0, 0)
    return Job(run="nowhere", key=key, minute=420, due=425, reads=(), reserved=Cost(calls=1))


def succeeded(log: str, one: Job) -> bool:
    return f"Task {one.key.kind}[{one.id}] succeeded" in log


def test_a_worker_runs_a_hint_of_every_kind(
    valkey: EmbeddedServer,
    worker_settings: Settings,
    worker_log: Callable[[], str],
    eventually: Callable[..., None],
) -> None:
    jobs = [job(kind) for kind in KINDS]
    publisher = Publisher(worker_settings)
    assert publisher.publish(jobs) == len(jobs)
    publisher.close()
    for one in jobs:
        eventually(lambda one=one: succeeded(worker_log(), one), f"{one.id} to be run")
    with valkey.client() as client:
        assert client.keys("*nowhere*") == []  # a message does not create its run


def envelope(**changes: Any) -> dict[str, Any]:
    """Return a hint with parts replaced; `headers` and `properties` are merged."""
    properties: dict[str, Any] = {
        "correlation_id": "r/1/plan/a/0/0",
        "delivery_tag": "tag",
        "delivery_info": {"exchange": "", "routing_key": "plan"},
        "body_encoding": "base64",
    }
    headers: dict[str, Any] = {
        "task": "plan",
        "id": "r/1/plan/a/0/0",
        "timelimit": [None, None],
        "argsrepr": "",
        "kwargsrepr": "",
    }
    return {
        "body": changes.get("body", body("r/1/plan/a/0/0")),
        "content-type": changes.get("content_type", "application/json"),
        "content-encoding": "utf-8",
        "headers": headers | changes.get("headers", {}),
        "properties": properties | changes.get("properties", {}),
    }


def body(*args: Any, **embedded: Any) -> str:
    return base64.b64encode(json.dumps([args, {}, embedded]).encode()).decode()


def without(message: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    message[part] = {key: value for key, value in message[part].items() if key != name}
    return message


FOREIGN: list[Any] = [
    b"\x80\x04\x95 not even text",
    b"{",
    [],
    None,
    {},
    {"properties": {}, "headers": {}, "body": ""},
    envelope(body="?" * 5),
    envelope(body=body()),
    envelope(body=body(5)),
    envelope(body=body("r/1/prune/a/0/0")),
    envelope(body=body("no job id")),
    envelope(body=body("r/1/plan/" + "a" * 1000 + "/0/0")),
    envelope(body=body("r/1/plan/a/0/0", callbacks=[{"task": "plan"}])),
    envelope(content_type="application/x-python-serialize"),
    envelope(headers={"task": "os.system"}),
    envelope(headers={"task": ["plan"]}),
    envelope(headers={"eta": "2099-01-01T00:00:00"}),
    envelope(headers={"compression": "zlib"}),
    without(envelope(), "headers", "id"),
    without(envelope(), "headers", "task"),
    without(envelope(), "properties", "delivery_tag"),
    without(envelope(), "properties", "delivery_info"),
    envelope(properties={"delivery_info": {"exchange": ["x"], "routing_key": "plan"}}),
]


def test_an_invalid_hint_is_dropped(
    valkey: EmbeddedServer,
    worker_settings: Settings,
    worker_log: Callable[[], str],
    eventually: Callable[..., None],
) -> None:
    before = worker_log().count("message.refused")
    good = job("plan", "agent:after-the-flood")
    with valkey.client(1) as client:
        for item in FOREIGN:
            client.lpush("cogitate:plan", item if isinstance(item, bytes) else json.dumps(item))
    publisher = Publisher(worker_settings)
    publisher.publish([good])
    publisher.close()
    eventually(lambda: succeeded(worker_log(), good), "the hint behind the foreign messages")
    log = worker_log()
    assert log.count("message.refused") - before == len(FOREIGN)
    assert "Traceback" not in log
    assert "Connection to broker lost" not in log
    with valkey.client(1) as client:
        assert client.llen("cogitate:plan") == 0
        assert not client.exists("cogitate:unacked"), "no record of taken hints is kept"


def celery(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "celery", "-A", "cogitate", *arguments],
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )


@pytest.mark.parametrize("command", ["worker", "flower"])
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "no Redis: COGITATE_REDIS_URL is not set and no embedded server runs in .cogitate"),
        ({"COGITATE_BROKER_URL": "kafka://u:secret@host"}, "@host' is not a broker URL: it must begin with redis://"),
        ({"COGITATE_CONCURRENCY": "-3"}, "concurrency (from COGITATE_CONCURRENCY): '-3': input should be greater than"),
    ],
)
def test_without_a_usable_broker_worker_and_flower_exit_with_one_line(
    tmp_path: Path, command: str, environment: dict[str, str], said: str
) -> None:
    ended = celery(command, folder=tmp_path, **environment)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert "secret" not in ended.stderr
