"""The one thread of a process that carries all calls to models: started at first use, and gone when it is closed."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from cogitate.workers.llm import event_loop
from cogitate.workers.llm.event_loop import EventLoopThread
from tests.patience import LONGEST


async def where() -> int:
    return threading.get_ident()


def test_all_calls_run_on_one_separate_thread() -> None:
    loop = EventLoopThread()
    with ThreadPoolExecutor(4) as pool:
        found = {*pool.map(lambda _: loop.run(where()), range(20))}
    assert len(found) == 1
    assert threading.get_ident() not in found
    loop.close()


def test_close_ends_the_thread_and_refuses_further_calls() -> None:
    loop = EventLoopThread()
    ident = loop.run(where())
    assert loop._thread is not None
    assert (loop._thread.name, loop._thread.daemon) == ("llm", True)
    loop.close()
    assert ident not in {thread.ident for thread in threading.enumerate()}
    late = where()
    with pytest.raises(RuntimeError, match="closed"):
        loop.run(late)
    with pytest.raises(RuntimeError, match="reuse"):  # it was closed, so that nobody is warned of it
        late.send(None)
    loop.close()


def test_an_unused_loop_can_be_closed() -> None:
    EventLoopThread().close()


def test_an_exception_of_a_call_reaches_its_caller_only() -> None:
    async def fails() -> None:
        raise LookupError("here")

    loop = EventLoopThread()
    with pytest.raises(LookupError, match="here"):
        loop.run(fails())
    assert loop.run(where())
    loop.close()


def test_a_call_has_the_context_of_its_caller() -> None:
    caller = ContextVar[int]("caller")

    async def called_by() -> int:
        await asyncio.sleep(0)
        return caller.get()

    def call(number: int) -> int:
        caller.set(number)
        return loop.run(called_by())

    loop = EventLoopThread()
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(call, range(200))] == [*range(200)]
    loop.close()


def test_a_call_in_flight_fails_when_the_loop_is_closed() -> None:
    begun = threading.Event()

    async def waits() -> None:
        begun.set()
        await asyncio.Event().wait()

    loop = EventLoopThread()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(loop.run, waits())
        assert begun.wait(LONGEST)
        loop.close()
        with pytest.raises(CancelledError):
            call.result(LONGEST)


def test_a_wait_that_is_interrupted_cancels_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupted(submitted: object) -> None:
        assert begun.wait(LONGEST)
        raise KeyboardInterrupt

    monkeypatch.setattr(event_loop._Submitted, "result", interrupted)
    loop = EventLoopThread()
    with pytest.raises(KeyboardInterrupt):
        loop.run(waits())
    assert cancelled.wait(LONGEST)
    loop.close()
