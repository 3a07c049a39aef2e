"""A real RabbitMQ for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate import Settings
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.patience import LONGEST
from tests.rabbitmq import RabbitMQ


@pytest.fixture(scope="package")
def started() -> Iterator[RabbitMQ]:
    with RabbitMQ(tls=True) as rabbitmq:
        yield rabbitmq


@pytest.fixture
def rabbitmq(started: RabbitMQ) -> Iterator[RabbitMQ]:
    """Yield a broker without queues; delete its queues at the end."""
    yield started
    for queue in started.ask("queues"):
        started.ask(f"queues/%2F/{queue['name']}", "DELETE")


@pytest.fixture
def settings(rabbitmq: RabbitMQ, valkey: EmbeddedServer, tmp_path: Path) -> Settings:
    urls = {"redis_url": SecretStr(valkey.url), "broker_url": SecretStr(rabbitmq.url)}
    return Settings(data_dir=tmp_path / "data", workers=0, socket_timeout=LONGEST, **urls)
