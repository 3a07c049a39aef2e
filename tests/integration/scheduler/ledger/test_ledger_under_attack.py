"""Values in Redis changed by hand: a worker leaves the job, and a host reports it or uses the heuristic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.claims import Refusal, Settled
from cogitate.scheduler.ledger.errors import RunUnreadable
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.runner import Runner
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.logs import json_processors
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, worker

Damage = Callable[[Any, str, str], object]  # client, prefix, the job's key in Redis
GARBAGE = ("", "[]", "{", "null", "\xff\x00", "-", "9" * 400, "[" * 50_000)


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    """Yield a client of a server that does not wait for the disk, since no test here kills it."""
    with valkey.client() as client:
        client.config_set("appendfsync", "no")
        yield client
        client.config_set("appendfsync", "always")


@pytest.mark.parametrize("field", ["job", "reads", "cells", "pools", "claims", "due", "calls", "last", "schema"])
@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_a_worker_survives_a_damaged_job_and_serves_others(
    client: Redis, monkeypatch: pytest.MonkeyPatch, field: str, garbage: str
) -> None:
    host = Host(client)
    jobs = host.turn(("think", OWNER), ("think", OTHER))
    client.hset(host.ledger.store.job_key(jobs[0].key.text()), field, garbage)
    claims = worker(client)
    runner = Runner(client, claims, Heartbeat(lambda run, incarnation: None, 1.0), Settings())
    monkeypatch.setattr(runner._stopping, "wait", lambda seconds: False)  # do not wait between attempts
    with capture_logs() as logs:
        for _ in range(6):
            assert runner.run(jobs[0].id).settled in {*get_args(Refusal), *get_args(Settled)}
    assert all(len(str(entry)) < 2_000 for entry in logs)
    assert settle(claims, claimed(claims, jobs[1])) == "staged"


@pytest.mark.parametrize("where", ["owners", "facts", "entries:agent:ann"])
def test_a_worker_survives_damaged_memories(client: Redis, where: str) -> None:
    host = Host(client)
    host.loop.calls.observe(OWNER, {"text": "saw", "minute": 1})
    host.turn()
    (job,) = host.turn(("think", OWNER))
    key = host.ledger.store.key(where)
    for field in client.hkeys(key):
        client.hset(key, field, "{")
    claims = worker(client)
    with capture_logs() as logs:
        assert [claims.claim(job.id) for _ in range(5)] == ["unreadable"] * 4 + ["closed"]
    assert {entry["event"] for entry in logs} == {"ledger.unreadable"}
    assert client.hlen(host.ledger.store.key("attempts")) == 0, "no unusable claim is held"


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_a_result_that_cannot_be_read_is_replaced_by_the_heuristic(client: Redis, garbage: str) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    assert settle(claims, claimed(claims, job)) == "staged"
    client.hset(host.ledger.store.job_key(job.key.text()), "result", garbage)
    with capture_logs() as logs:
        host.until(6)
    assert host.ended() == {job.key: ("applied", "dead")}
    assert "ledger.unreadable" in {entry["event"] for entry in logs}
    assert audit(client, "r") == []


def test_a_json_log_line_about_unreadable_data_names_run_job_and_tick(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    assert settle(claims, claimed(claims, job)) == "staged"
    client.hset(host.ledger.store.job_key(job.key.text()), "result", "{")
    with capture_logs(processors=json_processors()[:-1]) as logs:
        host.until(6)
    (line,) = [line for line in logs if line["event"] == "ledger.unreadable"]
    assert (line["run"], line["tick"], line["job"]) == ("r", job.key.tick, job.id), "the id that `cogitate job` takes"


@pytest.mark.parametrize(
    "damage",
    [
        lambda c, p, j: c.hset(p + "attempts", "t", "{"),
        lambda c, p, j: c.sadd(p + "due:4", "no job key"),
        lambda c, p, j: c.sadd(p + "due:4", "1/think/agent:nobody/0/0"),
        lambda c, p, j: c.hset(j, "state", "strange"),
        lambda c, p, j: c.hset(j, "arrival", "first"),
        lambda c, p, j: c.delete(j),
    ],
)
def test_a_host_survives_damaged_job_records(client: Redis, damage: Damage) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    damage(client, host.ledger.store.prefix, host.ledger.store.job_key(job.key.text()))
    host.until(7)
    assert host.ended()[job.key][0] == "applied"


@pytest.mark.parametrize("field", ["1/think/agent:gone/0/0", "no job key"])
@pytest.mark.parametrize("name", ["offered", "corrections", "retries"])
def test_a_persistent_unreadable_field_is_logged_once(client: Redis, name: str, field: str) -> None:
    host = Host(client)
    host.turn(("think", OWNER))
    client.hset(host.ledger.store.key(name), field, '{"x":' + "[" * 50_000)
    with capture_logs() as logs:
        host.until(7)
    told = [entry for entry in logs if entry["event"] == "ledger.unreadable"]
    if name != "offered" or field == "no job key":
        assert client.hexists(host.ledger.store.key(name), field)
        assert [(entry["run"], entry["tick"]) for entry in told] == [("r", 3)], (
            "the ledger showed the field after tick 2"
        )
    assert all(len(str(entry)) < 2_000 for entry in told)


def test_a_schema_that_is_not_a_number_is_refused(client: Redis) -> None:
    host = Host(client)
    client.hset(host.ledger.store.key("state"), "schema", "one")
    for read in (lambda: Host(client, resume=True), lambda: audit(client, "r"), lambda: summarise_run(client, "r")):
        with pytest.raises(RunUnreadable, match="'r' cannot be read: its schema"):
            read()
    assert worker(client).claim("r/1/think/agent:ann/0/0") == "unreadable"


@pytest.mark.parametrize(
    "damage",
    [
        lambda c, p, j: c.hset(p + "state", "tick", "two"),
        lambda c, p, j: c.hset(p + "state", "loop", "{"),
        lambda c, p, j: c.hset(p + "view", "run:0|run|calls", "many"),
        lambda c, p, j: c.hset(p + "heads", OWNER, "[]"),
        lambda c, p, j: c.hset(p + "entries:" + OWNER, 1, "[" * 50_000),
        lambda c, p, j: c.hset(p + "owners", OWNER, "\xff"),
        lambda c, p, j: (c.delete(p + "jobs"), c.set(p + "jobs", "x")),
        lambda c, p, j: c.hset(j, "job", "{"),
        lambda c, p, j: c.delete(j),
    ],
)
def test_an_unreadable_run_is_not_resumed(client: Redis, damage: Damage) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    damage(client, host.ledger.store.prefix, host.ledger.store.job_key(job.key.text()))
    with pytest.raises(RunUnreadable, match=r"ledger of run 'r' cannot be read.*cogitate audit r"):
        Host(client, resume=True)
    assert audit(client, "r") != []
