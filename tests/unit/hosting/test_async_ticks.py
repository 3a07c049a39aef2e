"""A loop in asyncio: the same ticks, an event loop that goes on, and what a cancelled host leaves."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from cogitate import TickLoop
from cogitate.errors import LedgerError
from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.inspection.audit.audit import audit
from cogitate.scheduler.steering.operators import ask
from tests.unit.hosting.short_loop_case import LAST, Loops, live, opened, status


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
                assert go_on.wait(30)
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
