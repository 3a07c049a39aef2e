"""The clients of a process: one per endpoint, created by its first call, all on one event loop."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm.event_loop import EventLoopThread
from cogitate.workers.llm.requests.dialect import DialectStore

if TYPE_CHECKING:
    from cogitate.workers.llm.client import ModelClient


class ModelClients:
    """The clients of all configured models. Create it once per process, after any fork, and share it between threads.

    Args:
        endpoints: by the names that models use for them.
        connections: the most calls in flight at each endpoint; further calls wait within their deadlines.
        store: the store of dialects; None: this process learns its own.
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
                # Imported here, since it is slow to import and many workers ask no model.
                from cogitate.workers.llm.client import ModelClient

                client = ModelClient(self._endpoints[endpoint], self._connections, self._loop, self._store)
                self._clients[endpoint] = client
            return self._clients[endpoint]

    def close(self) -> None:
        """Close all pools and the event loop for good. Calls in flight fail as `connection`."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
        self._loop.close()
