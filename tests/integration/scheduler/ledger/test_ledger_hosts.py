"""The ledger on a real Valkey: the host of a run, and the end of a run."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from cogitate.scheduler.ledger.errors import Fenced, RunExists, RunMissing, RunRolledBack
from cogitate.scheduler.ledger.ledger import HostLedger
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, everything, sound, worker


def test_a_run_name_is_taken_once(client: Redis) -> None:
    Host(client)
    with pytest.raises(RunExists, match="'r' exists already"):
        Host(client)


def test_a_missing_run_cannot_be_resumed(client: Redis) -> None:
    with pytest.raises(RunMissing, match="'nowhere'"):
        HostLedger.resume(client, "nowhere")
    assert client.keys("*") == []


def test_the_second_host_fences_the_first(client: Redis) -> None:
    first = Host(client)
    first.turn(("think", OWNER))
    second = Host(client, resume=True)
    before = everything(client)
    with pytest.raises(Fenced, match="another host"):
        first.turn(("think", OTHER))
    with pytest.raises(Fenced):
        first.ledger.collect(2, "due")
    with pytest.raises(Fenced):
        first.ledger.collect(2, "due", ["00"])
    with pytest.raises(Fenced):
        first.ledger.finish("finished")
    assert everything(client) == before
    second.turn(("think", OTHER))
    second.until(6)
    assert len(second.ended()) == 2
    sound(client)


@pytest.mark.parametrize("field", ["epoch", "holder", "seq"])
def test_each_part_of_a_hosts_identity_is_checked(client: Redis, field: str) -> None:
    host = Host(client)
    state = host.ledger.store.key("state")
    kept = client.hget(state, field)
    client.hset(state, field, "7")
    before = everything(client)
    with pytest.raises(Fenced):
        host.ledger.collect(1, "due")
    with pytest.raises(Fenced):
        host.turn()
    assert everything(client) == before
    assert kept is not None


def test_a_host_ahead_of_a_rolled_back_ledger_stops(client: Redis) -> None:
    """Let the ledger lose its last step, as after a power loss: the host is ahead and must stop."""
    host = Host(client)
    host.turn()
    state = host.ledger.store.key("state")
    remembered: Any = client.hgetall(state)
    host.turn()
    client.hset(state, mapping=remembered)
    with pytest.raises(RunRolledBack, match=r"is at tick 1, this host is at tick 2"):
        host.turn()


def test_a_fenced_host_cannot_finish_its_run(client: Redis) -> None:
    host = Host(client, ticks=2)
    host.turn()
    Host(client, resume=True, ticks=2)
    with pytest.raises(Fenced):
        host.turn()
    assert client.hget(host.ledger.store.key("state"), "status") == b"running"


def test_a_finished_run_hands_out_no_jobs(client: Redis) -> None:
    host = Host(client, ticks=2)
    (job,) = host.turn(("think", OWNER))
    with pytest.raises(StopIteration):
        host.turn()
    assert client.hget(host.ledger.store.key("state"), "status") == b"finished"
    assert worker(client).claim(job.id) == "paused"
