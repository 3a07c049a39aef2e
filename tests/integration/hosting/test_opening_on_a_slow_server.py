"""A host that opens its run on a server which stalls for longer than a call's timeout."""

from __future__ import annotations

from pathlib import Path

import pytest
from redis import Redis

from cogitate import Profile, Settings, TickLoop
from cogitate.hosting import services
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.ledger.connect import check_keeps_runs
from cogitate.workers.processes.embedded import EmbeddedServer

TIMEOUT = 0.3  # seconds
STALL = 1_000  # milliseconds

OWNERS = {"agent:ada": Profile(name="Ada")}


@pytest.fixture
def settings(valkey: EmbeddedServer) -> Settings:
    return Settings(redis_url=valkey.url, workers=0, wait=0.0, socket_timeout=TIMEOUT)


@pytest.fixture
def stalls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stall the server right after each check that it keeps runs, and return the list of these stalls."""
    stalled: list[int] = []

    def then_stall(client: Redis, where: str) -> None:
        check_keeps_runs(client, where)
        client.client_pause(STALL)
        stalled.append(STALL)

    monkeypatch.setattr(services, "check_keeps_runs", then_stall)
    return stalled


def test_a_run_opens_on_a_server_that_stalls(settings: Settings, stalls: list[int]) -> None:
    with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=2) as loop:
        assert [tick.number for tick in loop] == [1, 2]
    assert stalls


def test_a_fork_opens_on_a_server_that_stalls(settings: Settings, stalls: list[int], tmp_path: Path) -> None:
    with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=3) as loop:
        list(loop)
    digest = loop.digest
    fork = Fork(run="town", tick=2)
    with TickLoop(run="other", owners=OWNERS, settings=settings, ticks=3, fork=fork) as loop:
        list(loop)
    assert loop.digest == digest
    assert len(stalls) == 2
