"""What a seed's run is: a tiny world under one of a few sets of settings. A scene says nothing of faults.

Ticks are hours, and a run is the few around one midnight: a day's boundary, its plans, its reflections and its
deletions. It is as short as that allows, for what a seed costs is mostly what its ticks cost; what makes steps between
which something may go wrong are jobs, and there are many. Limits are so small that they bind. There are few scenes so
that what an undisturbed run of one comes to need not be found anew for every seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.simulation.story.people import POLICIES

SCENES = 32
RUN = "r"
STEP = 60  # game minutes a tick
START = 22 * 60  # 22:00 of day 0: midnight is tick 2
FOR_EVER = 1e9  # seconds
SOME_TIME = 60.0  # seconds: shorter than some batches take
STORY_EVERY = 20  # of so many seeds one plays the story
PACKED = 9  # of `STORY_EVERY` seeds this one packs calls
TIERED = 13  # of `STORY_EVERY` seeds this one asks in the flex tier
OPERATED, OPERATED_EVERY = 3, 5  # of so many times `STORY_EVERY` seeds in turn these have an operator
BATCHED = 17  # of `STORY_EVERY` seeds this one asks in batch files
FULL_PRICE = 200_000  # micro-dollars per million tokens, of a model with a flex tier
CHEAP_PERCENT = 50  # of flex and of batches
STORY_START = 18 * 60  # its tavern opens at 19:00; midnight is tick 6
MORE = 5  # ticks of a run whose jobs stay open for longer, and are fewer
PACE = 1.0  # ticks a second of the simulated clock, where a scene is paced
LEASE, HINTS = 3.0, 1.0  # seconds of the simulated clock


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The inputs of a run."""

    number: int
    ticks: int
    settings: Settings
    patient: bool  # boundaries wait for ever: nothing may end late
    story: bool = False  # its world is the story of a council and a tavern
    start: int = START

    @property
    def promises_equality(self) -> bool:
        """Return whether the digest depends on inputs and results alone."""
        return self.settings.apply == "due" and not self.packs

    @cached_property
    def asks_flex(self) -> bool:
        """Return whether calls may be asked in the flex tier."""
        return any(model.service_tier == "auto" for model in self.settings.asked_models())

    @cached_property
    def batches(self) -> bool:
        """Return whether jobs may be asked in batch files."""
        return any(model.batch == "auto" for model in self.settings.asked_models())

    @cached_property
    def packs(self) -> bool:
        """Return whether calls may be packed."""
        return any(model.pack == "auto" for model in self.settings.asked_models())


def _ticks(*, asks: bool, wait: float, apply: str) -> int:
    """As many as make 200 steps, even if nothing goes wrong: who asks nobody or waits for nobody takes few in each."""
    if wait == 0 or not asks:
        return 10
    return 7 if wait == FOR_EVER and apply == "due" else 8


def is_packed(seed: int) -> bool:
    """Return whether a seed packs calls."""
    return seed % STORY_EVERY == PACKED


def is_batched(seed: int) -> bool:
    """Return whether a seed asks in batch files."""
    return seed % STORY_EVERY == BATCHED


def has_operator(seed: int) -> bool:
    """Return whether a seed has an operator who cancels jobs."""
    return seed // STORY_EVERY % OPERATED_EVERY == OPERATED


def scene_of_seed(seed: int, number: int) -> Scene:
    """Return the scene of a seed that drew a number: a few play an evening of the story, pack calls, or ask in flex
    or in batch files."""
    if is_packed(seed):
        return packed_scene(number)
    if is_batched(seed):
        return batched_scene(number)
    if seed % STORY_EVERY == TIERED:
        return tiered_scene(number)
    return story_scene(number) if seed % STORY_EVERY == STORY_EVERY - 1 else scene_of(number)


@cache
def packed_scene(number: int) -> Scene:
    """Return a scene whose calls are packed: results are due late enough, and limits leave room for several a tick."""
    usual = scene_of(number)
    later = dict.fromkeys(("plan", "act", "reflect", "summarise", "rate", "integrate", "recount"), 3)
    settings = usual.settings.changed(
        llm="openai",
        latency={"prune": 2, **later},
        pack_wait=2 * STEP,
        limits={"tick.run.calls": 16, "day.run.calls": 160, "day.kind:prune.jobs": 3},
        limit_tokens=10_000_000,
        models={"default": ModelSettings(pack="auto")},
    )
    return replace(usual, settings=settings, ticks=usual.ticks + MORE)


@cache
def tiered_scene(number: int) -> Scene:
    """Return a scene whose jobs are asked in the flex tier where they may wait."""
    usual = scene_of(number)
    model = ModelSettings(
        input_price=FULL_PRICE, output_price=FULL_PRICE, service_tier="auto", service_tiers={"flex": CHEAP_PERCENT}
    )
    return replace(usual, settings=usual.settings.changed(llm="openai", models={"default": model}))


@cache
def batched_scene(number: int) -> Scene:
    """Return a scene whose jobs are asked in batch files where they may wait; some hosts wait for ever."""
    usual = scene_of(number)
    patient = number % 4 != 0
    model = ModelSettings(
        input_price=FULL_PRICE, output_price=FULL_PRICE, batch="auto", service_tiers={"batch": CHEAP_PERCENT}
    )
    settings = usual.settings.changed(
        llm="openai",
        apply="due",
        wait=FOR_EVER if patient else SOME_TIME,
        job_deadline=SOME_TIME / 4,
        tick_rate=None,
        adaptive_latency=False,
        latency={"prune": 2, **dict.fromkeys(("plan", "reflect", "summarise", "rate", "integrate", "recount"), 2)},
        limits=usual.settings.limits | {"tick.run.calls": 8, "day.run.calls": 80},
        models={"default": model},
    )
    return replace(usual, settings=settings, ticks=_ticks(asks=True, wait=FOR_EVER, apply="due"), patient=patient)


@cache
def story_scene(number: int) -> Scene:
    """Return an evening and a night of the story, under the settings of one of the scenes."""
    usual = scene_of(number)
    changed = {"policies": dict(sorted(POLICIES.items())), "cells": 3, "token_limit": 300, "max_observations": 30}
    settings = usual.settings.changed(**changed)
    return replace(usual, settings=settings, story=True, start=STORY_START)


@cache
def scene_of(number: int) -> Scene:
    """One of the scenes."""
    draw = Random(f"scene {number}")
    patient, asks = number % 16 not in (3, 7, 11), number % 11 != 6
    unit = "calls" if asks and number % 4 else "jobs"
    chosen: dict[str, Any] = {
        "data_dir": Path("/nowhere"),
        "seconds_per_tick": 60 * STEP,
        "morning": 60,  # 01:00, at tick 3
        "apply": "ready" if number % 8 == 5 else "due",
        "wait": FOR_EVER if patient else draw.choice((0.0, 0.5, 2.0)),
        "llm": "openai" if asks else "heuristic",
        "api_key": "any",
        "limit_tokens": draw.choice((90_000, 120_000, 10_000_000)),
        "limits": {
            f"tick.run.{unit}": draw.choice((4, 5, 6)),
            f"day.run.{unit}": draw.choice((24, 30, 40)) * (1 if asks else 2),
            f"day.kind:reflect.{unit}": draw.choice((8, 16)),
            "day.kind:prune.jobs": 3,
            f"day.owner:*.{unit}": draw.choice((14, 30)),
            "day.kind:*.tokens": draw.choice((40_000, 200_000)),
        },
        "retry_share": draw.choice((0.0, 0.2, 0.5, 0.5)),
        "claim_cap": draw.choice((2, 3, 4, 6)),
        "latency": {
            "plan": 1 + draw.randrange(3),
            "act": 1,
            "reflect": 1 + draw.randrange(2),
            "summarise": 2,
            "prune": 2,
            "rate": 1,
            "integrate": 2,
            "recount": 2,
        },
        "act_interval": draw.choice((1, 1, 2)),
        "act_per_tick": draw.choice((2, 3)),
        "reflection_interval": draw.choice((60, 120)),
        "reflection_trigger": draw.choice(("interval", "either")),
        "reflection_trigger_max": 30,
        "max_observations": draw.choice((6, 9)),
        "max_reflections": 3,
        "max_plans": 2,
        "retention_days": 0 if number % 3 else 1,  # archived entries go by age, or as too many
        "max_archived": None if number % 3 else 3,
        "policies": {"agent:ann": draw.choice(("cells", "stream")), "npc:cy": draw.choice(("tokens", "stream"))},
        "cells": 3,
        "token_limit": 150,
        "coalesce": draw.random() < 0.5,
        "repair_from": draw.choice((1080, 1440)),
        "lease": LEASE,
        "hint_interval": HINTS,
        "tick_rate": None if number % 2 else PACE,
        "collect_garbage": "python",  # idle time is simulated, and a collection of all that tests have left is not
    }
    if chosen["tick_rate"] is not None:
        chosen["adaptive_latency"] = False
    adapts = asks and number % 4 == 3  # patient ones among them: that may be had however long ticks wait
    if adapts:
        chosen |= {"adaptive_latency": True, "latency": {"prune": 2}}
    return Scene(
        number=number,
        ticks=_ticks(asks=asks, wait=chosen["wait"], apply=chosen["apply"]) + (MORE if adapts else 0),
        settings=Settings.tuned(**chosen),
        patient=patient,
    )
