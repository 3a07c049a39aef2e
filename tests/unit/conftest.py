"""What unit tests share: a fake Redis that takes less CPU."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests import fake_redis


@pytest.fixture(autouse=True, scope="session")
def cheap_fake_redis() -> None:
    """Make every fake server one that compiles each script once."""
    fake_redis.install()


@pytest.fixture(autouse=True, scope="module")
def fake_servers_of_module(cheap_fake_redis: None) -> Generator[None]:
    """Forget the fake servers of a module with it."""
    yield
    fake_redis.release_servers()
