"""Nobody is asked in vain, and nothing is missed: a run in which every kind is asked about everybody at every tick is
the same run."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogitate import Location, Observation, Profile, TickLoop
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.admitting import Admitting
from cogitate.tasks import timing
from cogitate.tasks.kind import Moment
from cogitate.tasks.prune import Prune

Loops = Callable[..., TickLoop]
BUSY = ("agent:ann", "agent:ben", "agent:cid", "agent:dot")
RARE = ("agent:eve", "agent:flo")  # see something every few hours
TALK = ("npc:gus", "npc:hob")  # see one thing, hear a few words, and nothing else ever changes what they remember
OWNERS = {owner: Profile(name=owner.partition(":")[2].title()) for owner in (*BUSY, *RARE, *TALK)}
SEEN = ("Rain falls on the square.", "Somebody sings in the street.", "The baker sells bread.", "A dog barks.")
TICKS, LEFT = 540, 330  # a day and a half; when one of them leaves
SAID = ("Will you come to the fair on Friday?", "I promise to mend your roof.", "My sister is ill.", "Good night.")


def lived(loop: TickLoop, seed: int) -> str:
    """The digest of days in which something happens in most ticks, and much of it to one of them."""
    chance = random.Random(seed)

    def observe(owner: str, minute: int, *, talk: bool) -> None:
        partner = BUSY[0] if owner in TALK else chance.choice(BUSY)
        seen = Observation(
            text=f"{chance.choice(SAID if talk else SEEN)} ({chance.randrange(400)})",
            minute=minute,
            importance=chance.choice((0, 1, 2, 3, 8)),
            source="dialogue" if talk else "perception",
            type="message" if talk else "observation",
            subjects=(owner, partner) if talk else (),
        )
        loop.observe(owner, seen)

    for tick in loop:
        for _ in range(chance.choice((0, 0, 1, 1, 4))):
            owner = chance.choice((*BUSY[: 4 if tick.number <= LEFT else 3], BUSY[0], BUSY[0]))
            observe(owner, tick.minute, talk=chance.random() < 0.3)
        for owner in RARE:
            if chance.random() < 0.01:
                observe(owner, tick.minute, talk=False)
        if tick.number in (90, 100, 101, 140):
            for owner in TALK:
                observe(owner, tick.minute, talk=tick.number > 90)
        if 100 < tick.number < 112:
            observe(TALK[1], tick.minute, talk=True)  # enough to be summarised
        if tick.number == LEFT:
            loop.leave(BUSY[3])
    return loop.digest


def test_a_crowd_plans_over_the_minutes_that_the_run_was_begun_with(cogitate_loop: Loops) -> None:
    owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(40)}
    settings = PinnedSettings.tuned(spread=10)
    planned: dict[str, int] = {}
    loop = cogitate_loop(owners=owners, settings=settings, ticks=30, start_minute=355)
    for tick in loop:
        planned |= {change.owner: tick.minute for change in tick.applied if change.kind == "plan"}
    latency = loop.state.rules.latency("plan")
    assert planned == {owner: timing.morning_of(owner, loop.state.world()) + latency for owner in owners}
    assert len(set(planned.values())) == 10


@pytest.mark.parametrize(("policy", "trigger"), [("cells", "interval"), ("tokens", "either")])
def test_asking_everybody_at_every_tick_changes_nothing(
    cogitate_loop: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, trigger: str
) -> None:
    def digest(run: str) -> str:
        settings = PinnedSettings(
            data_dir=tmp_path,
            seconds_per_tick=240,
            max_observations=60,
            reflection_trigger=trigger,
            policies={"agent:ann": policy},  # the others have the stream
        )
        places = (Location(id="cafe", name="Café"),)
        loop = cogitate_loop(run=run, owners=OWNERS, settings=settings, locations=places, ticks=TICKS)
        return lived(loop, seed=5)

    asked: list[str] = []

    def counting(kind: Prune, moment: Moment, due: Any = Prune.due) -> Any:
        asked.append(moment.owner)
        return due(kind, moment)

    monkeypatch.setattr(Prune, "due", counting)
    found, few = digest("few"), len(asked)

    def asking_everybody(part: Admitting, *given: Any, due: Any = Admitting._due) -> Any:
        for owner in sorted(part._state.streams.keys() - part._state.retired):
            part._state.cadence.touch(owner)
        return due(part, *given)

    monkeypatch.setattr(Admitting, "_due", asking_everybody)
    assert digest("all") == found
    assert 0 < few < (len(asked) - few) / 3
