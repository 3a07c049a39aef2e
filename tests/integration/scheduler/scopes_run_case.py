"""A realm of an inn, a road and a council, and scripts that play in it, for tests of scoped memories in runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis import Redis

from cogitate import Profile, Settings, Tick, TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.routing.scopes import WORLD
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from tests.live_redis import empty_redis

INN, ROAD, BOB, EVE, ALICE, GROUP = (
    "location:inn",
    "location:road",
    "npc:bob",
    "npc:eve",
    "agent:alice",
    "group:council",
)


OWNERS = {
    WORLD: Profile(name="The Realm"),
    INN: Profile(name="The Drunken Goose"),
    ROAD: Profile(name="The Road"),
    BOB: Profile(name="Bob"),
    EVE: Profile(name="Eve"),
    ALICE: Profile(name="Alice"),
    GROUP: Profile(name="The Council"),
}
LATENCY = {"recount": 3, "integrate": 3, "reflect": 3, "plan": 3}
Script = Callable[[TickLoop, Tick], None]


def opened(client: Redis, *, ticks: int, resume: bool = False, **settings: Any) -> TickLoop:
    return TickLoop(
        run="story",
        owners=OWNERS,
        settings=Settings.tuned(latency=LATENCY, **settings),
        ticks=ticks,
        exist="resume" if resume else "create",
        inline=True,
        client=client,
        event_types={"quest_found": "integrate"},
    )


def played(script: Script, *, ticks: int = 12, client: Redis | None = None, **settings: Any) -> TickLoop:
    """Play a script to its end, check audit and replay, and return the loop."""
    client = client or empty_redis()
    with opened(client, ticks=ticks, **settings) as loop:
        for tick in loop:
            script(loop, tick)
    assert audit(client, "story") == []
    assert replay(client, "story", empty_redis()).digest == loop.digest
    return loop


def say(loop: TickLoop, text: str, minute: int, location: str = "inn") -> None:
    loop.observe(WORLD, {"type": "message", "text": text, "minute": minute, "location": location, "source": "dialogue"})


def memories(loop: TickLoop, scope: str) -> list[Entry]:
    return loop.state.streams[scope].live("summary")


def recounts(loop: TickLoop) -> int:
    """Return the number of ended recounts."""
    return sum(count for (kind, _, _), count in loop.ended.items() if kind == "recount")
