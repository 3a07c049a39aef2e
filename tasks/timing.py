"""When kinds are due: spreading owners over ticks, and what open jobs already read."""

from __future__ import annotations

from zlib import crc32

from tasks.kind import Moment


def offset(owner: str, spread: int) -> int:
    """A number from 0 to `spread` - 1 that is always the same for an owner, so that not all are due at once."""
    return crc32(owner.encode()) % max(1, spread)


def tick_at(moment: Moment, minute: int) -> int:
    """The first tick after the moment's whose game time is not before `minute`."""
    ahead = -(-(minute - moment.minute) // moment.world.minutes_per_tick)
    return moment.tick + max(1, ahead)


def is_turn(moment: Moment, every: int) -> bool:
    """Whether this is one of the owner's turns, which come every so many ticks."""
    return (moment.tick + offset(moment.owner, every)) % every == 0


def next_turn(moment: Moment, every: int, tick: int = 0) -> int:
    """The owner's first turn after the moment's tick and not before `tick`."""
    after = max(tick, moment.tick + 1) + offset(moment.owner, every)
    return -(-after // every) * every - offset(moment.owner, every)


def is_agent(moment: Moment) -> bool:
    """Whether the owner is one who plans and reflects; places, groups and the world do not."""
    return moment.owner.startswith("agent:")


def open_numbers(moment: Moment) -> frozenset[int]:
    """Entries of this owner that open summarise and prune jobs already read."""
    return frozenset(moment.brief.get("open_numbers", ()))
