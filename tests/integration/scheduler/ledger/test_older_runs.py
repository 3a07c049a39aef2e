"""A run written by the first version of the current schema is audited, replayed and resumed by this version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate import TickLoop
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.scheduler.journal.lines import unpack_line
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, JobKey, added
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.written_run import FOLDER, as_bytes, live, load, settings_for, write
from tests.live_redis import empty_redis

FILE = FOLDER / f"run-schema-{SCHEMA}.json"
LATE = "36/plan/agent:ben/0/0"  # a job of the file with a late answer
MORE = 15  # ticks, by which every open job of the file has ended


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as endpoint:
        yield endpoint


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def check_charges(client: Redis, run: str) -> None:
    """Check that each owner's charges are the sum of its jobs' charges."""
    by_job: dict[str, Cost] = {}
    for one in JobHistory(client, run).all():
        if one.spent != Cost():
            by_job[one.owner] = added(by_job.get(one.owner, Cost()), one.spent)
    assert by_job == {owner: cost for owner, cost in usage_by_owner(client, run).items() if cost != Cost()}


def test_owners_of_an_older_run_are_charged_the_sum_of_their_jobs(client: Redis) -> None:
    written = read(FILE)
    load(client, written)
    check_charges(client, written["run"])


def test_an_older_run_is_audited_replayed_and_resumed(client: Redis, tmp_path: Path, endpoint: FakeEndpoint) -> None:
    written = read(FILE)
    run, tick = written["run"], written["tick"]
    load(client, written)
    assert audit(client, run) == []
    assert replay(client, run, empty_redis())[:2] == (tick, written["digest"])
    left = {key.partition(":job:")[2] for key in written["keys"]} - {""}
    assert {"open", "held", "staged"} == {
        fields["state"] for key, (_, fields) in written["keys"].items() if ":job:" in key
    }

    settings = settings_for(tmp_path, endpoint.url)
    with TickLoop(run=run, owners={}, settings=settings, inline=True, client=client, exist="resume", ticks=400) as loop:
        assert (loop.tick, loop.digest, loop.restored) == (tick, written["digest"], b'{"tick": %d}' % tick)
        assert {key.text() for key in loop.state.open} == left
        live(loop, tick + MORE)
        assert loop.tick == tick + MORE
        assert not {key.text() for key in loop.state.open} & left
    assert summarise_run(client, run).tick == tick + MORE
    assert not client.exists(RunStore.open(client, run).key("offered")), "late answers were taken"
    check_charges(client, run)
    assert JobHistory(client, run).find(JobKey.parse(LATE)).spent.tokens == 300
    assert audit(client, run) == []
    assert replay(client, run, empty_redis()).ticks == tick + MORE


def test_the_next_file_can_be_written_with_all_kinds_of_records(tmp_path: Path) -> None:
    """Check that a new file has jobs in each state, a lost attempt, a deferred request, a trigger and late answers."""
    write(tmp_path / "run.json")
    fresh = read(tmp_path / "run.json")
    keys = {key.rpartition(":")[2]: value for key, (_, value) in fresh["keys"].items() if ":job:" not in key}
    states = {fields["state"] for key, (_, fields) in fresh["keys"].items() if ":job:" in key}
    assert states == {"open", "held", "staged", "dead"}
    assert keys.keys() >= {"attempts", "lost", "retired", "unclaimed", "checkpoint", "facts", "awaited", "offered"}
    assert any(b'"late":[{"key"' in unpack_line(as_bytes(line))[1] for line in keys["journal"])
    loop = json.loads(keys["state"]["loop"])
    assert loop["deferred"]
    assert loop["triggers"]
