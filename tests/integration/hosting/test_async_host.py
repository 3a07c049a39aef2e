"""An asyncio host with a real server: the event loop runs while a boundary waits, and cancelling ends the wait."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from redis import Redis

from cogitate import Observation, Profile, Settings, TickLoop
from cogitate.scheduler.inspection.audit import audit
from cogitate.workers.processes.embedded import EmbeddedServer

OWNERS = {"agent:ada": Profile(name="Ada Smith")}
DUE = 6  # ticks from the request of a reflection to its due tick


def test_a_cancelled_wait_for_results_leaves_a_resumable_run(
    valkey: EmbeddedServer, client: Redis, tmp_path: Path
) -> None:
    """Cancel a boundary that would wait ten minutes, because no worker runs the job."""
    given = Settings(
        data_dir=tmp_path, redis_url=valkey.url, workers=0, wait=600, latency={"reflect": DUE}, morning=1439
    )
    turns = 0

    async def host(loop: TickLoop) -> None:
        async with loop:
            async for tick in loop:
                if tick.number == 1:
                    seen = Observation(text="Ben Cole asked for a ploughshare.", minute=tick.minute, importance=8)
                    loop.observe("agent:ada", seen)
                    loop.request("reflect", "agent:ada")
                    loop.checkpoint(b"asked")

    async def cancelled(loop: TickLoop) -> None:
        nonlocal turns
        task = asyncio.create_task(host(loop))
        while not (loop.tick == DUE and loop._loop.collector._life.silence > 0):  # the boundary after it waits
            await asyncio.sleep(0.01)
            assert not task.done()
            turns += 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    loop = TickLoop(run="village", owners=OWNERS, settings=given, ticks=20)
    asyncio.run(cancelled(loop))
    assert turns > 0
    assert [one.name for one in threading.enumerate() if one.name.startswith(("ticks-", "closing", "presence"))] == []
    store = loop.ledger.store
    assert client.hmget(store.key("state"), "status", "tick") == [b"stopped", str(DUE).encode()]

    with TickLoop(run="village", owners={}, settings=given.model_copy(update={"wait": 0.0}), exist="resume") as resumed:
        for tick in resumed:
            if tick.number == DUE + 2:
                break
    assert resumed.tick == DUE + 2
    assert audit(client, "village") == []
