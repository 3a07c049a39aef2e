"""The ledger on a real Valkey: claims, attempts, and the inputs of a claimed job."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as Disconnected

from cogitate.memory.effects import Append, Archive, Rate
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.keys import incarnation_key, new_nonce
from tests.integration.scheduler.ledger.ledger_case import (
    OTHER,
    OWNER,
    Host,
    Think,
    claimed,
    observe,
    settle,
    sound,
    worker,
)


def test_a_job_is_handed_out_once(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    first, second = worker(client, "one"), worker(client, "two")
    claim = claimed(first, job)
    assert second.claim(job.id) == "claimed"
    assert first.claim(job.id) == "claimed"
    assert settle(first, claim) == "staged"
    assert second.claim(job.id) == "closed"
    sound(client)


def test_a_claim_sent_again_is_the_same_attempt(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    script = worker(client)._claim
    args = ["cogitate:{r}:", job.key.text(), "w", new_nonce(), SCHEMA]
    answers = [script(keys=[incarnation_key("r")], args=args) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][2] == 1
    assert len(host.ledger.collect(2, "due").attempts) == 1
    assert host.window("run:0") == {"reserved": 1}
    sound(client)


def test_an_unanswered_claim_is_given_back(client: Redis) -> None:
    """Lose the reply of a claim: as the worker lives, its lease would never expire."""
    host = Host(client)
    (job, other) = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    made = claims._claim

    def lost(**call: Any) -> None:
        made(**call)
        raise Disconnected("the reply was lost")

    claims._claim = lost  # type: ignore[assignment]
    with pytest.raises(Disconnected):
        claims.claim(job.id)
    assert worker(client, "another").claim(job.id) == "claimed"
    claims._claim = made
    claimed(claims, other)
    assert claimed(worker(client, "another"), job).number == 2
    sound(client)


def test_a_claim_of_an_unreadable_job_is_given_back_at_once(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    record, attempts = host.ledger.store.job_key(job.key.text()), host.ledger.store.key("attempts")
    kept: Any = client.hget(record, "job")
    for damaged in (b"{", kept.replace(b'"think"', b'"muse"')):
        client.hset(record, "job", damaged)
        assert worker(client).claim(job.id) == "unreadable"
        assert not client.exists(attempts), "no attempt is held"
    client.hset(record, "job", kept)
    assert claimed(worker(client, "another"), job).number == 3


def test_claims_of_unknown_jobs_are_refused(client: Redis) -> None:
    claims = worker(client)
    assert claims.claim("nowhere/1/think/agent:ann/0/0") == "gone"
    Host(client)
    assert claims.claim("r/1/think/agent:ann/0/0") == "closed"
    for bad in ("", "r", "r/x/think/agent:ann/0/0", "r/1/think/0/0"):
        with pytest.raises(ValueError, match="expected"):
            claims.claim(bad)


def test_a_paused_run_hands_out_nothing(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    client.hset(host.ledger.store.key("state"), "status", "paused")
    assert worker(client).claim(job.id) == "paused"
    assert host.window("run:0") == {"reserved": 1}
    client.hset(host.ledger.store.key("state"), "status", "running")
    claimed(worker(client), job)


def test_a_job_is_not_handed_out_after_its_due_tick(client: Redis) -> None:
    """Let a commit be ahead of the job's closing: the due tick alone must refuse the claim."""
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    client.hset(host.ledger.store.key("state"), "tick", job.due)
    assert worker(client).claim(job.id) == "late"
    client.hset(host.ledger.store.key("state"), "tick", job.due - 1)
    claimed(worker(client), job)


def test_the_claim_cap_counts_claims_and_not_hints(client: Redis) -> None:
    host = Host(client, claim_cap=2)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    for _ in range(50):
        host._publish([job])
    for number in (1, 2):
        claim = claimed(claims, job)
        assert claim.number == number
        answer = settle(claims, claim, None)
        assert answer == "freed"
    assert claims.claim(job.id) == "closed"
    assert [row.state for row in host.ledger.collect(job.due, "due").boundary.rows] == ["dead"]
    host.until(6)
    assert host.ended() == {job.key: ("applied", "dead")}
    sound(client)


def test_retries_use_the_unused_limit_of_their_tick(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5})
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    for job in (first, first, first, second):  # 4 for first attempts and 1 for retries
        assert settle(claims, claimed(claims, job), None) == "freed"
    assert claimed(claims, first).number == 4
    assert host.window(f"tick:{first.key.tick}") == {"reserved": 1, "spent": 4, "pool": 3}
    assert claims.claim(second.id) == "dead", "the limit is exhausted"
    sound(client)


def test_a_job_without_a_retry_pool_is_dead(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 10}, retry_share=0.1)
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    for job in (first, second):
        assert settle(claims, claimed(claims, job), None) == "freed"
    assert claimed(claims, first).number == 2
    assert host.window("day:0") == {"reserved": 1, "spent": 2, "pool": 1}
    assert claims.claim(second.id) == "dead"
    assert host.window("day:0") == {"reserved": 1, "spent": 2, "pool": 1}
    sound(client)
    host.until(6)
    assert host.ended() == {first.key: ("applied", "late"), second.key: ("applied", "dead")}


def test_a_dead_job_stays_dead(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 1})
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.ledger.collect(2, "due", [claim.token])
    assert claims.claim(job.id) == "dead"
    assert settle(claims, claim, "too late") == "accounted"
    host.until(6)
    assert host.ended() == {job.key: ("applied", "dead")}
    sound(client)


def test_a_worker_reads_the_same_as_the_host(client: Redis) -> None:
    host = Host(client, kinds=(Think(name="think", latency=6),))
    observe(host, 4)
    host.turn()
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(1,)))
    observe(host, 1)
    (live,) = host.turn(("think", OWNER))
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(2,)))
    observe(host, 1)
    (named,) = host.turn(("think", OWNER), numbers=(1, 2, 3, 99))
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(3,)))
    observe(host, 1)
    host.turn()
    for job, expected in ((live, [2, 3, 4, 5]), (named, [1, 2, 3])):
        case = claimed(worker(client), job).case
        assert [entry.number for entry in case.entries] == expected
        assert case == host.loop.state.case_of(host.loop.state.open[job.key])


@pytest.mark.parametrize("numbers", [None, (1, 2)])
def test_a_worker_reads_no_rating_later_than_its_jobs_admission(client: Redis, numbers: tuple[int, ...] | None) -> None:
    host = Host(client, kinds=(Think(name="think", latency=9),))
    for text in ("seen first", "seen then"):
        host.loop.calls.apply(Append(owner=OWNER, entry=Entry(type="observation", text=text, minute=host.tick.minute)))
    host.loop.state.rater.rate = lambda *args: ()  # type: ignore[method-assign]  # as if a model were to be asked
    host.turn()
    host.loop.calls.apply(Rate(owner=OWNER, numbers=(1,), ratings=(3,)))
    (job,) = host.turn(("think", OWNER), numbers=numbers)
    host.loop.calls.apply(Rate(owner=OWNER, numbers=(2,), ratings=(9,)))
    host.turn()
    assert [entry.importance for entry in host.loop.state.streams[OWNER].live()] == [3, 9]
    case = claimed(worker(client), job).case
    assert [(entry.number, entry.importance) for entry in case.entries] == [(1, 3), (2, 0)]
    assert case == host.loop.state.case_of(host.loop.state.open[job.key])


def test_owners_may_have_any_name(client: Redis) -> None:
    owner = "agent:" + "ü/|{%\"'\\ 漢字 " + "x" * 100
    host = Host(client, owners=[owner], limits={"day.owner:*.calls": 5, "tick.run.calls": 5})
    host.loop.calls.observe(owner, Entry(type="observation", text="saw", minute=0))
    (job,) = host.turn(("think", owner))
    claims = worker(client)
    claim = claimed(claims, job)
    assert claim.job == job
    assert [entry.text for entry in claim.case.entries] == ["saw"]
    assert claim.case.profile == Profile(name=owner)
    assert settle(claims, claim) == "staged"
    assert host.window("day:0", f"owner:{owner}") == {"spent": 1}
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}
    sound(client)
