"""The event loop of a worker process: one thread that carries every call to a model, for any number of jobs' threads.

A job's thread submits a coroutine and sleeps until it is done. So Celery's thread pool needs no change, and hundreds of
calls share one set of connections.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class EventLoopThread:
    """An asyncio event loop in its own thread, started at first use. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result; the calling thread waits.

        Raises:
            RuntimeError: if the loop is closed.
            Exception: what the coroutine raises.
        """
        with self._lock:
            if self._closed:
                coroutine.close()
                raise RuntimeError("the event loop of the model clients is closed")
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop or self._start())
        try:
            return future.result()
        finally:
            future.cancel()  # an interrupted wait cancels its call; no effect on a finished one

    def close(self) -> None:
        """Cancel the running calls, end the thread and close the loop for good."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            if thread.is_alive():
                loop.call_soon_threadsafe(self._stop.set)
            thread.join()

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
