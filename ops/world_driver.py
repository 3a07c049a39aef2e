"""The tick loop of a world and the body that drives it, shared by the command line, tests and benchmarks.

with loop_of(town, "town", settings, ticks=1440) as loop:
    drive(loop, town)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.routing.routing import Event
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.world import Heard, LocationLeft, NarratedWorld, Report, StoryEvent, World

CHECKPOINT_EVERY = 60  # ticks


def loop_of(world: World, run: str, settings: Settings, **more: Any) -> TickLoop:
    """Return the loop of a run of a world.

    Args:
        settings: the world's suggestions included (`cogitate.ops.world_choice.settings_for`).
        more: further arguments of `TickLoop`.
    """
    of_world: dict[str, Any] = {
        "owners": world.owners(),
        "locations": world.locations,
        "brief": world.brief,
        "start_minute": world.start_minute,
        "event_types": world.event_types if isinstance(world, NarratedWorld) else None,
    }
    return TickLoop(run=run, settings=settings, **of_world | more)


def drive(
    loop: TickLoop,
    world: World,
    *,
    checkpoint_every: int = CHECKPOINT_EVERY,
    on_tick: Callable[[Tick], None] | None = None,
    until: int | None = None,
    restore: bool = True,
) -> None:
    """Drive the world until the loop's last tick, or until `loop.stop()`.

    A resumed world is first restored from its last checkpoint, and repeats the ticks since then. An owner that appears
    in or disappears from the world joins or leaves the run with that tick.

    Args:
        checkpoint_every: ticks between two commits of the world's state.
        on_tick: called at the end of each turn of the world, before its tick is committed, also for repeated ticks.
        until: the last tick to drive; a further call continues after it.
        restore: restore the world from the checkpoint; False: the world already has the loop's state.

    Raises:
        InputError: when an owner that left returns under the same name.
        ValueError: when the checkpoint is of another world.
        WorldDiverged: when a resumed world does not repeat its ticks.
        Fenced: when another host has taken the run.
    """
    if restore and loop.restored is not None:
        world.load(loop.restored)
    present = set(world.owners())
    narrated = world if isinstance(world, NarratedWorld) else None  # checked once, since a protocol check is slow
    for tick in loop:
        for change in tick.applied:
            world.apply(change)
        seen = world.step(tick.number, tick.minute)
        owners = world.owners()
        for owner, profile in owners.items():
            if owner not in present:
                loop.join(owner, profile)
        narration = narrated.narrate(loop.scope_context) if narrated is not None else None
        for report in (*seen, *(narration or ())):
            hand_on(loop, report)
        for effect in world.take_effects():
            loop.apply(effect)
        for owner in sorted(present.difference(owners)):
            loop.leave(owner)
        present = set(owners)
        if on_tick is not None:
            on_tick(tick)
        if tick.number % checkpoint_every == 0 or loop.stopping or narration is not None:
            loop.checkpoint(world.dump())
        if tick.number == until:
            break


def hand_on(loop: TickLoop, report: Report) -> None:
    match report:
        case Heard(event, also):
            loop.broadcast(event, also)
        case LocationLeft(location, present):
            loop.left_location(location, present)
        case StoryEvent(kind, tags, related):
            loop.story_event(kind, tags, related)
        case (owner, Event() as event):
            loop.event(owner, event)
        case (owner, entry):
            loop.observe(owner, entry)
