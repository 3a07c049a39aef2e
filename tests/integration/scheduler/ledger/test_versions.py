"""Schema versions: hosts, workers and readers refuse data of another version."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import RunReader, summarise_run
from cogitate.scheduler.inspection.vitals import budget_vitals, cadence_vitals, run_heads
from cogitate.scheduler.journal import lines as journal
from cogitate.scheduler.journal.lines import JournalError, TickNotes, write_line
from cogitate.scheduler.ledger.claims import Claims
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import LedgerError, NewerSchema, OlderSchema
from cogitate.scheduler.ledger.run_store import run_names
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.runner import Runner
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host, claimed, settle, worker
from tests.live_redis import empty_redis

NEWER, OLDER = SCHEMA + 1, SCHEMA - 1
REFUSED = [
    (NEWER, NewerSchema, f"schema {NEWER}, this version knows {SCHEMA}: upgrade Cogitate"),
    (OLDER, OlderSchema, f"schema {OLDER}, this version reads only {SCHEMA}: finish it with .* .cogitate delete r."),
]


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def everything(client: Redis) -> dict[bytes, bytes]:
    return {key: client.dump(key) for key in client.keys("*")}  # type: ignore[misc]


@pytest.mark.parametrize(("schema", "error", "message"), REFUSED, ids=["newer", "older"])
def test_a_run_of_another_version_is_not_resumed(
    client: Redis, schema: int, error: type[LedgerError], message: str
) -> None:
    host = Host(client)
    client.hset(host.ledger.store.key("state"), "schema", schema)
    before = everything(client)
    with pytest.raises(error, match=message):
        Host(client, resume=True)
    assert everything(client) == before
    delete_run(client, "r")
    assert run_names(client) == []


@pytest.mark.parametrize(
    "read",
    [
        audit,
        summarise_run,
        JobHistory,
        budget_vitals,
        cadence_vitals,
        lambda client, run: replay(client, run, empty_redis()),
    ],
)
def test_readers_refuse_a_run_of_another_version(client: Redis, read: Callable[[Redis, str], object]) -> None:
    host = Host(client)
    host.turn()
    reader = RunReader(client, "r")
    for schema, error, _ in REFUSED:
        client.hset(host.ledger.store.key("state"), "schema", schema)
        with pytest.raises(error, match=f"schema {schema}"):
            read(client, "r")
        with pytest.raises(error, match=f"schema {schema}"):
            reader.read()
        assert run_heads(client) == []


@pytest.mark.parametrize("carrier", ["state", "job"])
def test_a_worker_leaves_newer_jobs_to_others_and_spends_nothing(client: Redis, carrier: str) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    key = host.ledger.store.key("state") if carrier == "state" else host.ledger.store.job_key(job.key.text())
    assert client.hget(key, "schema") == str(SCHEMA).encode()
    client.hset(key, "schema", NEWER)
    before = everything(client)
    runner = Runner(client, worker(client), Heartbeat(lambda run, incarnation: None, 1.0), Settings())
    with capture_logs() as logs:
        assert [runner.run(job.id).settled, runner.run(job.id).settled] == ["newer", "newer"]
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["run.newer_schema"]
    assert everything(client) == before
    client.hset(host.ledger.store.key("state"), "schema", NEWER)
    upgraded = Claims(client, worker="upgraded", schema=NEWER)
    assert settle(upgraded, claimed(upgraded, job)) == "staged"


def test_unknown_fields_of_a_newer_version_with_the_same_schema_are_ignored(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    key = host.ledger.store.job_key(job.key.text())
    told = json.loads(client.hget(key, "job") or b"")
    client.hset(key, mapping={"job": json.dumps(told | {"later": {"a": 1}}), "later": "1"})
    client.hset(host.ledger.store.key("state"), "later", "1")
    claims = worker(client)
    assert settle(claims, claimed(claims, job)) == "staged"
    host.until(6)
    assert host.ended()[job.key][0] == "applied"
    assert audit(client, "r") == []


def test_a_worker_leaves_a_run_of_an_older_version_alone_and_warns(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    client.hset(host.ledger.store.key("state"), "schema", OLDER)
    before = everything(client)
    runner = Runner(client, worker(client), Heartbeat(lambda run, incarnation: None, 1.0), Settings())
    with capture_logs() as logs:
        assert [runner.run(job.id).settled, runner.run(job.id).settled] == ["older", "older"]
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["run.older_schema"]
    assert everything(client) == before


def test_a_journal_line_of_another_schema_is_refused() -> None:
    line, _, _ = write_line(journal.Core(tick=1, minute=0), TickNotes(epoch=1), "", "", NEWER)
    with pytest.raises(JournalError, match=f"tick 1: its line has schema {NEWER}, .*: upgrade Cogitate"):
        journal.read_line(line, 1, "", "")
    line, _, _ = write_line(journal.Core(tick=1, minute=0), TickNotes(epoch=1), "", "", OLDER)
    with pytest.raises(JournalError, match=f"tick 1: its line has schema {OLDER}, .*: read it with the version that"):
        journal.read_line(line, 1, "", "")
