"""A world of a few owners that does the same from the same checkpoint, and moves only as it is told.

It mixes each change that it is handed into its state, so a change that is lost, doubled or handed over in another order
shows in what it observes next, and so in the digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any
from zlib import crc32

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import SetPlanStatus
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.ops.world_driver import hand_on
from cogitate.scheduler.journal.ends import Change
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.story.story import Story
from tests.simulation.seeded.actors import SimulatedTime
from tests.simulation.seeded.scene import STEP, Scene

AGENTS = ("agent:ann", "npc:cy")
MORE = ("agent:eve", "agent:fay", "agent:gil", "agent:hal", "agent:ivo")  # where calls are packed, so that jobs meet
GUEST = "agent:di"  # joins and leaves
TURN = 0.05  # seconds that an owner's turn takes: meanwhile others go on, and what they stage is not collected any more
JOINS, GONE = 2, 2  # the tick at which the guest comes, and for how many of the last ones it is gone
PLACES = (Location(id="inn", name="The Inn", type="inn"), Location(id="mill", name="The Mill", type="work"))
DEEDS = (
    "swept the floor of the inn",
    "found a silver ring under the bridge",
    "is idle",
    "repaired the mill's wheel",
    "argued with the miller about 12 sacks of flour",
    "saw the river rise above the meadow",
)
LINES = ("The bridge will not hold.", "Meet me at the mill at noon.", "I owe you 3 coins.")


class World:
    """Its state is one number and who is there."""

    locations = PLACES
    event_types: Mapping[str, Any] = {}

    def __init__(self, scene: Scene) -> None:
        self._mood = scene.number
        self._agents = (*AGENTS, *MORE) if scene.packs else AGENTS
        self._leaves = scene.ticks - GONE
        self._plans: list[tuple[str, str]] = []  # owner and plan item

    def owners(self) -> dict[str, Profile]:
        """Return the owners at the start."""
        names = {owner: owner.partition(":")[2].title() for owner in self._agents}
        named = {owner: Profile(name=name, home="inn", work="mill") for owner, name in names.items()}
        return named | {"world": Profile(name="World"), "location:inn": Profile(name="The Inn")}

    @staticmethod
    def brief(owner: str) -> Mapping[str, Any]:
        """Return the brief of an owner for whom a job is created."""
        return {"location": "inn", "free": True, "status": {"energy": 50}}

    def live(self, loop: TickLoop, tick: Tick) -> None:
        """Play the world's turn."""
        for change in tick.applied:
            self._take_in(change)
        draw = Random(self._mood * 1009 + tick.number)
        if tick.number == JOINS:
            loop.join(GUEST, Profile(name="Di"))
        here = [*self._agents, *([GUEST] if JOINS <= tick.number < self._leaves else [])]
        for owner in here:
            SimulatedTime.sleep(TURN)
            self._happen(loop, tick, owner, draw)
        if tick.number == self._leaves:
            loop.leave(GUEST)
        if tick.number % 4 == 0:
            loop.left_location("inn", present=["npc:cy"])
        if tick.number % 5 == 0:
            loop.story_event("quest_completed", related={"quest_id": "q1"})
        if draw.random() < 0.5:
            loop.request(draw.choice(("prune", "summarise")), draw.choice(self._agents))
        if self._plans and draw.random() < 0.5:
            owner, item = self._plans.pop(0)
            loop.apply(SetPlanStatus(owner=owner, item=item, status="active", expects="pending"))
        if tick.number % 6 == 0:
            loop.checkpoint(self.dump())

    def dump(self) -> bytes:
        """Its state."""
        return json.dumps([self._mood, self._plans]).encode()

    def load(self, data: bytes) -> None:
        """Go back to a state."""
        self._mood, plans = json.loads(data)
        self._plans = [(owner, item) for owner, item in plans]

    def _take_in(self, change: Change) -> None:
        told = f"{change.owner} {change.kind} {change.entry.number if change.entry else 0} {change.effect!r}"
        self._mood = crc32(told.encode(), self._mood)
        if change.entry is not None and change.entry.type == "plan" and change.owner in self._agents:
            self._plans += [(change.owner, item.id) for item in change.entry.items[:1]]

    def _happen(self, loop: TickLoop, tick: Tick, owner: str, draw: Random) -> None:
        kind = draw.random()
        if kind < 0.5:
            text = f"{owner.partition(':')[2].title()} {draw.choice(DEEDS)}"
            loop.observe(
                owner,
                Entry(
                    type="observation",
                    text=text,
                    minute=tick.minute,
                    location="inn",
                    subjects=(owner,),
                    importance=draw.choice((0, 1, 3, 8)),
                ),
            )
        elif kind < 0.8:
            other = draw.choice(self._agents)
            said = Entry(
                type="message",
                text=draw.choice(LINES),
                minute=tick.minute,
                location="inn",
                subjects=(owner, other),
                importance=draw.choice((2, 6)),
                source="dialogue",
            )
            for hearer in dict.fromkeys((owner, other, "world")):
                loop.observe(hearer, said)
        elif kind < 0.86:
            loop.event(owner, {"kind": "discussion_statement", "speaker": "npc:cy", "text": draw.choice(LINES)})


class StoryWorld(Story):
    """The story, played as `cogitate.ops.world_driver.drive` plays a world."""

    def live(self, loop: TickLoop, tick: Tick) -> None:
        """Play the world's turn."""
        for change in tick.applied:
            self.apply(change)
        seen = self.step(tick.number, tick.minute)
        told = self.narrate(loop.scope_context)
        for turn, report in enumerate((*seen, *(told or ()))):
            if turn % 16 == 0:
                SimulatedTime.sleep(TURN)
            hand_on(loop, report)
        for effect in self.take_effects():
            loop.apply(effect)
        if told is not None or tick.number % 3 == 0:
            loop.checkpoint(self.dump())


def world_of(scene: Scene) -> World | StoryWorld:
    """Return the world of a scene at its beginning."""
    return StoryWorld(scene.number, STEP, scene.start) if scene.story else World(scene)
