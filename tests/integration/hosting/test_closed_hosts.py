"""A host that opens many runs in one process, as in a notebook, closes all their connections."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from cogitate import Profile, Settings, TickLoop
from cogitate.workers.processes.embedded import EmbeddedServer


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Disable garbage collection, so that it cannot close a leaked connection."""
    gc.disable()
    yield
    gc.enable()


def test_a_closed_loop_leaves_no_connection(
    valkey: EmbeddedServer, no_collections: None, eventually: Callable[..., None]
) -> None:
    with valkey.client() as client:
        before = len(client.client_list())
        settings = Settings(redis_url=valkey.url, workers=0, wait=0.0)
        with TickLoop(run="closed", owners={"agent:ada": Profile(name="Ada")}, settings=settings, ticks=2) as loop:
            for _ in loop:
                pass
            assert len(client.client_list()) > before
        eventually(lambda: len(client.client_list()) == before, "the server to see them closed")
