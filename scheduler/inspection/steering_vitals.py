"""The current steering of a run, for people and screens: its mode, its pace, and the cadence of reflections and why."""

from __future__ import annotations

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.rules import throttle_rules
from cogitate.scheduler.config.controls import FULL
from cogitate.scheduler.config.kept_settings import kept_settings
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.steering import SteeringState


class SteeringVitals(msgspec.Struct, frozen=True, kw_only=True):
    """The steering of a run. The cadence is that of reflections, the only jobs that are throttled."""

    mode: str  # running, paused, draining, drained or cancelled, as operators requested
    asked: int  # operators' requests that no tick has applied yet
    cadence: float  # share of the usual one
    interval: int | None  # game minutes between two reflections of an agent; None: reflection is stopped
    usual: int  # the same without throttling
    by: str  # what sets it: controller, pinned (by an operator), or settings (the controller is off)
    causes: dict[str, int]  # pressure in the controller's last interval, in percent: late, failed, budget
    pressing: tuple[str, ...]  # the causes that slow it down
    waiting: int  # owners that are due and may not reflect yet
    postponed: int  # postponements so far in the run
    lag: int  # ticks that a paced host is behind its schedule
    host_ms: float  # spent by the host in the last tick, excluding waiting and the world's turn


def steering_of(store: RunStore) -> SteeringVitals:
    """Return the current steering of a run.

    Raises:
        RunMissing: if the run was deleted meanwhile.
    """
    kept, steering, postponed, lag, host_us = store.state("settings", "steering", "postponed", "lag", "host_us")
    if kept is None:
        raise RunMissing("the run was deleted meanwhile")
    asked = store.length("controls")
    settings = kept_settings(kept)
    state = SteeringState() if steering is None else typed_json.decode(steering, SteeringState)
    held = Postponing() if postponed is None else typed_json.decode(postponed, Postponing)
    throttle = state.throttle
    by = "pinned" if throttle.pinned else "controller" if throttle_rules(settings).auto else "settings"
    return SteeringVitals(
        mode=state.mode,
        asked=asked,
        cadence=throttle.factor / FULL,
        interval=_interval(settings.reflection_interval, throttle.factor, by == "controller"),
        usual=settings.reflection_interval,
        by=by,
        causes=throttle.causes,
        pressing=throttle.pressing,
        waiting=len(held.waiting),
        postponed=throttle.postponed,
        lag=int(lag or 0),
        host_ms=int(host_us or 0) / 1000,
    )


def _interval(usual: int, factor: int, bounded: bool) -> int | None:
    stretched = usual * FULL // factor if factor else None
    if bounded and factor < FULL:
        longest = usual + DAY  # no owner waits past the end of a day
        return longest if stretched is None else min(stretched, longest)
    return stretched
