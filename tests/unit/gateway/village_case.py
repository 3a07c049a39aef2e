"""A village of two whose bell strikes, told to a loop in Python and posted to a gateway."""

from __future__ import annotations

from typing import Any

from cogitate import Observation, Profile, Tick, TickLoop

LAST = 400  # by then both have planned their day
ADA, BEN = "agent:ada", "agent:ben"
OWNERS = {ADA: Profile(name="Ada Smith", occupation="smith", traits=("curt", "kind")), BEN: Profile(name="Ben Cole")}
OPEN: dict[str, Any] = {
    "owners": {
        ADA: {"name": "Ada Smith", "occupation": "smith", "traits": ["curt", "kind"]},
        BEN: {"name": "Ben Cole"},
    },
    "ticks": LAST,
}
STATEMENT = {"kind": "discussion_statement", "text": "The bridge must be mended.", "speaker": BEN, "subjects": [ADA]}
FREE = {"location": "forge", "free": True, "status": {"energy": 60}}
LATE = "agent:cyd"


def live(loop: TickLoop, tick: Tick) -> None:
    """Pass the village's turn as a host in Python does."""
    if tick.number == 20:
        loop.join(LATE, Profile(name="Cyd Moss"))
    if tick.number % 7 == 0:
        loop.observe(ADA, Observation(text=f"The bell struck {tick.number} times.", minute=tick.minute, importance=4))
    if tick.number % 90 == 0:
        loop.broadcast(STATEMENT)
    if tick.number == 100:
        loop.request("reflect", ADA, priority=3)
    if tick.number == 300:
        loop.leave(LATE)
    if tick.number % 50 == 0:
        loop.checkpoint(f"state of tick {tick.number}".encode())


def brief(owner: str) -> dict[str, object]:
    """Return what jobs of Ada are told."""
    return dict(FREE) if owner == ADA else {}


def turn(number: int) -> dict[str, Any]:
    """Return the same turn as a message."""
    said: dict[str, Any] = {"briefs": {ADA: FREE}}
    if number == 20:
        said["joins"] = {LATE: {"name": "Cyd Moss"}}
    if number % 7 == 0:
        said["observations"] = [{"owner": ADA, "text": f"The bell struck {number} times.", "importance": 4}]
    if number % 90 == 0:
        said["events"] = [{"event": STATEMENT}]
    if number == 100:
        said["requests"] = [{"kind": "reflect", "owner": ADA, "priority": 3}]
    if number == 300:
        said["leaves"] = [LATE]
    if number % 50 == 0:
        said["checkpoint"] = f"state of tick {number}"
    return said
