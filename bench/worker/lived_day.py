"""A day of a world with real workers, audited at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.world_choice import settings_for
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.simulation.story.story import Story
from cogitate.simulation.town.town import Town

RUN = "day"


@contextmanager
def lived_day(world: Town | Story, settings: Settings, ticks: int) -> Iterator[TickLoop]:
    """Drive a world through its ticks, and yield the loop before it closes.

    Raises:
        RuntimeError: if the auditor finds anything.
    """
    with loop_of(world, RUN, settings_for(world, settings), ticks=ticks) as loop:
        drive(loop, world)
        if findings := audit(loop.ledger.client, RUN):
            raise RuntimeError(f"the auditor found {findings}")
        yield loop
