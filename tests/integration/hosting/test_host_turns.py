"""A host's turns: owners that leave and join, deferred jobs, and requests that fall due during a drain."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.operators import ask
from cogitate.tasks.job import JobKey, Reads, Request
from cogitate.tasks.kind import Moment
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, Think
from tests.live_redis import empty_redis

OWNERS = {"agent:ann": Profile(name="Ann"), "agent:ben": Profile(name="Ben")}


def test_leaving_removes_the_jobs_and_deferrals_of_that_owner_only(client: Redis) -> None:
    host = Host(
        client,
        limits={"tick.run.calls": 2},
        kinds=(Think(name="think"), Think(name="muse", order=20, on_denied="defer")),
    )
    host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER), ("muse", OTHER))
    state = host.loop.state
    assert sorted(key.owner for key in state.open) == [OWNER, OTHER]
    assert sorted(waiting.request.owner for waiting in state.deferred) == [OWNER, OTHER]
    host.loop.calls.leave(OWNER)
    host.turn()
    assert [key.owner for key in state.open] == [OTHER]
    assert [waiting.request.owner for waiting in state.deferred] == [OTHER]
    assert state.retired == {OWNER}
    assert sorted(state.streams) == sorted(state.profiles) == [OTHER]
    assert host.ended() == {JobKey(1, "think", OWNER, 0, 0): ("cancelled", "cancelled")}
    host.until(30)
    assert {key.owner for key in host.ended() if key.kind == "muse"} == {OTHER}
    assert audit(client, "r") == []


class Watch(Think):
    """A kind by which one owner always thinks about another."""

    def due(self, moment: Moment) -> Iterable[Request]:
        return [Request(kind=self.name, owner=OWNER, reads=(Reads(OTHER, 0),))] if moment.owner == OWNER else []


def test_a_job_cancelled_by_anothers_leave_is_requested_again(client: Redis) -> None:
    host = Host(client, kinds=(Watch(name="watch", latency=9),))
    host.turn()
    host.turn()
    assert [key.tick for key in host.loop.state.open] == [1]
    host.loop.calls.leave(OTHER)
    host.turn()
    assert [(key.tick, key.owner) for key in host.loop.state.open] == [(3, OWNER)]
    assert list(host.ended().values()) == [("cancelled", "cancelled")]


def test_a_deferred_job_has_less_time_left(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 0}, kinds=(Think(name="muse", on_denied="defer"),))
    host.turn(("muse", OWNER), within=25)
    host.turn(("muse", OTHER))
    assert [(waiting.at, waiting.request.within, waiting.request.trial) for waiting in host.loop.state.deferred] == [
        (11, 15, 1),
        (12, 0, 1),
    ]
    host.until(12)
    assert [(waiting.at, waiting.request.within, waiting.request.trial) for waiting in host.loop.state.deferred] == [
        (12, 0, 1),
        (21, 5, 2),
    ]


def test_only_agents_have_public_names_and_joins_change_the_facts(client: Redis) -> None:
    host = Host(client, owners=(OWNER,))
    host.turn()
    first = host.loop.state.facts_version
    host.turn()
    assert host.loop.state.facts_version == first, "nobody joined"
    host.loop.calls.join(OTHER, Profile(name="Bob"))
    host.loop.calls.join("npc:smith", Profile(name="Smith"))
    host.turn()
    state = host.loop.state
    assert state.facts_version == 3
    assert state.facts.names == {OWNER: OWNER, OTHER: "Bob"}
    host.turn()
    assert sorted(state.facts_at) == [3], "no open job was made with the earlier ones"


def test_requests_due_during_a_drain_are_made_once_afterwards(tmp_path: Path) -> None:
    """Drain the run before plans are due at six, and end the drain after that."""
    client = empty_redis()
    settings = Settings(data_dir=tmp_path, limits={}, guarantees={}, act_interval=0)
    with TickLoop(
        run="r", owners=OWNERS, ticks=40, settings=settings, inline=True, client=client, start_minute=350
    ) as loop:
        for tick in loop:
            if tick.number == 2:
                loop.request("reflect", "agent:ann")
            if (mode := {3: "draining", 10: "running"}.get(tick.number)) is not None:
                ask(client, "r", [SetMode(mode)], wait=0)  # type: ignore[arg-type]
    lines = list(read_journal(RunStore.open(client, "r"), 1, loop.tick))
    plans = [(line.core.tick, d.decision) for line in lines for d in line.core.decided if d.key.kind == "plan"]
    assert [plan for plan in plans if plan[0] > 3] == [(11, "admitted")] * 2
    assert audit(client, "r") == []
