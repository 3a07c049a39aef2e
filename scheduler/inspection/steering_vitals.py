"""The steering of a run, for people and screens: its present mode, pace and cadence, and operators' requests so far."""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY, Clock
from cogitate.scheduler.budget.rules import throttle_rules
from cogitate.scheduler.config.controls import FULL, Control, ControlAnswer, read_asked
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


_ANSWER = typed_json.decoder(ControlAnswer)


class SteeringStep(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's request and its outcome."""

    id: str
    control: Control
    by: str  # the operator; "": unknown
    state: Literal["waits", "applied", "refused"]
    tick: int = 0  # at which it took effect or was refused
    minute: int = 0  # game time of that tick, total minutes
    refused: str = ""  # why
    job: str = ""  # for a retry: the key of the new job


def steering_history(store: RunStore, tick: int, minute: int) -> list[SteeringStep]:
    """Return operators' requests, newest first; the host keeps its newest 200 answers."""
    kept = store.field("state", "settings")
    clock = kept_settings(kept).game_clock() if kept is not None else Clock()
    found = []
    for raw in store.items("answers"):
        try:
            one = _ANSWER.decode(raw)
        except msgspec.DecodeError:
            continue
        found.append(
            SteeringStep(
                id=one.id,
                control=one.control,
                by=one.by,
                state="refused" if one.refused else "applied",
                tick=one.tick,
                minute=minute - clock.minutes(tick - one.tick),
                refused=one.refused,
                job=one.job,
            )
        )
    for item in read_asked(store.items("controls")):
        if item is not None:
            found.append(SteeringStep(id=item.id, control=item.control, by=item.by, state="waits"))
    return found[::-1]
