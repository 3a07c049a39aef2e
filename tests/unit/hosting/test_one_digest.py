"""The same observations through every way to host: one digest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Observation, Profile, Tick, TickLoop
from cogitate.hosting import open_loop
from cogitate.mesa import think
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.replay import replay

Loops = Callable[..., TickLoop]

TICKS = 140
OWNERS = {f"agent:{number}": Profile(name=f"Smith {number}") for number in (1, 2, 3)}


def seen_by(owner: str, tick: int) -> str | None:
    """Return what an owner perceives at a tick."""
    number = int(owner.partition(":")[2])
    return f"Somebody asked me for {tick} ploughshares." if tick % (number + 2) == 0 else None


def live(loop: TickLoop, tick: Tick) -> None:
    for owner in OWNERS:
        text = seen_by(owner, tick.number)
        if text is not None:
            loop.observe(owner, Observation(text=text, minute=tick.minute, importance=8))


def plain(loop: TickLoop) -> None:
    with loop:
        for tick in loop:
            live(loop, tick)


def blocks(loop: TickLoop) -> None:
    with loop:
        while not loop.over:
            with loop.next_tick() as tick:
                live(loop, tick)


def awaited(loop: TickLoop) -> None:
    async def host() -> None:
        async with loop:
            async for tick in loop:
                live(loop, tick)

    asyncio.run(host())


def all_three(loop: TickLoop) -> None:
    """A host may change its way in the midst of a run."""

    async def some() -> None:
        async for tick in loop:
            live(loop, tick)
            if tick.number == 90:
                break

    with loop:
        for tick in loop:
            live(loop, tick)
            if tick.number == 20:
                break
        asyncio.run(some())
        while not loop.over:
            with loop.next_tick() as tick:
                live(loop, tick)


def of_mesa(settings: PinnedSettings) -> TickLoop:
    import mesa  # here, since that is slow

    class Smiths(mesa.Model):
        """Three agents that do nothing but be there."""

        def __init__(self) -> None:
            super().__init__(rng=1)
            self.made = 0  # steps, which Mesa itself counts by another name in each version
            for _ in OWNERS:
                mesa.Agent(self)

        def step(self) -> None:
            self.made += 1

    model = Smiths()

    def sees(agent: mesa.Agent) -> Observation | None:
        text = seen_by(f"agent:{agent.unique_id}", model.made)
        return None if text is None else Observation(text=text, minute=15 * model.made, importance=8)

    with think(
        model,
        run="test",
        who=lambda agent: OWNERS[f"agent:{agent.unique_id}"],
        sees=sees,
        seconds_per_step=900,
        settings=settings,
        ticks=TICKS,
    ) as minds:
        for _ in range(TICKS):
            model.step()
    return minds.loop


def test_every_way_to_host_has_one_digest(
    cogitate_loop: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    client = FakeRedis()
    for way in (plain, blocks, awaited, all_three):
        settings = PinnedSettings(data_dir=tmp_path, seconds_per_tick=900)
        loop = cogitate_loop(owners=OWNERS, ticks=TICKS, settings=settings)
        way(loop)
        assert {kind for kind, _, _ in loop.ended} >= {"plan", "reflect"}
        found[way.__name__] = (loop.tick, loop.digest)

    def inline(**given: Any) -> TickLoop:
        return TickLoop(**given, inline=True, client=client)

    monkeypatch.setattr(open_loop, "TickLoop", inline)
    loop = of_mesa(PinnedSettings(data_dir=tmp_path))
    found["mesa"] = (loop.tick, loop.digest)
    assert set(found.values()) == {(TICKS, found["plain"][1])}, found
    assert replay(client, "test", FakeRedis()).digest == loop.digest
