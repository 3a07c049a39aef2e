"""Hints equal kombu's own messages, are published for a whole tick at once, and survive an outage of the broker."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from redis.connection import AbstractConnection
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.registry import kinds
from cogitate.workers.celery_app import make_app
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.publish import Publisher, display_args, display_kwargs
from cogitate.workers.transport import redis_sender
from cogitate.workers.transport.hints import check_hint, hints_key

KINDS = [kind.name for kind in kinds()]
RANDOM = {"delivery_tag", "reply_to"}  # properties that are new for every message or app
PREFIX = "cogitate:"


def job(kind: str = "plan", owner: str = "agent:isabella", tick: int = 420, **more: Any) -> Job:
    more = {"reserved": Cost(calls=1)} | more
    return Job(run="town", key=JobKey(tick, kind, owner, 0, 0), minute=tick, due=tick + 5, reads=(), **more)


def settings_of(server: EmbeddedServer) -> Settings:
    return Settings(data_dir=server.data_dir, redis_url=server.url, socket_timeout=0.3)


def taken(server: EmbeddedServer, kind: str) -> list[dict[str, Any]]:
    """Return the messages of a queue in the order in which a worker would take them."""
    with server.client(1) as client:
        drawn = [json.loads(text) for text in reversed(client.lrange(PREFIX + kind, 0, -1))]
        hints = client.lrange(hints_key(PREFIX + kind, "town", 1), 0, -1)
        assert [one for one in drawn if isinstance(one, str)] == ["~"] * len(hints)
        return [one for one in drawn if not isinstance(one, str)] + [json.loads(text) for text in reversed(hints)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("owner", ["agent:isabella", 'group:"50 % off" é日本', "location:a\\b\x7f{0}%(id)s%s"])
def test_every_field_of_a_hint_equals_kombus(valkey: EmbeddedServer, kind: str, owner: str) -> None:
    hinted = job(kind, owner, reserved=Cost(calls=1, tokens=1800))
    publisher = Publisher(settings_of(valkey))
    assert publisher.publish([hinted]) == 1
    publisher.close()
    (ours,) = taken(valkey, kind)

    with valkey.client(1) as client:
        client.flushdb()
    app = make_app(settings_of(valkey).messages_url())
    app.tasks[kind].apply_async(
        (hinted.id,), task_id=hinted.id, argsrepr=display_args(hinted), kwargsrepr=display_kwargs(hinted)
    )
    app.close()
    (theirs,) = taken(valkey, kind)

    assert ours["properties"].keys() == theirs["properties"].keys()
    assert ours["properties"]["delivery_tag"] != theirs["properties"]["delivery_tag"]
    for message in (ours, theirs):
        for name in RANDOM:
            del message["properties"][name]
    assert ours == theirs


def test_a_worker_reads_the_job_id_from_a_hint(valkey: EmbeddedServer) -> None:
    publisher = Publisher(settings_of(valkey))
    jobs = [job(kind, f"agent:{name}") for kind in KINDS for name in ("ayesha", "jörg", 'q"x')]
    assert publisher.publish(jobs) == len(jobs)
    publisher.close()
    for kind in KINDS:
        messages = taken(valkey, kind)
        expected = [one.id for one in jobs if one.key.kind == kind]
        assert [check_hint(message, kind) for message in messages] == [*expected]
        assert [message["headers"]["id"] for message in messages] == expected


def test_a_large_tick_is_one_round_trip_in_chunks(valkey: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_sender, "CHUNK", 7)
    publisher = Publisher(settings_of(valkey))
    publisher.publish([job()])  # makes the connection
    writes: list[object] = []
    send: Any = AbstractConnection.send_packed_command

    def counted(*args: Any, **keywords: Any) -> None:
        writes.append(args)
        send(*args, **keywords)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", counted)
    jobs = [job(owner=f"agent:{number}") for number in range(50)]
    assert publisher.publish(jobs) == 50
    assert len(writes) == 1
    monkeypatch.undo()
    publisher.close()
    messages = taken(valkey, "plan")[1:]
    assert [message["headers"]["id"] for message in messages] == [one.id for one in jobs]
    assert len({message["properties"]["delivery_tag"] for message in messages}) == 50


def test_an_empty_list_publishes_nothing() -> None:
    publisher = Publisher(Settings(redis_url="unix:///nowhere.sock"))
    assert publisher.publish([]) == 0


def test_an_outage_of_the_broker_is_logged_once_and_publishing_resumes(tmp_path: Path) -> None:
    publisher = Publisher(Settings(data_dir=tmp_path, redis_url=EmbeddedServer(tmp_path).url))
    with capture_logs() as logs:
        assert publisher.publish([job()]) == 0
        assert publisher.publish([job()]) == 0
        with EmbeddedServer(tmp_path):
            assert publisher.publish([job(), job("prune")]) == 2
    events = [(entry["event"], entry["log_level"]) for entry in logs if entry["event"].startswith("hint.")]
    assert events == [("hint.failed", "warning"), ("hint.failed", "debug"), ("hint.restored", "info")]
    publisher.close()


def test_a_stalled_broker_costs_one_timeout(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        publisher = Publisher(settings_of(server))
        assert publisher.publish([job()]) == 1
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        try:
            # Without a timeout this call would hang while the server is stopped, so its return is the assertion.
            assert publisher.publish([job()]) == 0
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert publisher.publish([job()]) == 1
        publisher.close()


def test_the_display_names_owner_tick_and_cost() -> None:
    assert display_args(job()) == "isabella · tick 420 · ≤ 1 call"
    assert display_args(job(reserved=Cost(calls=2, tokens=1800))) == "isabella · tick 420 · ≤ 2 calls · ≤ 1800 tokens"
    assert display_args(job(owner="location:cafe")) == "location:cafe · tick 420 · ≤ 1 call"
    assert display_kwargs(job()) == "town · due 425"


def test_no_memory_reaches_a_message(valkey: EmbeddedServer) -> None:
    publisher = Publisher(settings_of(valkey))
    publisher.publish([job(params={"topic": "a secret affair"})])
    publisher.close()
    with valkey.client(1) as client:
        (raw,) = client.lrange(hints_key(PREFIX + "plan", "town", 1), 0, -1)
    assert b"secret" not in raw
    assert len(raw) < 1500
