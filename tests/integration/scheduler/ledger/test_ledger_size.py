"""The ledger on a real Valkey: many jobs, many entries, large amounts."""

from __future__ import annotations

from redis import Redis

from cogitate.memory.effects import Archive
from cogitate.memory.limits import MemoryLimits
from cogitate.scheduler.config.facts import Facts
from cogitate.tasks.job import Cost
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host, claimed, observe, settle, sound, worker


def test_the_ledger_handles_ten_thousand_jobs_in_one_tick(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 20_000})
    jobs = host.turn(*[("think", OWNER)] * 10_000)
    assert len(jobs) == 10_000
    assert host.window("run:0") == {"reserved": 10_000}
    claims = worker(client)
    for job in jobs[::1000]:
        assert settle(claims, claimed(claims, job)) == "staged"
    host.until(6)
    assert len(host.ended()) == 10_000
    assert host.window("run:0") == {"spent": 10}
    assert host.loop.state.view.held["run:0|run|calls"] == 10, "unclaimed jobs cost nothing"
    assert host.loop.state.view.held["run:0|run|jobs"] == 10_000
    sound(client)


def test_the_ledger_handles_twenty_thousand_entries_in_one_tick(client: Redis) -> None:
    facts = Facts(minutes_per_tick=60, limits=MemoryLimits(max_observations=50_000))
    host = Host(client, facts=facts)
    observe(host, 20_000)
    host.turn()
    (job,) = host.turn(("think", OWNER))
    assert len(claimed(worker(client), job).case.entries) == 20_000
    host.loop.calls.apply(Archive(owner=OWNER, numbers=tuple(range(1, 15_001))))
    (named,) = host.turn(("think", OWNER), numbers=tuple(range(1, 9_001)))
    assert len(claimed(worker(client), named).case.entries) == 9_000
    sound(client)


def test_large_amounts_are_counted_exactly(client: Redis) -> None:
    much = Cost(calls=1, tokens=99_999_999, usd_micros=12_345_678_901_234)
    host = Host(client, limits={"run.run.usd_micros": 2**53 - 1}, cost=much)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    assert host.window("run:0", unit="usd_micros") == {"reserved": 12_345_678_901_234}
    settle(claims, claim, None, much)
    claim = claimed(claims, job)
    settle(claims, claim, "done", much)
    assert host.window("run:0", unit="usd_micros") == {"spent": 24_691_357_802_468, "pool": 12_345_678_901_234}
    sound(client)
