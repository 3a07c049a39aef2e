"""The clients of a process: one per endpoint, created at its first call, all on one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm.requests.dialect import DialectStore

if TYPE_CHECKING:
    from cogitate.workers.llm.client import ModelClient

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


class ModelClients:
    """The clients of all configured models. Create it once per process, after any fork, and share it between threads.

    Args:
        endpoints: by name, as models name them.
        connections: calls in flight at each endpoint; further calls wait, within their deadlines.
        store: the store of dialects; None: this process only.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint], connections: int, store: DialectStore | None = None) -> None:
        self._endpoints = endpoints
        self._connections = connections
        self._store = store
        self._loop = EventLoopThread()
        self._clients: dict[str, ModelClient] = {}
        self._lock = threading.Lock()

    def of(self, endpoint: str) -> ModelClient:
        """Return the client of an endpoint, creating it at the first use.

        Raises:
            ConfigurationError: if its key or URL is invalid.
            KeyError: if it is not configured.
        """
        if (known := self._clients.get(endpoint)) is not None:
            return known
        with self._lock:
            if endpoint not in self._clients:
                # Imported here: it is slow to import, and many workers ask no model.
                from cogitate.workers.llm.client import ModelClient

                client = ModelClient(self._endpoints[endpoint], self._connections, self._loop, self._store)
                self._clients[endpoint] = client
            return self._clients[endpoint]

    def close(self) -> None:
        """Close all pools and the event loop. Calls in flight fail as `connection`; no further call is possible."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
        self._loop.close()
