"""The tick loop in one process, on a Redis in memory, reaches the same digest however often it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as Disconnected

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import Append, Archive, SetPlanStatus
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick, WorldDiverged
from cogitate.simulation.town.town import Town
from tests.integration.scheduler.ledger.ledger_case import KINDS, OTHER, OWNER, Host, claimed, settle, worker
from tests.live_redis import empty_redis

TICKS, START = 110, 330  # ticks of ten minutes from half past five
LATENCY = {"plan": 5, "act": 3, "reflect": 10, "summarise": 20, "prune": 5}  # ticks: jobs of many are open at once
LIMITS = {"tick.run.jobs": 1, "day.run.jobs": 12, "day.kind:reflect.jobs": 5}


class Crash(Exception):
    """Ends a host, as a crash does."""


class HostedTown:
    """One host of a town, which may end early and be followed by another."""

    def __init__(self, client: Redis, *, resume: bool = False, ticks: int = TICKS, **settings: Any) -> None:
        self.town = Town(agents=4, seed=3, minutes_per_tick=10, start_minute=START)
        self.client = client
        self.loop = TickLoop(
            run="town",
            owners=self.town.owners(),
            settings=Settings.tuned(
                seconds_per_tick=600, latency=LATENCY, limits=LIMITS, max_observations=40, **settings
            ),
            locations=self.town.locations,
            brief=self.town.brief,
            ticks=ticks,
            start_minute=START,
            exist="resume" if resume else "create",
            inline=True,
            client=client,
        )
        if self.loop.restored is not None:
            self.town.load(self.loop.restored)

    def turn(self, tick: Tick) -> None:
        """Take the town's turn of a tick."""
        for change in tick.applied:
            self.town.apply(change)
        for owner, entry in self.town.step(tick.number, tick.minute):
            self.loop.observe(owner, entry)
        for effect in self.town.take_effects():
            self.loop.apply(effect)
        if tick.number % 7 == 0:
            self.loop.request("reflect", sorted(self.town.owners())[tick.number % 4], priority=1)
        if tick.number % 30 == 0:
            self.loop.checkpoint(self.town.dump())

    def live(self, until: int | None = None, hurt: Callable[[Tick], None] = lambda tick: None) -> str:
        """Run to the end, or to the world's turn of tick `until`, which is not committed; return the digest."""
        for tick in self.loop:
            self.turn(tick)
            hurt(tick)
            if tick.number == until:
                break
        return self.loop.digest


@pytest.fixture(scope="module")
def undisturbed() -> tuple[Redis, str]:
    """Run the town without interruptions; return its server and its digest."""
    client = empty_redis()
    return client, HostedTown(client).live()


def test_two_runs_have_one_digest(undisturbed: tuple[Redis, str]) -> None:
    client, digest = undisturbed
    assert HostedTown(empty_redis()).live() == digest
    assert audit(client, "town") == []
    jobs = summarise_run(client, "town").jobs
    assert sum(jobs["reflect"]["decision"].values()) > 10
    assert jobs["plan"]["decision"]["heuristic"] > 0, "limits bind in this run"
    assert jobs["reflect"]["end"]["applied"] == sum(jobs["reflect"]["end"].values())


@pytest.mark.parametrize("at", [1, 2, 30, 31, 88, 109])
def test_a_host_dropped_in_the_worlds_turn_resumes_to_the_same_digest(undisturbed: tuple[Redis, str], at: int) -> None:
    client = empty_redis()
    HostedTown(client).live(until=at)
    second = HostedTown(client, resume=True)
    assert second.loop.tick == at - 1
    assert second.live() == undisturbed[1]
    assert audit(client, "town") == []


def test_a_host_dropped_many_times_resumes_to_the_same_digest(undisturbed: tuple[Redis, str]) -> None:
    client = empty_redis()
    HostedTown(client).live(until=9)
    for at in range(22, TICKS, 13):
        HostedTown(client, resume=True).live(until=at)
        assert audit(client, "town") == []
    assert HostedTown(client, resume=True).live() == undisturbed[1]


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("at", [1, 75])
def test_a_host_disconnected_during_a_commit_resumes_to_the_same_digest(
    undisturbed: tuple[Redis, str], at: int, arrives: bool
) -> None:
    client = empty_redis()
    first = HostedTown(client)

    def hurt(tick: Tick) -> None:
        send = first.loop.ledger.advance

        def cut(*args: Any) -> Any:
            if arrives:
                send(*args)
            raise Disconnected("the line is dead")

        if tick.number == at:
            first.loop.ledger.advance = cut  # type: ignore[method-assign]

    with pytest.raises(Disconnected):
        first.live(hurt=hurt)
    second = HostedTown(client, resume=True)
    assert second.loop.tick == (at if arrives else at - 1)
    assert second.live() == undisturbed[1]
    assert audit(client, "town") == []


def test_losing_every_other_hint_leaves_the_digest(undisturbed: tuple[Redis, str]) -> None:
    client = empty_redis()
    first = HostedTown(client, hint_interval=0.001)
    publish = first.loop._loop.collector._publish
    lost = iter([True, False] * 1000)
    first.loop._loop.collector._publish = lambda jobs: 0 if next(lost) else publish(jobs)
    assert first.live() == undisturbed[1]


def test_in_ready_mode_results_are_applied_at_the_next_boundary() -> None:
    client = empty_redis()
    HostedTown(client, apply="ready").live()
    lines = list(read_journal(RunStore.open(client, "town"), 1, TICKS))
    waits = {line.core.tick - end.key.tick for line in lines for end in line.core.ended if end.reason == "none"}
    assert waits == {1}, "each complete result is applied at the next boundary"
    denied = [line.core.tick - end.key.tick for line in lines for end in line.core.ended if end.reason == "denied"]
    assert min(denied) > 1, "a job denied by a limit waits for its due tick"
    assert audit(client, "town") == []
    assert replay(client, "town", empty_redis()).ticks == TICKS


def test_a_replay_agrees_with_the_run(undisturbed: tuple[Redis, str]) -> None:
    client, digest = undisturbed
    found = replay(client, "town", empty_redis())
    assert (found.ticks, found.digest, found.owners) == (TICKS, digest, 4)


@pytest.mark.parametrize("tick", [1, TICKS])
def test_a_changed_byte_in_the_journal_fails_replay_and_audit_at_its_tick(tick: int) -> None:
    client = empty_redis()
    HostedTown(client).live()
    key = RunStore.open(client, "town").key("journal")
    line = bytearray(client.lindex(key, tick - 1))
    line[len(line) // 2] ^= 1
    client.lset(key, tick - 1, bytes(line))
    with pytest.raises(JournalError, match=f"^tick {tick}: "):
        replay(client, "town", empty_redis())
    assert audit(client, "town")[0].startswith(f"tick {tick}: ")


def test_a_replay_finds_a_changed_stream(undisturbed: tuple[Redis, str]) -> None:
    client = empty_redis()
    HostedTown(client, ticks=40).live()
    store = RunStore.open(client, "town")
    owner = sorted(client.hkeys(store.key("owners")))[0].decode()
    client.hdel(store.owner_key("entries", owner), *client.hkeys(store.owner_key("entries", owner))[:1])
    with pytest.raises(JournalError, match="differs from the journal in its entries"):
        replay(client, "town", empty_redis())


def test_a_resumed_world_that_acts_differently_is_refused() -> None:
    client = empty_redis()
    HostedTown(client).live(until=45)
    second = HostedTown(client, resume=True)
    second.town = Town(agents=4, seed=4, minutes_per_tick=10, start_minute=START)
    with pytest.raises(WorldDiverged, match=r"tick 3[1-9]"):
        second.live()


# -- calls of a host ---------------------------------------------------------------------------------


@pytest.fixture
def client() -> Iterator[Redis]:
    with empty_redis() as client:
        yield client


def test_owners_join_and_leave(client: Redis) -> None:
    host = Host(client)
    host.turn()
    newcomer = "agent:cy"
    host.loop.calls.join(newcomer, Profile(name="Cy"))
    host.loop.calls.observe(newcomer, Entry(type="observation", text="arrived", minute=60))
    gone, job = host.turn(("think", newcomer), ("think", OTHER))
    host.loop.calls.leave(OTHER)
    host.turn()
    assert host.ended() == {gone.key: ("cancelled", "cancelled")}
    assert worker(client).claim(gone.id) == "closed"
    claims = worker(client)
    claim = claimed(claims, job)
    assert [entry.text for entry in claim.case.entries] == ["arrived"]
    assert claim.case.profile.name == "Cy"
    assert claim.case.world.names == {OWNER: OWNER, OTHER: OTHER, newcomer: "Cy"}, (
        "as they were when the job was created"
    )
    settle(claims, claim)
    for name, owner in (("again", newcomer), ("retired", OTHER)):
        with pytest.raises(InputError):
            host.loop.calls.join(owner, Profile(name=name))
    with pytest.raises(InputError, match="no owner"):
        host.loop.calls.observe(OTHER, Entry(type="observation", text="late", minute=0))
    host.until(7)
    assert host.ended()[job.key] == ("applied", "none")
    assert audit(client, "r") == []
    assert replay(client, "r", empty_redis()).owners == 3


def test_a_resumed_world_may_repeat_its_joins_and_leaves(client: Redis) -> None:
    """Repeated ticks name owners that already exist, or that have left since."""

    def say(loop: Any, tick: Tick) -> None:
        if tick.number == 2:
            loop.calls.join("agent:cy", Profile(name="Cy"))
        if tick.number == 3:
            loop.calls.observe("agent:cy", Entry(type="observation", text="saw", minute=tick.minute))
            loop.calls.request("think", "agent:cy")
        if tick.number == 5:
            loop.calls.leave("agent:cy")
            loop.calls.leave(OTHER)

    host = Host(client)
    while host.tick.number < 7:
        say(host.loop, host.tick)
        host.turn()
    seen: list[int] = []

    def again(loop: Any, tick: Tick) -> None:
        seen.append(tick.number)
        say(loop, tick)

    second = Host(client, resume=True, again=again)
    assert seen == [1, 2, 3, 4, 5, 6]
    with pytest.raises(InputError, match="no owner"):
        second.loop.calls.observe(OTHER, Entry(type="observation", text="late", minute=0))


def test_effects_of_a_world_respect_memory_limits_and_preconditions(client: Redis) -> None:
    host = Host(client)
    host.turn()
    for i in range(60):
        host.loop.calls.apply(Append(owner=OWNER, entry=Entry(type="reflection", text=f"thought {i}", minute=60)))
    host.loop.calls.apply(SetPlanStatus(owner=OWNER, item="1-0", status="active", expects="pending"))
    host.turn()
    assert host.loop.state.streams[OWNER].count("reflection") <= host.loop.state.facts.limits.max_reflections
    assert summarise_run(client, "r").warnings == {"world.effect_refused": 1}
    assert replay(client, "r", empty_redis()).ticks == 2


def test_refused_requests_are_deferred_or_dropped(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 1})
    (job,) = host.turn(("muse", OWNER), ("muse", OTHER), ("doze", OWNER), ("think", OWNER))
    settle(worker(client), claimed(worker(client), job))  # otherwise its reservation could be refunded and used again
    first = next(iter(read_journal(host.ledger.store, 1, 1))).core
    made = {d.key: d.decision for d in first.decided}
    assert sorted(made.values()) == ["admitted", "deferred", "deferred", "dropped"]
    successors = [d.successor for d in first.decided if d.successor is not None]
    assert [s.tick for s in successors] == [11, 11]
    resumed = Host(client, resume=True, limits={"day.run.calls": 1})
    resumed.until(40)
    lines = [line.core for line in read_journal(host.ledger.store, 1, 39)]
    assert [d.key for d in lines[10].decided] == sorted(successors, key=lambda s: (s.kind, s.owner))
    assert [[d.decision for d in lines[t].decided] for t in (10, 20)] == [["deferred"] * 2, ["heuristic"] * 2]
    assert sum(summarise_run(client, "r").jobs["muse"]["end"].values()) == 6
    assert audit(client, "r") == []


def test_invalid_input_is_refused_and_changes_nothing(client: Redis) -> None:
    host = Host(client)
    host.turn()
    for kind, owner in (("dream", OWNER), ("think", "agent:nobody")):
        with pytest.raises(InputError):
            host.loop.calls.request(kind, owner)
    for entry in (
        {"text": "x", "minute": -1},
        {"text": "x" * 5000, "minute": 1},
        {"minute": 1},
        {"text": "\ud800", "minute": 1},
    ):
        with pytest.raises(InputError):
            host.loop.calls.observe(OWNER, entry)
    with pytest.raises(InputError):
        host.loop.calls.apply(Archive(owner=OWNER, numbers=("one",)))  # type: ignore[arg-type]
    host.turn()
    last = next(iter(read_journal(host.ledger.store, 2, 2))).core
    assert (last.observed, last.world_effects, last.decided) == ((), (), ())


def test_resuming_with_an_unknown_kind_names_it(client: Redis) -> None:
    host = Host(client)
    host.turn(("muse", OWNER))
    with pytest.raises(LookupError, match="'muse'"):
        Host(client, resume=True, kinds=KINDS[:1]).until(9)
