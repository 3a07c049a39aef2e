"""The clients of a process: one for each endpoint, created at its first call, all on one event loop."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.connections.event_loop import EventLoopThread
from cogitate.workers.llm.replies.failures import Failure
from cogitate.workers.llm.requests.dialect_store import DialectStore

if TYPE_CHECKING:
    from cogitate.workers.llm.client import ModelClient


class ModelClients:
    """The clients of all configured models. Create it once per process, after any fork, and share it between threads.

    Args:
        endpoints: by name, as models name them.
        connections: calls in flight at each endpoint; further ones wait, within their deadlines.
        store: the store of dialects; None: they are forgotten with the process.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint], connections: int, store: DialectStore | None = None) -> None:
        self._endpoints = endpoints
        self._connections = connections
        self._store = store
        self._loop = EventLoopThread()
        self._clients: dict[str, ModelClient] = {}
        self._lock = threading.Lock()

    def ask(self, prompt: Prompt, *, model: Model, max_output_tokens: int, deadline: float) -> ModelAnswer:
        """Ask the model once; see `ModelClient.ask`.

        Raises:
            ConfigurationError: when the key or the URL of the model's endpoint cannot be used.
            KeyError: when the model's endpoint is not configured.
        """
        return self._client(model.endpoint).ask(
            prompt, model=model, max_output_tokens=max_output_tokens, deadline=deadline
        )

    def get_ready(self, prompt: Prompt, *, model: Model) -> None:
        """Prepare everything that the first call of this form needs, so that `ask` sends it at once.

        Raises:
            ConfigurationError, KeyError, TypeError: as `ask` would.
        """
        self._client(model.endpoint).get_ready(prompt, model=model)

    def context_of(self, model: Model) -> int:
        """Return the learned context length of a model, or 0. See `ModelClient.context_of`.

        Raises:
            ConfigurationError: when the key or the URL of the model's endpoint cannot be used.
            KeyError: when the model's endpoint is not configured.
        """
        return self._client(model.endpoint).context_of(model)

    def probe(self, endpoint: str, deadline: float) -> Failure | None:
        """Return why the endpoint does not answer, or None; it costs nothing. See `ModelClient.probe`.

        Raises:
            ConfigurationError: when its key or URL cannot be used.
            KeyError: when it is not configured.
        """
        return self._client(endpoint).probe(deadline)

    def prepare(self, endpoint: str) -> None:
        """Create the client of an endpoint before its first call.

        Raises:
            ConfigurationError: when its key or URL cannot be used.
            KeyError: when it is not configured.
        """
        self._client(endpoint)

    def close(self) -> None:
        """Close all pools and the event loop. Calls in flight fail as `connection`; no further call is possible."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
        self._loop.close()

    def _client(self, endpoint: str) -> ModelClient:
        if (known := self._clients.get(endpoint)) is not None:
            return known
        with self._lock:
            if endpoint not in self._clients:
                from cogitate.workers.llm.client import (
                    ModelClient,  # here: it takes a moment to load, and many workers ask no model
                )

                client = ModelClient(self._endpoints[endpoint], self._connections, self._loop, self._store)
                self._clients[endpoint] = client
            return self._clients[endpoint]
