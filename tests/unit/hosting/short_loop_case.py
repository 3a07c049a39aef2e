"""A loop of forty ticks in which a bell strikes, for the tests of how ticks are handed over and left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cogitate import Observation, Profile, Tick, TickLoop

Loops = Callable[..., TickLoop]

OWNERS = {"agent:ada": Profile(name="Ada Smith")}
LAST = 40


def opened(loops: Loops, **more: Any) -> TickLoop:
    """Return the loop, opened."""
    return loops(**({"owners": OWNERS, "ticks": LAST} | more))


def live(loop: TickLoop, tick: Tick) -> None:
    """Pass a world's turn that can be told from none."""
    loop.observe("agent:ada", Observation(text=f"The bell struck {tick.number} times.", minute=tick.minute))


def status(loop: TickLoop) -> tuple[str, int]:
    """Return what the ledger says of the run: its status, and its last tick."""
    left, tick = loop.ledger.client.hmget(loop.ledger.store.key("state"), "status", "tick")
    return left.decode(), int(tick)
