"""The ledger on a real Valkey: which memories, jobs and windows are kept or deleted."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from cogitate.memory.effects import Archive
from cogitate.memory.limits import MemoryLimits
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.ledger.errors import Fenced
from cogitate.scheduler.ledger.keys import RUNS
from cogitate.tasks.job import Cost
from tests.integration.scheduler.ledger.ledger_case import (
    OTHER,
    OWNER,
    Host,
    Think,
    claimed,
    everything,
    observe,
    settle,
    sound,
    worker,
)


def test_an_archived_entry_is_kept_while_a_job_may_read_it(client: Redis) -> None:
    facts = Facts(minutes_per_tick=60, limits=MemoryLimits(retention=1440))
    host = Host(client, kinds=(Think(name="think", latency=90), Think(name="last", order=20, latency=110)), facts=facts)
    observe(host, 3)
    host.turn()
    (job,) = host.turn(("think", OWNER))
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(1, 2)))
    host.turn()
    (named,) = host.turn(("last", OWNER), numbers=(1,))
    host.until(91)
    assert [entry.number for entry in claimed(worker(client), job).case.entries] == [1, 2, 3]
    host.until(93)
    assert job.key in host.ended()
    host.until(97)
    assert [entry.number for entry in host.loop.state.streams[OWNER].entries.values()] == [1, 3, 4]
    assert [entry.number for entry in claimed(worker(client), named).case.entries] == [1]
    host.until(122)
    assert named.key in host.ended()
    assert 1 not in host.loop.state.streams[OWNER].entries
    assert client.hkeys(host.ledger.store.owner_key("archive", OWNER)) == []
    sound(client)


def test_the_oldest_archived_entries_are_deleted_unless_a_job_may_read_them(client: Redis) -> None:
    facts = Facts(minutes_per_tick=10, limits=MemoryLimits(max_archived=2))
    host = Host(client, kinds=(Think(name="think", latency=9),), facts=facts)
    observe(host, 6)
    host.turn()
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(5, 3, 2)))
    host.turn()
    (job,) = host.turn(("think", OWNER))
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(1, 6)))
    host.turn()
    archived = host.loop.state.streams[OWNER].archived
    assert job.key in host.loop.state.open
    assert sorted(archived) == [1, 6], "the job does not read entries archived before it was made"
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(4,)))
    host.turn()
    host.turn()
    assert sorted(host.loop.state.streams[OWNER].archived) == [1, 4, 6], "the job may read them"
    host.until(job.due + 3)
    assert job.key in host.ended()
    assert sorted(host.loop.state.streams[OWNER].archived) == [4, 6]
    assert sorted(client.hkeys(host.ledger.store.owner_key("archive", OWNER))) == [b"4", b"6"]
    sound(client)


def test_no_tick_exceeds_the_limit_of_archived_entries(client: Redis) -> None:
    host = Host(client, facts=Facts(limits=MemoryLimits(max_archived=2)))
    observe(host, 9)
    host.turn()
    for number in range(1, 10):
        host.loop.calls.apply(Archive(owner=OWNER, numbers=(number,)))
        host.turn()
        kept = sorted(host.loop.state.streams[OWNER].archived)
        assert kept == list(range(1, number + 1))[-2:]
        assert client.hlen(host.ledger.store.owner_key("archive", OWNER)) == len(kept)
    sound(client)


def test_forgotten_entries_leave_no_links(client: Redis) -> None:
    host = Host(client, facts=Facts(minutes_per_tick=10, limits=MemoryLimits(max_archived=1)))
    observe(host, 4)
    host.turn()
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(1, 2), into_summary=True))
    host.turn()
    host.loop.calls.apply(Archive(owner=OWNER, numbers=(3,)))
    into = host.ledger.store.owner_key("into", OWNER)
    assert client.hkeys(into) == [b"2"], "the first was forgotten at once"
    host.turn()
    host.turn()
    assert list(host.loop.state.streams[OWNER].archived) == [3]
    assert client.hkeys(into) == []
    sound(client)


def test_a_resumed_host_forgets_the_same(client: Redis) -> None:
    facts = Facts(minutes_per_tick=10, limits=MemoryLimits(max_archived=5))
    left = []
    for resumed in (False, True):
        host = Host(client, run=f"run-{resumed}", facts=facts)
        observe(host, 13)
        host.turn()
        host.loop.calls.apply(Archive(owner=OWNER, numbers=(12, 9, 2, 11, 10)))
        host.turn()
        if resumed:
            host = Host(client, run="run-True", facts=facts, resume=True)
        host.loop.calls.apply(Archive(owner=OWNER, numbers=(8, 1)))
        host.turn()
        host.turn()
        left.append(sorted(host.loop.state.streams[OWNER].archived))
        sound(client, f"run-{resumed}")
    assert left == [[1, 8, 10, 11, 12]] * 2


def test_a_resumed_host_has_the_first_hosts_knowledge(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 2, "tick.run.calls": 9})
    observe(host, 2)
    host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER), ("doze", OWNER))
    host.loop.calls.leave(OTHER)
    host.turn()
    first, second = host.loop.state, Host(client, resume=True).loop.state
    assert second.streams.keys() == first.streams.keys() == {OWNER}
    assert second.streams[OWNER].entries == first.streams[OWNER].entries
    assert second.streams[OWNER].head == first.streams[OWNER].head
    assert second.open == first.open
    assert second.deferred == first.deferred != []
    assert second.view.held == first.view.held
    assert (second.facts, second.facts_at, second.retired) == (first.facts, first.facts_at, first.retired)


@pytest.mark.parametrize("apply", ["due", "ready"])
def test_ended_jobs_leave_no_keys(client: Redis, apply: Any) -> None:
    host = Host(client, apply=apply, limits={"tick.run.calls": 4}, owners=[OWNER, OTHER, "agent:cy"])
    claims = worker(client)
    host.turn()
    jobs = host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER), ("think", "agent:cy"))
    settle(claims, claimed(claims, jobs[-1]))
    host.loop.calls.leave("agent:cy")
    for job in host.turn(("think", OWNER)):
        settle(claims, claimed(claims, job))
    host.turn(("doze", OTHER))
    host.until(12)
    assert host.loop.state.open == {}
    left: Any = client.keys(host.ledger.store.prefix + "*")
    names = {key.decode().removeprefix(host.ledger.store.prefix).partition(":")[0] for key in left}
    assert names.isdisjoint({"job", "jobs", "due", "ready", "waiting", "unclaimed", "staged", "attempts", "open"}), (
        names
    )
    assert client.smembers(host.ledger.store.key("windows")) == {b"day:0", b"run:0"}


def test_a_late_settlement_does_not_restore_a_deleted_window(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5})
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(6)
    host.ledger.collect(6, "due", [claim.token])
    host.until(8)
    window = host.ledger.store.window_key(f"tick:{job.key.tick}")
    assert not client.exists(window)
    assert settle(claims, claim, used=Cost(calls=3)) == "accounted"
    assert not client.exists(window)
    assert host.window("run:0") == {"spent": 3, "overrun": 2}
    sound(client)


def test_a_tick_is_committed_only_after_its_predecessor(client: Redis) -> None:
    host = Host(client)
    host.turn()
    client.hset(host.ledger.store.key("state"), "tick", 7)
    with pytest.raises(Fenced):
        host.turn()
    assert client.llen(host.ledger.store.key("journal")) == 1


def test_a_deleted_run_is_not_restored_by_workers_or_its_host(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5})
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    claim = claimed(claims, first)
    keys: Any = client.keys("cogitate:{r}:*")
    client.delete(*keys)
    client.srem(RUNS, "r")
    for _ in range(2):
        assert claims.claim(second.id) == "gone"
        assert settle(claims, claim) == "gone"
        claims.beat("r", claim.incarnation)
        assert client.keys("*") == []
    with pytest.raises(Fenced):
        host.turn()
    assert client.keys("*") == []


def test_a_new_run_of_the_same_name_is_untouched_by_the_old(client: Redis) -> None:
    old = Host(client)
    (job,) = old.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    keys: Any = client.keys("cogitate:{r}:*")
    client.delete(*keys)
    new = Host(client)
    (same,) = new.turn(("think", OWNER))
    assert same.id == job.id
    before = everything(client)
    assert settle(claims, claim) == "gone"
    claims.beat("r", claim.incarnation)
    with pytest.raises(Fenced):
        old.turn()
    assert everything(client) == before
    assert settle(claims, claimed(claims, same)) == "staged"
    sound(client)
