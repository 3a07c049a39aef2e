"""`cogitate.open`: a tick loop from the few arguments that most hosts need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from cogitate.hosting.opening import Exist, World
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.errors import quoted
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import EventRule, Strategy
from cogitate.scheduler.budget.briefs import Brief
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.tiers import TierRule
from cogitate.scheduler.tick.arguments import check_settings

SLOWEST = 86_400.0  # seconds per tick


class RunArguments(TypedDict, total=False):
    """The further arguments of `TickLoop` that every adapter passes on."""

    locations: Sequence[Location]
    tier_of: TierRule | None
    event_types: Mapping[str, Strategy | EventRule] | None
    ticks: int | None
    start_minute: int
    world: World
    take_over: bool
    describe: Mapping[str, str] | None


class MoreArguments(RunArguments, total=False):
    """The further arguments of `TickLoop` that `open` passes on."""

    brief: Brief | None


def open(  # shadows the builtin like `tarfile.open`: hosts write `cogitate.open`
    run: str,
    owners: Mapping[str, Profile],
    *,
    exist: Exist = "create",
    real_seconds_per_tick: float | None = None,
    settings: Settings | None = None,
    **more: Unpack[MoreArguments],
) -> TickLoop:
    """Open a run, and return its loop.

    It blocks while server and workers start; in an event loop, use `await asyncio.to_thread(cogitate.open, …)`.

    Args:
        run: the run's name.
        owners: the profiles of the owners at the start, by owner name. Ignored when a run is resumed.
        exist: "create" a run, which must not exist; "resume" it if it exists, or create it; or "replace" it, which
            deletes it with all its memories.
        real_seconds_per_tick: the pace. The loop hands out each tick at its time and never waits for results: jobs are
            due when their answers are expected. None: the pace of the settings, by default as fast as possible.
        settings: everything else; the defaults work.
        more: further arguments of `TickLoop`.

    Raises:
        ConfigurationError: for an invalid argument or setting.
        CogitateError: as `TickLoop` raises them.
    """
    chosen = check_settings(settings)
    if "seconds_per_tick" in more:
        raise ConfigurationError(
            "seconds_per_tick is now real_seconds_per_tick, for the pace; the game time of a tick is a setting: "
            "settings=Settings(seconds_per_tick=…)"
        )
    if real_seconds_per_tick is not None:
        chosen = chosen.model_copy(update={"tick_rate": 1 / _check_seconds(real_seconds_per_tick)})
    return TickLoop(run=run, owners=owners, settings=chosen, exist=exist, **more)


def _check_seconds(seconds: object) -> float:
    usable = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    if not (usable and 0 < seconds <= SLOWEST):  # type: ignore[operator]
        raise ConfigurationError(
            f"real_seconds_per_tick={quoted(seconds)}: give a number of seconds above 0, at most {SLOWEST:,.0f}"
        )
    return float(seconds)  # type: ignore[arg-type]
