"""Runs that wait for each other at shared workers, with real ledgers and claims."""

from __future__ import annotations

import time

import msgspec
import pytest
from redis import Redis

from cogitate.ops.waiting_runs import MINUTES, WaitingRun, cells_of, waiting_runs, waiting_table
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.presence import this_process
from tests.integration.scheduler.ledger.ledger_case import Host, claimed, worker
from tests.live_redis import empty_redis


def hosted(client: Redis, run: str, jobs: int, *, share: int = 1, lease: float = 60.0) -> Host:
    """Create a run with a live host and the given number of unclaimed jobs."""
    owners = [f"agent:a{number}" for number in range(jobs)]
    host = Host(client, run=run, owners=owners)
    sign = msgspec.json.encode(msgspec.structs.replace(this_process(), share=share))
    assert host.ledger.present(sign, lease)
    host.turn(*(("think", owner) for owner in owners))
    return host


def claim(client: Redis, host: Host, count: int) -> None:
    workers = worker(client)
    for job in [job for job in host.hints if job.run == host.ledger.run][:count]:
        claimed(workers, job)


def test_runs_at_shared_workers_are_listed_with_their_served_and_due_shares() -> None:
    client = empty_redis()
    large, small, idle = hosted(client, "large", 9, share=3), hosted(client, "small", 3), hosted(client, "idle", 2)
    Host(client, run="abandoned", owners=("agent:ada",)).turn(("think", "agent:ada"))
    claim(client, large, 5)
    claim(client, small, 1)
    claim(client, idle, 2)
    now = time.time()
    found = {one.run: one for one in waiting_runs(client, now)}
    assert found.keys() == {"large", "small", "idle"}, "a run without a host waits for a host, not for workers"
    assert [(one.waiting, one.served, one.share) for one in (found["large"], found["small"], found["idle"])] == [
        (4, 5, 3),
        (2, 1, 1),
        (0, 2, 1),
    ]
    assert [found[run].share_served for run in ("large", "small", "idle")] == [5 / 8, 1 / 8, 2 / 8]
    assert [found[run].share_due for run in ("large", "small", "idle")] == [3 / 4, 1 / 4, None]
    assert [found[run].waits_for for run in ("large", "small", "idle")] == [["idle", "small"], ["large", "idle"], []]
    oldest = found["large"].oldest
    assert oldest is not None
    assert 0 <= oldest <= now - (found["small"].oldest or 0)
    assert found["idle"].oldest is None


def test_only_claims_of_recent_minutes_are_counted() -> None:
    client = empty_redis()
    host = hosted(client, "town", 4)
    claim(client, host, 3)
    key, now = host.ledger.store.key("served"), time.time()
    ((slot, counted),) = client.hgetall(key).items()  # type: ignore[union-attr]
    minute, count = map(int, counted.split())
    assert (count, int(slot)) == (3, minute % 8)
    assert abs(minute - now // 60) <= 1
    for ago in range(8):
        client.hset(key, str((minute - ago) % 8), f"{minute - ago} {10**ago}")
    (one,) = waiting_runs(client, minute * 60)
    assert one.served == int("1" * MINUTES)
    client.hset(key, str(minute % 8), "no count")
    (one,) = waiting_runs(client, minute * 60)
    assert one.served == int("1" * MINUTES) - 1


def test_a_deleted_or_unreadable_run_hides_no_other_run() -> None:
    client = empty_redis()
    gone, broken = hosted(client, "gone", 1), hosted(client, "broken", 1)
    hosted(client, "town", 1)
    client.hset(broken.ledger.store.key("state"), "schema", "x")
    delete_run(client, gone.ledger.run, force=True)
    client.sadd("cogitate:runs", "gone")
    assert [one.run for one in waiting_runs(client, time.time())] == ["town"]


@pytest.mark.parametrize(
    ("oldest", "wait"), [(None, "—"), (0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (7200.0, "120 min")]
)
def test_the_table_formats_the_figures_of_a_run(oldest: float | None, wait: str) -> None:
    one = WaitingRun(
        run="town",
        share=1,
        waiting=12_345,
        oldest=oldest,
        served=3,
        share_served=0.125,
        share_due=0.5,
        waits_for=["a", "b"],
    )
    assert cells_of(one) == ("town", "12,345", wait, "12%", "50%", "a, b")
    assert waiting_table([one]).row_count == 1
