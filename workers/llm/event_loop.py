"""The event loop of a worker process: one thread runs every call to a model, for any number of jobs' threads.

A job's thread submits a coroutine and sleeps until it is done. So Celery's thread pool works unchanged, and hundreds of
calls share one pool of connections. Threads that submit at the same time wake the loop once.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextvars import copy_context
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Submitted(Generic[T]):
    """A coroutine whose submitting thread waits for it. Its task runs in that thread's context."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._context = copy_context()
        self._task: asyncio.Task[T] | None = None
        self._pending = threading.Lock()  # held until the task is done
        self._pending.acquire()

    def begin(self) -> None:
        """Start the task, on the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._coroutine, context=self._context)
        self._task.add_done_callback(lambda _: self._pending.release())

    def cancel(self) -> None:
        """Cancel the task, on the event loop."""
        if self._task is not None:
            self._task.cancel()

    def result(self) -> T:
        """Wait until the task is done, and return its result.

        Raises:
            CancelledError: if the task was cancelled, such as by the end of the loop.
            Exception: what the coroutine raises.
        """
        self._pending.acquire()
        assert self._task is not None
        if self._task.cancelled():
            raise CancelledError
        return self._task.result()


class EventLoopThread:
    """An asyncio event loop in its own thread, started at first use. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event
        self._closed = False
        self._waiting: list[Callable[[], None]] = []  # the loop's next steps
        self._is_woken = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result; the calling thread waits.

        Raises:
            RuntimeError: if the loop is closed.
            CancelledError: if the loop closes while the coroutine runs.
            Exception: what the coroutine raises.
        """
        submitted = _Submitted(coroutine)
        with self._lock:
            if self._closed:
                coroutine.close()
                raise RuntimeError("the event loop of the model clients is closed")
            loop = self._loop or self._start()
            self._waiting.append(submitted.begin)
            wakes, self._is_woken = not self._is_woken, True
        if wakes:
            loop.call_soon_threadsafe(self._take)
        try:
            return submitted.result()
        except BaseException:  # such as KeyboardInterrupt; cancelling a task that is done changes nothing
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(submitted.cancel)
            raise

    def close(self) -> None:
        """Cancel the running calls, end the thread and close the loop for good."""
        with self._lock:
            was_closed, self._closed = self._closed, True
            loop, thread = self._loop, self._thread
            wakes = loop is not None and not was_closed and not self._is_woken
            if loop is not None:
                self._waiting.append(self._stop.set)
                self._is_woken = True
        if loop is not None and thread is not None:
            if wakes and thread.is_alive():
                loop.call_soon_threadsafe(self._take)
            thread.join()

    def _take(self) -> None:
        with self._lock:
            steps, self._waiting, self._is_woken = self._waiting, [], False
        for step in steps:
            step()

    def _start(self) -> asyncio.AbstractEventLoop:
        ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._main(ready),), name="llm", daemon=True)
        self._thread.start()
        ready.wait()
        assert self._loop is not None
        return self._loop

    async def _main(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        await self._stop.wait()
