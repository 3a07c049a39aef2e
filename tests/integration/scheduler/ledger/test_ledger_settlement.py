"""The ledger on a real Valkey: the charge of an attempt, and the result that counts."""

from __future__ import annotations

from typing import Any

from redis import Redis

from cogitate.memory.effects import Archive
from cogitate.memory.entry import Entry
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import Cost
from tests.integration.scheduler.ledger.ledger_case import (
    CALL,
    OTHER,
    OWNER,
    Host,
    Think,
    claimed,
    observe,
    settle,
    sound,
    thought,
    worker,
)


def test_a_stale_attempt_is_charged_but_not_staged(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    slow, quick = worker(client, "slow"), worker(client, "quick")
    old = claimed(slow, job)
    assert host.ledger.collect(2, "due", [old.token]).unclaimed == [job.key.text()]
    new = claimed(quick, job)
    assert settle(slow, old, "old", Cost(calls=1, tokens=7)) == "accounted"
    assert settle(quick, new, "new", Cost(calls=1, tokens=5)) == "staged"
    assert settle(slow, old, "old") == "unknown"
    assert settle(quick, new, "new") == "already"
    assert host.window("run:0", unit="tokens") == {"spent": 12, "overrun": 12, "pool": 7}
    host.until(6)
    stream = host.loop.state.streams[OWNER]
    assert [entry.text for entry in stream.live("reflection")] == ["new"]
    sound(client)


def test_the_newest_attempt_counts_even_after_its_lease(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.ledger.collect(2, "due", [claim.token])
    assert settle(claims, claim, "slow but paid for") == "staged"
    assert claims.claim(job.id) == "closed"
    sound(client)
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}
    assert host.window("run:0") == {"spent": 1}


def test_a_failure_after_the_lease_frees_nothing(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.ledger.collect(2, "due", [claim.token])
    assert settle(claims, claim, None) == "accounted"
    assert claimed(claims, job).number == 2
    sound(client)


def test_the_class_of_the_last_attempts_failure_is_kept(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    assert claims.settle(claimed(claims, job), None, CALL, "connection") == "freed"
    host.until(job.due + 1)
    (line,) = read_journal(host.ledger.store, job.due, job.due)
    assert [(end.reason, note.failure) for end, note in zip(line.core.ended, line.notes.ended, strict=True)] == [
        ("late", "connection")
    ]
    sound(client)


def test_a_result_after_the_end_is_charged(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5, "day.run.tokens": 100}, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(8)
    assert host.ended() == {job.key: ("applied", "late")}
    assert host.window("day:0", unit="tokens") == {"reserved": 30}
    assert host.window(f"tick:{job.key.tick}") == {"reserved": 1}, "an open attempt preserves its tick's window"
    assert settle(claims, claim, used=Cost(calls=1, tokens=11)) == "accounted"
    assert host.window("day:0", unit="tokens") == {"spent": 11}
    sound(client)
    host.turn()
    host.turn()
    assert not client.exists(host.ledger.store.window_key(f"tick:{job.key.tick}"))
    assert host.loop.state.view.held["day:0|run|tokens"] == 11, "corrected at the next boundary"
    sound(client)


def test_a_lost_attempt_stays_charged(client: Redis) -> None:
    host = Host(client, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(8)
    host.ledger.collect(8, "due", [claim.token])
    assert host.window("run:0", unit="tokens") == {"spent": 30}
    assert settle(claims, claim, used=Cost(calls=1, tokens=11)) == "accounted"
    assert host.window("run:0", unit="tokens") == {"spent": 11}
    assert settle(claims, claim, used=Cost(calls=1, tokens=11)) == "unknown"
    assert host.window("run:0", unit="tokens") == {"spent": 11}
    sound(client)


def test_a_result_staged_after_the_hosts_read_is_late(client: Redis) -> None:
    """Stage a result between collect and commit: the host decides without it, and the ledger keeps its cost."""
    host = Host(client, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(job.due)  # it has collected, and is in the world's turn
    assert settle(claims, claim, "too late", Cost(calls=1, tokens=9)) == "staged"
    host.turn()
    assert host.ended() == {job.key: ("applied", "late")}
    assert host.window("run:0", unit="tokens") == {"spent": 9}
    assert host.loop.state.view.held["day:0|run|tokens"] == 9, "known at the commit"
    assert [e.provisional for e in host.loop.state.streams[OWNER].live("reflection")] == [True]
    sound(client)


def test_usage_above_a_reservation_is_overrun_and_blocks(client: Redis) -> None:
    host = Host(client, limits={"day.run.tokens": 100}, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    assert settle(claims, claimed(claims, job), used=Cost(calls=1, tokens=90)) == "staged"
    assert host.window("day:0", unit="tokens") == {"spent": 90, "overrun": 60}
    host.until(5)
    assert host.turn(("think", OWNER)) == []
    assert sorted(host.loop.state.open)[0].kind == "think", "it waits for its heuristic"
    sound(client)


def test_only_a_host_expires_a_lease(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    for _ in range(3):
        assert claim.token in host.ledger.collect(2, "due").attempts
    assert worker(client, "another").claim(job.id) == "claimed"
    keys: Any = client.keys("*")
    assert all(client.ttl(key) == -1 for key in keys), "no key has a time to live"


def test_heartbeats_are_counted_per_worker(client: Redis) -> None:
    host = Host(client)
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client, "w")
    claims.beat("r", host.ledger.incarnation)
    assert host.ledger.collect(2, "due").beats == {}, "a worker without a claim does not count"
    claim = claimed(claims, first)
    for _ in range(3):
        claims.beat("r", claim.incarnation)
    claimed(worker(client, "v"), second)
    assert host.ledger.collect(2, "due").beats == {"w": 3, "v": 0}
    settle(claims, claim)
    (again,) = host.turn(("think", OWNER))
    claimed(claims, again)
    assert host.ledger.collect(3, "due").beats["w"] == 3, "another claim does not reset the count"


def test_of_two_jobs_that_archive_the_same_entries_one_is_stale(client: Redis) -> None:
    """Prune and summarise the same entries at one boundary: the second job is stale as a whole and stays charged."""
    kinds = (Think(name="summarise"), Think(name="prune", order=40))
    host = Host(client, kinds=kinds)
    observe(host, 3)
    host.turn()
    jobs = host.turn(("prune", OWNER), ("summarise", OWNER), numbers=(1, 2))
    claims = worker(client)
    for job in jobs:
        claim = claimed(claims, job)
        effects = (thought(job, job.key.kind), Archive(owner=OWNER, numbers=(1, 2), into_appended=True))
        assert claims.settle(claim, Result(effects=effects, source="llm", usage=CALL), CALL) == "staged"
    host.until(7)
    ends = {key.kind: end for key, end in host.ended().items()}
    assert ends == {"summarise": ("applied", "none"), "prune": ("stale", "none")}
    stream = host.loop.state.streams[OWNER]
    assert [entry.text for entry in stream.live("reflection")] == ["summarise"]
    assert [record.into for record in stream.archived.values()] == [4, 4]
    assert host.window("run:0") == {"spent": 2}
    assert host.loop.state.view.held["run:0|run|calls"] == 2
    sound(client)


def test_cancelled_jobs_keep_their_charge(client: Redis) -> None:
    host = Host(client, cost=Cost(calls=1, tokens=30))
    (job, waiting) = host.turn(("think", OWNER), ("muse", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.loop.calls.leave(OWNER)
    host.loop.calls.observe(OWNER, Entry(type="observation", text="a last look", minute=0))
    host.loop.calls.request("think", OWNER)
    host.turn()
    assert host.ended() == {job.key: ("cancelled", "cancelled"), waiting.key: ("cancelled", "cancelled")}
    assert host.loop.state.open == {}
    assert claims.claim(waiting.id) == "closed"
    assert settle(claims, claim, used=Cost(calls=1, tokens=9)) == "accounted"
    assert host.window("run:0", unit="tokens") == {"spent": 9}
    host.turn()
    sound(client)
