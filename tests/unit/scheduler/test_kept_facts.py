"""The versions of a run's facts that its ledger keeps: those that a job may still need."""

from __future__ import annotations

from collections.abc import Callable

from fakeredis import FakeRedis

from cogitate import Profile, TickLoop
from scheduler.ledger.run_store import RunStore


def test_versions_of_the_facts_that_no_open_job_was_made_with_are_removed(
    cogitate_loop: Callable[..., TickLoop],
) -> None:
    client, joined = FakeRedis(), 30
    loop = cogitate_loop(owners={"agent:0": Profile(name="Zero")}, ticks=40, client=client)
    for tick in loop:
        if tick.number <= joined:
            loop.join(f"agent:{tick.number}", Profile(name=f"Agent {tick.number}"))
        kept = {int(version) for version in client.hkeys(RunStore.open(client, "test").key("facts"))}
        assert {item.job.facts for item in loop.state.open.values()} <= kept | {loop.state.facts_version}
    assert kept == set(loop.state.facts_at)
    assert len(kept) < joined / 2
