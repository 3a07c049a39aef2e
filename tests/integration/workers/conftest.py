"""Fixtures for tests of workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.gate.gate import Gate
from tests.integration.workers.gate_case import NAME, MakeGate


@pytest.fixture
def gate_of(client: Redis) -> Iterator[MakeGate]:
    """Yield a function that makes a worker's gate with settings of the breaker and limits of the endpoint."""
    made: list[Gate] = []

    def make(breaker: dict[str, Any] | None = None, stopping: threading.Event | None = None, **limits: Any) -> Gate:
        settings = Settings.tuned(endpoints={NAME: Endpoint(**limits)}, **{"breaker_pause": 0.02, **(breaker or {})})
        made.append(Gate(client, settings, stopping or threading.Event()))
        return made[-1]

    yield make
    for gate in made:
        gate.close()
