"""What a lost worker costs: a job that kills its workers, the jobs beside it, and a result that the ledger lost."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from redis import Redis

from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.claims import Claim, Result
from cogitate.tasks.job import Job
from cogitate.workers.jobs.kept_results import KeptResults
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import (
    CALL,
    KINDS,
    OTHER,
    OWNER,
    Host,
    claimed,
    settle,
    thought,
    worker,
)

CAP, AT_ONCE = 4, 4


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def lost(host: Host, claims: list[Claim]) -> None:
    """Have the host see the leases of these attempts expire, as after their worker was killed."""
    host.ledger.collect(host.tick.number, "due", [claim.token for claim in claims])


def counted(client: Redis, host: Host, job: Job) -> int:
    """Return the number of claims of a job."""
    found: Any = client.hget(host.ledger.store.job_key(job.key.text()), "claims")
    return int(found)


@pytest.mark.parametrize("seed", range(5))
def test_a_deadly_job_costs_other_jobs_few_claims(client: Redis, seed: int) -> None:
    random = Random(seed)
    host = Host(client, kinds=KINDS)
    jobs = host.turn(*((kind.name, owner) for kind in KINDS for owner in (OWNER, OTHER)))
    assert len(jobs) > AT_ONCE
    deadly, waiting, deaths = jobs[0], list(jobs), 0
    for process in range(100):
        claims = worker(client, f"w{process}")
        random.shuffle(waiting)
        held: list[Claim] = []
        for job in waiting:
            if len(held) < AT_ONCE and isinstance(claim := claims.claim(job.id), Claim):
                held.append(claim)
        for claim in held:
            if claim.job != deadly:
                continue
            deaths += 1
            lost(host, held)
            break
        else:
            for claim in held:
                settle(claims, claim)
                waiting.remove(claim.job)
        if waiting == [deadly] and deaths == CAP:
            break
    assert client.hget(host.ledger.store.job_key(deadly.key.text()), "state") == b"dead"
    assert deaths == CAP
    assert waiting == [deadly], "all other jobs are done"
    assert max(counted(client, host, job) for job in jobs if job != deadly) <= 3
    assert audit(client, "r") == []


def test_a_job_that_lost_two_workers_runs_alone(client: Redis) -> None:
    host = Host(client)
    job, other = host.turn(("think", OWNER), ("think", OTHER))
    for name in ("first", "second"):
        lost(host, [claimed(worker(client, name), job)])
    third, fourth = worker(client, "third"), worker(client, "fourth")
    neighbour = claimed(third, other)
    assert third.claim(job.id) == "alone", "it could kill the neighbour's attempt"
    settle(third, neighbour, None)
    suspect = claimed(third, job)
    assert third.claim(other.id) == "alone", "the suspect could kill this attempt"
    settle(fourth, claimed(fourth, other))
    assert settle(third, suspect) == "staged"
    assert client.exists(host.ledger.store.key("alone")) == 0
    assert audit(client, "r") == []


def test_a_result_that_the_ledger_lost_is_settled_again(client: Redis) -> None:
    """Restore the ledger without the settlement, then without the claim too: both times the kept result is settled."""
    host = Host(client)
    job, _ = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    kept = KeptResults(claims, interval=1e9)
    before_claim = dump(client)
    claim = claimed(claims, job)
    before_settle = dump(client)
    result = Result(effects=(thought(job, "dear"),), source="llm", usage=CALL)
    assert claims.settle(claim, result, CALL) == "staged"
    kept.keep(claim, result, CALL)
    for forgotten in (before_settle, before_claim):
        restore(client, forgotten)
        kept.look()
        assert claims.states([claim]) == ["staged"]
        assert audit(client, "r") == []
    kept.look()
    assert len(kept._kept) == 1, "no tick has confirmed it"
    host.until(6)
    kept.look()
    assert len(kept._kept) == 0
    assert host.ended()[job.key] == ("applied", "none")


def dump(client: Redis) -> dict[bytes, bytes]:
    """Return everything that the server holds."""
    keys: Any = client.keys()
    return {key: client.dump(key) for key in keys}  # type: ignore[misc]


def restore(client: Redis, kept: dict[bytes, bytes]) -> None:
    """Replace the server's data."""
    client.flushall()
    for key, value in kept.items():
        client.restore(key, 0, value)
