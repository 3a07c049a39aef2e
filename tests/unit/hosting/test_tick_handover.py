"""Ticks as blocks, for hosts that own their loop, and in asyncio; what a cancelled or failed host leaves."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate import CogitateError, TickLoop
from cogitate.errors import LedgerError, UsageError
from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.steering.operators import ask
from tests.patience import LONGEST
from tests.unit.hosting.short_loop_case import LAST, Loops, live, opened, status


def committed(loop: TickLoop) -> int:
    """The last tick that the ledger holds."""
    return int(loop.ledger.client.hget(loop.ledger.store.key("state"), "tick") or 0)


def test_every_block_commits_its_changes_at_its_end(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        while not loop.over:
            before = loop.tick
            with loop.next_tick() as tick:
                assert tick.number == before + 1
                assert committed(loop) == before
                live(loop, tick)
            assert loop.tick == committed(loop) == tick.number
    assert loop.tick == LAST
    straight = opened(cogitate_loop)
    for tick in straight:
        live(straight, tick)
    assert loop.digest == straight.digest


def test_a_failed_block_is_not_committed_and_another_host_resumes(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    with loop.next_tick() as tick:
        live(loop, tick)
    with pytest.raises(ZeroDivisionError), loop.next_tick() as tick:
        live(loop, tick._replace(minute=tick.minute // 0))
    assert loop.over
    assert committed(loop) == 1
    with pytest.raises(LedgerError), loop.next_tick():
        raise AssertionError("a loop that has failed opened a tick")
    loop.close()
    client = loop.ledger.client
    with opened(cogitate_loop, client=client, owners={}, exist="resume") as resumed:
        for tick in resumed:
            if not tick.replayed or tick.number == 1:
                live(resumed, tick)
    assert resumed.tick == LAST
    assert audit(client, "test") == []


def test_a_tick_that_cannot_be_committed_ends_the_loop(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = opened(cogitate_loop)

    def refuse(*_: object) -> object:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(loop.ledger, "advance", refuse)
    with pytest.raises(RedisConnectionError), loop.next_tick() as tick:
        live(loop, tick)
    assert loop.over
    with pytest.raises(LedgerError), loop.next_tick():
        raise AssertionError("a loop that has failed opened a tick")


def test_a_block_within_a_block_is_refused(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        with loop.next_tick() as tick:
            with pytest.raises(UsageError, match="tick 1 is open"), loop.next_tick():
                raise AssertionError("a second tick was opened")
            live(loop, tick)
        assert loop.tick == 1


def test_a_finished_run_is_over_and_refuses_another_tick(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop, ticks=2) as loop:
        for _ in range(2):
            assert not loop.over
            with loop.next_tick():
                pass
        assert loop.over
        with pytest.raises(UsageError, match=r"over at tick 2: check `loop\.over`"), loop.next_tick():
            raise AssertionError("a tick after the last one was opened")


def test_stop_in_a_block_ends_the_run_with_it(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        while not loop.over:
            with loop.next_tick() as tick:
                if tick.number == 3:
                    loop.stop()
    assert committed(loop) == 3
    assert loop.ledger.client.hget(loop.ledger.store.key("state"), "status") == b"stopped"


def test_calls_between_two_blocks_are_refused(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        with loop.next_tick() as tick:
            live(loop, tick)
        with pytest.raises(UsageError):
            live(loop, tick)


def test_a_resumed_host_gets_the_ticks_since_its_checkpoint_again(cogitate_loop: Loops) -> None:
    first = opened(cogitate_loop)
    for _ in range(3):
        with first.next_tick() as tick:
            live(first, tick)
            if tick.number == 1:
                first.checkpoint(b"1")
    first.close()
    with opened(cogitate_loop, client=first.ledger.client, owners={}, exist="resume") as resumed:
        seen = []
        while not resumed.over:
            with resumed.next_tick() as tick:
                live(resumed, tick)
                seen.append((tick.number, tick.replayed))
            with pytest.raises(CogitateError):
                live(resumed, tick)
    assert seen[:3] == [(2, True), (3, True), (4, False)]
    assert seen[-1] == (LAST, False)


def test_former_calls_name_the_new_ones(cogitate_loop: Loops) -> None:
    loop: Any = opened(cogitate_loop, ticks=2)
    with pytest.raises(AttributeError, match=r"no attribute 'ask': `loop\.apply\(effect\)` applies an effect"):
        loop.ask("agent:ada")
    with pytest.raises(AttributeError, match=r"^'TickLoop' object has no attribute 'aks'$"):
        loop.aks  # noqa: B018


def ours() -> list[str]:
    """The threads of loops that are alive."""
    return [one.name for one in threading.enumerate() if one.name.startswith(("ticks-", "closing"))]


def resumed_digest(loops: Loops, left: TickLoop) -> str:
    """The digest of a run that another host takes to its end."""
    with opened(loops, client=left.ledger.client, owners={}, exist="resume") as loop:
        for tick in loop:
            live(loop, tick)
    assert audit(loop.ledger.client, "test") == []
    return loop.digest


@pytest.fixture
def straight(cogitate_loop: Loops) -> str:
    """The digest of the same life in a plain loop."""
    loop = opened(cogitate_loop)
    for tick in loop:
        live(loop, tick)
    return loop.digest


def test_the_ticks_are_those_of_the_plain_loop(cogitate_loop: Loops, straight: str) -> None:
    async def host() -> TickLoop:
        async with opened(cogitate_loop) as loop:
            async for tick in loop:
                live(loop, tick)
                if tick.number == 7:
                    break
            async for tick in loop:
                live(loop, tick)
            assert ours() == []  # at the end of the run, not only at that of the block
        return loop

    loop = asyncio.run(host())
    assert loop.digest == straight
    assert status(loop) == ("finished", LAST)
    assert ours() == []


def test_a_block_that_ends_commits_the_open_tick(cogitate_loop: Loops, straight: str) -> None:
    async def host() -> TickLoop:
        async with opened(cogitate_loop) as loop:
            async for tick in loop:
                live(loop, tick)
                if tick.number == 5:
                    break
        return loop

    loop = asyncio.run(host())
    assert status(loop) == ("stopped", 5)
    assert ours() == []
    assert resumed_digest(cogitate_loop, loop) == straight


def test_other_tasks_run_while_a_tick_is_awaited(cogitate_loop: Loops) -> None:
    """A boundary that waits until another task of the same event loop lets it go on would never end otherwise."""
    go_on = threading.Event()

    async def host() -> int:
        async with opened(cogitate_loop, ticks=2) as loop:
            gather = loop._loop.collector.gather

            def held(*given: Any) -> Any:
                assert go_on.wait(LONGEST)
                return gather(*given)

            loop._loop.collector.gather = held  # type: ignore[method-assign]

            async def other() -> None:
                go_on.set()

            ticks = aiter(loop)
            tick, _ = await asyncio.gather(anext(ticks), other())
            return tick.number

    assert asyncio.run(host()) == 1


def test_a_host_cancelled_during_a_wait_leaves_a_resumable_run(cogitate_loop: Loops, straight: str) -> None:
    async def host(loop: TickLoop) -> None:
        async with loop:
            async for tick in loop:
                live(loop, tick)
                if tick.number == 3:
                    ask(loop.ledger.client, "test", [SetMode("paused")], wait=0)

    async def cancelled(loop: TickLoop) -> None:
        task = asyncio.create_task(host(loop))
        while loop.tick < 4 or loop._async_ticks._next is None:  # paused: it waits until the pause is lifted
            await asyncio.sleep(0)
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    loop = opened(cogitate_loop)
    asyncio.run(cancelled(loop))
    assert status(loop) == ("stopped", 4)
    assert ours() == []
    ask(loop.ledger.client, "test", [SetMode("running")], wait=0)
    assert resumed_digest(cogitate_loop, loop) == straight


def test_a_host_that_is_cancelled_in_its_body_leaves_the_tick_undone(cogitate_loop: Loops, straight: str) -> None:
    async def host(loop: TickLoop, reached: asyncio.Event) -> None:
        async with loop:
            async for tick in loop:
                live(loop, tick)
                if tick.number == 3:
                    reached.set()
                    await asyncio.Event().wait()

    async def cancelled(loop: TickLoop) -> None:
        reached = asyncio.Event()
        task = asyncio.create_task(host(loop, reached))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    loop = opened(cogitate_loop)
    asyncio.run(cancelled(loop))
    assert status(loop) == ("stopped", 2)
    assert ours() == []
    assert resumed_digest(cogitate_loop, loop) == straight


def test_a_wait_after_a_cancelled_one_gets_the_pending_tick(cogitate_loop: Loops) -> None:
    async def host() -> list[int]:
        async with opened(cogitate_loop) as loop:
            ticks, numbers = aiter(loop), []
            for _ in range(3):
                waiting = asyncio.ensure_future(anext(ticks))
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                numbers.append((await anext(ticks)).number)
            return numbers

    assert asyncio.run(host()) == [1, 2, 3]


def test_an_undelivered_tick_is_not_committed(cogitate_loop: Loops, straight: str) -> None:
    async def host() -> TickLoop:
        async with opened(cogitate_loop) as loop:
            ticks = aiter(loop)
            live(loop, await anext(ticks))
            waiting = asyncio.ensure_future(anext(ticks))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        return loop

    loop = asyncio.run(host())
    assert status(loop) == ("stopped", 1)
    assert ours() == []
    assert resumed_digest(cogitate_loop, loop) == straight


def test_an_error_of_the_loop_reaches_the_host_and_leaves_no_thread(
    cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def host() -> None:
        loop = opened(cogitate_loop)
        async for tick in loop:
            if tick.number == 2:
                monkeypatch.setattr(loop.ledger, "advance", fail)

    def fail(*_: object) -> object:
        raise LedgerError("the ledger is gone")

    with pytest.raises(LedgerError, match="the ledger is gone"):
        asyncio.run(host())
    assert ours() == []
