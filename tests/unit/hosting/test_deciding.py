"""A body that decides: it requests jobs, passes the boundaries at which they end, and goes on with their ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import JobEnd, Profile, TickLoop
from cogitate.effects import Tell
from cogitate.errors import InputError, NoSuchOwner, UsageError, WorldDiverged
from cogitate.kinds import register
from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.steering.operators import ask
from tests.patience import LONGEST
from tests.unit.tasks.own_kind_case import Own

Loops = Callable[..., TickLoop]
ADA, BEN, CY = "agent:ada", "agent:ben", "agent:cy"
LAST = 20  # tick of a council that is interrupted before
OWNERS = {ADA: Profile(name="Ada"), BEN: Profile(name="Ben"), CY: Profile(name="Cy")}


def votes(**more: Any) -> None:
    def vote(case: Any) -> tuple[Tell, ...]:
        owner, motion = case.job.key.owner, case.job.params.get("motion", 0)
        return (Tell(owner, "vote", {"yes": (len(owner) + motion) % 2 == 0}),)

    register(Own(**({"name": "vote", "makes": vote, "asks": lambda moment: (), "wakes": lambda moment: None} | more)))


def opened(loops: Loops, **more: Any) -> TickLoop:
    return loops(**({"owners": OWNERS, "ticks": 60} | more))


def in_each_body(loop: TickLoop, call: Callable[[TickLoop], object]) -> None:
    for _ in loop:
        call(loop)


def told(ends: list[JobEnd]) -> list[tuple[str, str, Any]]:
    return [(end.owner, end.end, end.applied[0].effect.data["yes"] if end.applied else None) for end in ends]  # type: ignore[union-attr]


@pytest.mark.parametrize("latency", [1, 4])
def test_a_body_continues_with_the_ends_in_the_order_of_the_owners(cogitate_loop: Loops, latency: int) -> None:
    votes(latency=latency)
    loop = opened(cogitate_loop)
    for tick in loop:
        assert told(loop.decide("vote", [CY, ADA, BEN], {"motion": 1})) == [
            (CY, "applied", False),
            (ADA, "applied", True),
            (BEN, "applied", True),
        ]
        assert (tick.number, loop.tick, loop.open_tick.number) == (1, latency, latency + 1)
        assert [change.kind for change in loop.open_tick.applied] == ["vote"] * 3
        loop.observe(ADA, {"text": "The bridge will be mended."})
        assert loop.decide("vote", []) == []
        assert {end.owner for end in loop.decide("vote", OWNERS)} == set(OWNERS)
        assert loop.open_tick.number == 2 * latency + 1
        break
    assert next(iter(loop)).number == 2 * latency + 2
    assert [entry.text for entry in loop.memory(ADA).recent(9)] == ["The bridge will be mended."]


def test_decide_equals_a_loop_that_requests_and_waits(cogitate_loop: Loops) -> None:
    votes(latency=2)
    short = opened(cogitate_loop, ticks=20)
    for _ in short:
        short.observe(ADA, {"text": f"Tick {short.open_tick.number}."})
        short.decide("vote", OWNERS)
        if short.open_tick.number > 15:
            break
    short.close()
    long = opened(cogitate_loop, ticks=20)
    for tick in long:
        if tick.number % 3 == 1:
            long.observe(ADA, {"text": f"Tick {tick.number}."})
            for owner in OWNERS:
                long.request("vote", owner)
        if tick.number == short.tick:
            break
    long.close()
    assert (short.tick, short.digest) == (long.tick, long.digest)
    assert audit(short.ledger.client, "test") == []


def test_the_open_tick_has_the_jobs_that_ended_during_a_decision(cogitate_loop: Loops) -> None:
    votes(latency=4)
    votes(name="hum", order=91, latency=2)
    loop = opened(cogitate_loop)
    for _ in loop:
        hum = loop.request("hum", ADA)
        (end,) = loop.decide("vote", [BEN])
        assert [one.id for one in loop.open_tick.ended] == [hum, end.id]
        assert [change.owner for change in loop.open_tick.applied] == [ADA, BEN]
        break
    assert next(iter(loop)).ended == (), "each end is told once"


def test_a_deferred_job_is_awaited_to_its_last_trial(cogitate_loop: Loops) -> None:
    votes(on_denied="defer")
    loop = opened(cogitate_loop, settings=PinnedSettings(limits={"tick.kind:vote.jobs": 1, "run.kind:vote.jobs": 2}))
    for _ in loop:
        ends = loop.decide("vote", [ADA, BEN, CY])
        assert [(end.end, end.reason) for end in ends] == [
            ("applied", "none"),
            ("applied", "none"),
            ("applied", "denied"),
        ]
        assert ends[2].why == "limit run.kind:vote.jobs has no room, unless it is raised"
        break


def council(loop: TickLoop, upto: int, *, gives: bool = False) -> list[Any]:
    """Rounds, one in each body, that depend on the votes before; return what was voted."""
    rounds = [int(loop.restored or 0)]
    found: list[Any] = []
    for tick in loop:
        loop.observe(ADA, {"text": f"Round {rounds[0]} begins at tick {tick.number}."})
        ends = loop.decide("vote", OWNERS, {"motion": rounds[0]})
        rounds[0] += 1 + sum(yes for _, _, yes in told(ends))
        found.append((rounds[0], told(ends)))
        loop.observe(BEN, {"text": f"It is {loop.open_tick.minute}: {rounds[0]}."})
        if gives:
            loop.checkpoint(str(rounds[0]).encode())
        if loop.open_tick.number >= upto:
            break
    return found


@pytest.mark.parametrize("gives", [False, True])
def test_a_resumed_council_ends_as_one_that_was_never_interrupted(cogitate_loop: Loops, gives: bool) -> None:
    votes(latency=3)
    straight = opened(cogitate_loop)
    council(straight, LAST, gives=gives)
    straight.close()
    for stop in range(2, 14):
        client = FakeRedis()
        killed = opened(cogitate_loop, client=client)
        killed._loop.ticks.advance = dying(killed._loop.ticks.advance, stop)  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt), killed:
            council(killed, LAST, gives=gives)
        assert killed.tick < LAST
        resumed = opened(cogitate_loop, client=client, owners={}, exist="resume")
        council(resumed, LAST, gives=gives)
        resumed.close()
        assert (resumed.tick, resumed.digest) == (straight.tick, straight.digest), f"stopped at boundary {stop}"
        assert replay(client, "test", FakeRedis()).digest == straight.digest
        assert audit(client, "test") == []


def dying(advance: Callable[[], Any], stop: int) -> Callable[[], Any]:
    """Return an advance that interrupts the host at a boundary, within a decision too."""
    passed = [0]

    def advanced() -> Any:
        passed[0] += 1
        if passed[0] == stop:
            raise KeyboardInterrupt
        return advance()

    return advanced


def test_a_resumed_world_that_decides_otherwise_raises_world_diverged(cogitate_loop: Loops) -> None:
    votes(latency=3)
    client = FakeRedis()
    loop = opened(cogitate_loop, client=client)
    for _ in loop:
        loop.decide("vote", [ADA])
        break
    loop.close()
    resumed = opened(cogitate_loop, client=client, owners={}, exist="resume")
    with pytest.raises(WorldDiverged, match=r'decides on job test/1/vote/agent:ben/0/0, .* world="present"'):
        in_each_body(resumed, lambda loop: loop.decide("vote", [BEN]))


@pytest.mark.parametrize(
    ("owners", "more", "error", "why"),
    [
        ([ADA, "agent:zoe"], {}, NoSuchOwner, "agent:zoe"),
        (ADA, {}, InputError, "owners are 'agent:ada': give a list"),
        ([ADA, 5], {}, InputError, "one of owners"),
        ([ADA], {"within": 0}, InputError, "within"),
        ([ADA], {"params": {"x": object()}}, InputError, "params"),
        ([ADA], {"params": lambda owner: {}[owner]}, InputError, r"params\('agent:ada'\) raised KeyError"),
        ([ADA], {"params": lambda owner: 5}, InputError, "params"),
    ],
)
def test_a_refused_decision_requests_nothing_and_leaves_the_tick_open(
    cogitate_loop: Loops, owners: Any, more: Any, error: type[Exception], why: str
) -> None:
    votes()
    loop = opened(cogitate_loop)
    for tick in loop:
        with pytest.raises(error, match=why):
            loop.decide("vote", owners, **more)
        assert (loop.tick, loop.open_tick) == (0, tick)
        assert loop._loop.calls._turn.requests == []
        assert loop.request("vote", ADA) == "test/1/vote/agent:ada/0/0"
        break


def in_another_thread(loop: TickLoop) -> None:
    said: list[BaseException] = []

    def call() -> None:
        try:
            loop.decide("vote", [ADA])
        except UsageError as error:
            said.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    raise said[0]


def stopped(loop: TickLoop) -> None:
    loop.stop()
    loop.decide("vote", [ADA])


def after_a_checkpoint(loop: TickLoop) -> None:
    loop.checkpoint(b"{}")
    loop.decide("vote", [ADA])


@pytest.mark.parametrize(
    ("call", "ticks", "why"),
    [
        (in_another_thread, 9, "another thread received tick"),
        (stopped, 9, "tick 1 is the last of this host"),
        (after_a_checkpoint, 9, "call `loop.checkpoint` after `decide`"),
        (lambda loop: loop.decide("vote", [ADA]), 1, "tick 1 is the last of this host"),
        (lambda loop: loop.decide("vote", [ADA]), 3, "is over at tick 3, before 1 of the jobs to decide have ended"),
    ],
)
def test_a_decision_needs_a_later_boundary(
    cogitate_loop: Loops, call: Callable[[TickLoop], object], ticks: int, why: str
) -> None:
    votes(latency=5)
    loop = opened(cogitate_loop, ticks=ticks)
    with loop, pytest.raises(UsageError, match=why):
        in_each_body(loop, call)


def test_a_decision_needs_an_open_tick(cogitate_loop: Loops) -> None:
    votes()
    loop = opened(cogitate_loop, ticks=2)
    for call in (lambda: loop.decide("vote", [ADA]), lambda: loop.open_tick):
        with pytest.raises(UsageError, match="has no open tick"):
            call()
    with loop:
        for _ in loop:
            pass
    with pytest.raises(UsageError, match="has no open tick"):
        loop.decide("vote", [ADA])


def test_a_watcher_a_brief_and_a_kind_cannot_decide(cogitate_loop: Loops) -> None:
    said: list[str] = []

    def decides(*_: Any) -> Any:
        try:
            loop.decide("vote", [ADA])
        except UsageError as error:
            said.append(str(error))
        return {}

    def makes(case: Any) -> tuple[()]:
        decides()
        return ()

    votes(makes=makes)
    loop = opened(cogitate_loop, ticks=4, watchers=[decides], brief=decides)
    for tick in loop:
        if tick.number == 1:
            loop.request("vote", ADA)
            loop.request("act", BEN)
    assert len(said) >= 4 + 2, "each commit, the brief and the kind"
    assert all("has no open tick" in one for one in said)


def cancelled(loop: TickLoop) -> None:
    ask(loop.ledger.client, "test", [SetMode("cancelled")], wait=0)
    loop.decide("vote", [ADA, BEN])


def test_an_operator_who_cancels_the_run_ends_the_decision(cogitate_loop: Loops) -> None:
    votes(latency=20)
    loop = opened(cogitate_loop)
    with loop, pytest.raises(UsageError, match="is over at tick 2, before 2 of the jobs"):
        in_each_body(loop, cancelled)
    assert loop.over


def test_each_owner_may_have_its_own_parameters(cogitate_loop: Loops) -> None:
    votes()
    loop = opened(cogitate_loop)
    for _ in loop:
        ends = loop.decide("vote", OWNERS, lambda owner: {"motion": len(owner) + (owner == BEN)})
        assert told(ends) == [(ADA, "applied", True), (BEN, "applied", False), (CY, "applied", True)]
        break


def test_a_block_ends_with_the_tick_of_the_decision(cogitate_loop: Loops) -> None:
    votes(latency=2)
    loop = opened(cogitate_loop)
    with loop.next_tick():
        loop.decide("vote", [ADA])
        assert loop.tick == 2
    assert loop.tick == 3
    with loop.next_tick() as tick:
        assert (tick.number, tick.ended) == (4, ())


def test_in_asyncio_the_ends_are_awaited_and_lead_to_the_same_digest(cogitate_loop: Loops) -> None:
    votes(latency=3)
    straight = opened(cogitate_loop)
    council(straight, 20)
    straight.close()

    async def host() -> TickLoop:
        async with opened(cogitate_loop) as loop:
            rounds = 0
            async for tick in loop:
                loop.observe(ADA, {"text": f"Round {rounds} begins at tick {tick.number}."})
                with pytest.raises(UsageError, match=r"await loop\.decide_async"):
                    loop.decide("vote", OWNERS)
                ends = await loop.decide_async("vote", OWNERS, {"motion": rounds})
                rounds += 1 + sum(yes for _, _, yes in told(ends))
                loop.observe(BEN, {"text": f"It is {loop.open_tick.minute}: {rounds}."})
                if loop.open_tick.number >= 20:
                    break
        return loop

    assert asyncio.run(host()).digest == straight.digest


def test_a_task_that_no_longer_waits_for_a_decision_gets_its_ends_with_the_next_tick(cogitate_loop: Loops) -> None:
    votes(latency=5)
    votes(name="hum", order=91, latency=1)

    async def host() -> None:
        async with opened(cogitate_loop) as loop:
            gather, held, go_on = loop._loop.collector.gather, asyncio.Event(), threading.Event()
            running = asyncio.get_running_loop()

            def slow(tick: int, *given: Any) -> Any:
                if tick == 4:
                    running.call_soon_threadsafe(held.set)
                    assert go_on.wait(LONGEST)
                return gather(tick, *given)

            loop._loop.collector.gather = slow  # type: ignore[method-assign]
            ticks, told_of = aiter(loop), []
            await anext(ticks)
            hum = loop.request("hum", BEN)
            waiting = asyncio.ensure_future(loop.decide_async("vote", [ADA]))
            await held.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            go_on.set()
            async for tick in loop:
                told_of += [(tick.number, end.id) for end in tick.ended]
                if tick.number == 6:
                    break
            assert told_of == [(4, hum), (6, "test/1/vote/agent:ada/0/0")]

    asyncio.run(host())


def test_agents_choose_among_the_actions_of_a_round(cogitate_loop: Loops) -> None:
    actions = {ADA: ["buy a sack", "wait"], BEN: ["sell a sack", "wait"]}
    loop = opened(cogitate_loop)
    for _ in loop:
        ends = loop.decide("act", actions, lambda owner: {"actions": actions[owner]})
        chosen = {
            end.owner: change.effect.data["doing"] for end in ends for change in end.applied if change.kind == "act"
        }  # type: ignore[union-attr]
        assert all(doing in actions[owner] for owner, doing in chosen.items())
        assert chosen.keys() == actions.keys()
        break
