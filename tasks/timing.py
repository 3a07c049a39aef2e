"""Spreads owners over ticks, and finds the entries that open jobs read."""

from __future__ import annotations

from zlib import crc32

from cogitate.tasks.kind import Moment, WorldFacts


def offset(owner: str, spread: int) -> int:
    """Return an owner's fixed number from 0 to `spread` - 1, so that not all owners are due at once."""
    return crc32(owner.encode()) % spread if spread > 1 else 0


def tick_at(moment: Moment, minute: int) -> int:
    """Return the first tick after the moment's whose game time is not before `minute`."""
    return moment.tick + max(1, moment.world.clock.ticks_until(minute - moment.minute, moment.tick))


def morning_of(owner: str, world: WorldFacts) -> int:
    """Return the minutes after 00:00 at which an owner's day begins; a crowd gets up over `world.spread` minutes."""
    return world.morning + offset(owner, world.spread)


def is_turn(moment: Moment, every: int, shared: int = 1) -> bool:
    """Return whether the owner's turn, one in `every` ticks, is at this tick or came since the last shared turn.

    Args:
        shared: ticks between the shared turns, the only ticks at which the loop calls the kind.
    """
    return (moment.tick + offset(moment.owner, every)) % every < shared


def next_turn(moment: Moment, every: int, tick: int = 0) -> int:
    """Return the owner's first turn after the moment's tick and not before `tick`."""
    after = max(tick, moment.tick + 1) + offset(moment.owner, every)
    return -(-after // every) * every - offset(moment.owner, every)


def is_agent(moment: Moment) -> bool:
    """Return whether the owner is an agent, which plans and reflects; places, groups and the world do not."""
    return moment.owner.startswith("agent:")


def open_numbers(moment: Moment) -> frozenset[int]:
    """Return the numbers of the owner's entries that open summarise and prune jobs read."""
    return frozenset(moment.brief.get("open_numbers", ()))
