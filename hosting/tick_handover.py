"""Hands a loop's ticks to its host: one by one, each as a block, or to asyncio.

For asyncio, a thread advances the iterator, so that the event loop never blocks. If a task is cancelled while it awaits
a tick, the thread continues, and the next request gets that tick. The end of the loop's block stops the thread and
discards a tick that no task has received.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from cogitate.memory.errors import UsageError
from cogitate.scheduler.tick.loop import RunLoop
from cogitate.scheduler.tick.tick_iterator import Tick


def one_by_one(loop: RunLoop, begin: Callable[[], object]) -> Callable[[], Tick | None]:
    """Return a function that returns the next tick, or None after the last. Its first call calls `begin`."""
    ticks: Iterator[Tick] | None = None

    def advance() -> Tick | None:
        nonlocal ticks
        begun = iter(loop)  # raises if the loop has ended
        if ticks is None:
            begin()
            ticks = begun  # kept, since the loop asks whether the holder of its tick still exists
        return next(ticks, None)

    return advance


class TickBlock:
    """The `with` block of one tick, for hosts that have their own loop. Its end commits it; an error discards it."""

    def __init__(self, loop: RunLoop, advance: Callable[[], Tick | None]) -> None:
        self._loop = loop
        self._advance = advance
        self._inside = False

    def __enter__(self) -> Tick:
        run = self._loop.ledger.run
        if self._inside:
            raise UsageError(f"run {run!r}: tick {self._loop.calls.present} is open; end its block before the next one")
        tick = self._advance()
        if tick is None:
            raise UsageError(f"run {run!r} is over at tick {self._loop.tick}: check `loop.over` before each tick")
        self._inside = True
        return tick

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._inside = False
        if kind is None:
            self._loop.commit()
        else:
            self._loop.abandon()


class AsyncTicks:
    """The asynchronous iterator of a loop's ticks."""

    def __init__(self, loop: RunLoop, advance: Callable[[], Tick | None]) -> None:
        self._loop = loop
        self._advance = advance
        self._thread: ThreadPoolExecutor | None = None
        self._next: Future[Tick | None] | None = None  # not handed over yet
        self._waiting: asyncio.Task[Any] | None = None  # awaits the next tick
        self.handed = 0  # the number of the newest tick that a task received

    def __aiter__(self) -> AsyncTicks:
        return self

    async def __anext__(self) -> Tick:
        if await self.step(self._advance) is None:
            self.end()
            raise StopAsyncIteration
        return self._loop.ticks.seen()

    async def step(self, advance: Callable[[], Tick | None]) -> Tick | None:
        """Return the next tick, or the one that a cancelled task was waiting for; None after the last.

        Raises:
            UsageError: while another task waits for a tick.
        """
        self._loop.calls.check_process()
        task, other = asyncio.current_task(), self._waiting
        if other is not None and not (other.done() or other.cancelling()):
            raise UsageError(
                f"run {self._loop.ledger.run!r}: task {other.get_name()!r} already waits for the next tick: let one "
                "task iterate and pass the ticks on, for example in an asyncio.Queue"
            )
        if self._next is None:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"ticks-{self._loop.ledger.run}")
            self._next = self._thread.submit(advance)
        waiting = asyncio.wrap_future(self._next)
        waiting.add_done_callback(retrieve_error)
        self._waiting = task
        try:
            await asyncio.wait({waiting})  # cancelling the wait does not cancel the work
        finally:
            if self._waiting is task:
                self._waiting = None
        self._next = None
        self._loop.calls.hand_over()
        with ExitStack() as undo:
            undo.callback(self.end)
            tick = waiting.result()
            undo.pop_all()
        if tick is not None:
            self.handed = tick.number
        return tick

    def end(self) -> bool:
        """Stop the thread, and return whether all ticks that it opened were handed over."""
        thread, self._thread = self._thread, None
        pending, self._next = self._next, None
        if thread is not None:
            if pending is not None:
                self._loop.interrupt()
            thread.shutdown()
        return pending is None or (pending.exception() is None and pending.result() is None)


def retrieve_error(waiting: asyncio.Future[Any]) -> None:
    """Mark a future's error as retrieved: it is raised elsewhere, and asyncio would also log it."""
    if not waiting.cancelled():
        waiting.exception()


async def in_thread(work: Callable[[], None]) -> None:
    """Run a blocking function to its end, even if the task that awaits it is cancelled."""
    with ThreadPoolExecutor(1, thread_name_prefix="closing") as thread:
        done = asyncio.wrap_future(thread.submit(work))
        cancelled: asyncio.CancelledError | None = None
        while not done.done():
            try:
                await asyncio.wait({done})
            except asyncio.CancelledError as error:
                cancelled = error
        done.result()
    if cancelled is not None:
        raise cancelled
