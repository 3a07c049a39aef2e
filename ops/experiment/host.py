"""The host of one run of an experiment, in a process of the fork server with the run's settings as variables."""

from __future__ import annotations

import importlib
from typing import Any

import msgspec

from cogitate.memory.errors import quoted, text_of
from cogitate.ops.world_choice import WorldChoice, default_days, minutes_per_tick, settings_for
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.controls import SetCadence
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.steering.operators import ask
from cogitate.simulation.world import World

TOWN, STORY = ("agents", "start_minute", "unchanged"), ("start_minute",)


class HostedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run to host."""

    run: str
    town: int | None
    story: bool
    world: str | None  # "module:Class"
    seed: int
    before: dict[str, Any]  # the world's parameters up to the tick of the fork
    parameters: dict[str, Any]  # the world's parameters after the fork, or of a run that is no fork
    days: int | None
    ticks: int | None
    cadences: tuple[SetCadence, ...] = ()
    fork: Fork | None = None


def open_world(spec: HostedRun, parameters: dict[str, Any], settings: Settings) -> World:
    """Return the world at its beginning.

    Raises:
        ConfigurationError: when the world does not exist, or does not take these parameters.
    """
    if spec.world is not None:
        try:
            return found(spec.world)(seed=spec.seed, **parameters)  # type: ignore[no-any-return]
        except TypeError as error:
            raise ConfigurationError(
                f"world = {quoted(spec.world)} takes no such parameters: {text_of(error)}"
            ) from error
    known = STORY if spec.story else TOWN
    if unknown := sorted(parameters.keys() - {*known}):
        raise ConfigurationError(f"world.{unknown[0]}: this world has the parameters {', '.join(known)}")
    given = {"agents": spec.town} if spec.town is not None else {}
    return WorldChoice(
        **{**given, **parameters}, seed=spec.seed, story=spec.story, minutes_per_tick=minutes_per_tick(settings)
    ).open()


def found(name: str) -> Any:
    """Import the object that "module:name" names.

    Raises:
        ConfigurationError: when it cannot be imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"{quoted(name)} cannot be imported ({error}): write module:name, with a module in the folder of the "
            "experiment's file"
        ) from error


def host(spec: HostedRun) -> None:
    """Host the run to its end; resume it if it exists."""
    settings = Settings()
    now = open_world(spec, spec.before if spec.fork is not None else spec.parameters, settings)
    later = open_world(spec, spec.parameters, settings) if spec.fork is not None else None
    settings = settings_for(now, settings)
    ticks = spec.ticks or (spec.days or default_days(now)) * now.ticks_per_day
    with loop_of(
        now,
        spec.run,
        settings,
        brief=lambda owner: now.brief(owner),  # `now` changes at the fork
        ticks=ticks,
        exist="resume",
        take_over=True,  # from the host of a killed experiment
        fork=spec.fork,
    ) as loop:
        if spec.cadences and loop.tick == 0 and not loop.ledger.store.length("controls"):
            ask(loop.ledger.client, spec.run, spec.cadences, wait=0)
        if spec.fork is None or later is None:
            drive(loop, now)
            return
        forked = loop.checkpoint_tick >= spec.fork.tick
        if not forked:
            drive(loop, now, until=spec.fork.tick)
            later.load(now.dump())
        now = later
        drive(loop, now, restore=forked)
