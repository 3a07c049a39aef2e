"""Five days on an icebreaker, written by hand, with other people, places and words than the built-in town.

`ship.txt` holds what is perceived and said. Improve the heuristics with rules of English, never with rules for its
sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.language.times import parse_clock
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.world import AppliedChange

PEOPLE = {
    "agent:ruth": Profile(
        name="Ruth Calder",
        age=41,
        occupation="ship's engineer",
        traits=("blunt", "loyal"),
        home="cabins",
        work="deck",
        background="Ruth Calder is the ship's engineer and has sailed for twenty years.",
        currently="Ruth Calder is rebuilding the old bilge pump.",
    ),
    "agent:idris": Profile(
        name="Idris Vaughan",
        age=33,
        occupation="navigator",
        traits=("dreamy", "patient"),
        home="cabins",
        work="bridge",
        currently="Idris Vaughan hopes to learn the accordion.",
    ),
    "agent:thandi": Profile(
        name="Thandiwe Mokoena",
        age=36,
        occupation="oceanographer",
        traits=("stubborn", "warm"),
        home="cabins",
        work="lab",
        currently="Thandiwe Mokoena is writing a paper about krill.",
    ),
    "agent:pilar": Profile(
        name="Pilar Santos",
        age=29,
        occupation="biologist",
        traits=("cheerful", "forgetful"),
        home="cabins",
        work="lab",
        currently="Pilar Santos is counting penguins from photographs.",
    ),
    "agent:bertrand": Profile(
        name="Bertrand Okoye",
        age=58,
        occupation="captain",
        traits=("stern", "fair"),
        home="cabins",
        work="bridge",
        currently="Bertrand Okoye is preparing to retire.",
    ),
}
PLACES = (
    Location(id="galley", name="the galley", type="canteen", tags=("food", "social")),
    Location(id="mess", name="the mess room", type="room", tags=("social",)),
    Location(id="bridge", name="the bridge", type="bridge", tags=("work",)),
    Location(id="lab", name="the wet lab", type="laboratory", tags=("work",)),
    Location(id="deck", name="the foredeck", type="deck", tags=("work", "outdoors")),
    Location(id="cabins", name="the cabins", type="home", tags=("home",)),
)
#: Two of them keep a long-term summary, one for each policy that has one.
POLICIES = {"agent:idris": "cells", "agent:bertrand": "tokens"}


class Ship:
    """The world of `ship.txt` (`cogitate.simulation.world.World`). No result of a job changes it."""

    locations = PLACES
    start_minute = 0
    minutes_per_tick = 5
    ticks_per_day = DAY // minutes_per_tick

    def __init__(self) -> None:
        text = (Path(__file__).parent / "ship.txt").read_text(encoding="utf-8")
        self._seen = [pair for line in text.splitlines() if line and line[0] != "#" for pair in _read(line)]

    def owners(self) -> Mapping[str, Profile]:
        """Return the people on board."""
        return PEOPLE

    def brief(self, owner: str) -> dict[str, Any]:
        """Return where the owner works."""
        return {"location": PEOPLE[owner].work}

    def apply(self, change: AppliedChange) -> None:
        """Ignore the change."""

    def step(self, tick: int, minute: int) -> list[tuple[str, Entry]]:
        """Return what was perceived since the last tick."""
        return [(owner, e) for owner, e in self._seen if minute - self.minutes_per_tick < e.minute <= minute]

    def take_effects(self) -> list[Effect]:
        """Return no effects: the world advances no plans."""
        return []

    def dump(self) -> bytes:
        """Return an empty dump: there is no state."""
        return b""

    def load(self, data: bytes) -> None:
        """Continue from a dump."""


def _read(line: str) -> list[tuple[str, Entry]]:
    """Return the entries of a line, one for each person who perceives it."""
    when, who, how, place, text = (part.strip() for part in line.split("|"))
    day, clock = when.split()
    people = tuple(f"agent:{name}" for name in who.split())
    said, importance = how.split()
    minute = (int(day) - 1) * DAY + (parse_clock(clock) or 0)
    if said == "say":
        entry = Entry(
            type="message",
            text=f"{PEOPLE[people[0]].name}: {text}",
            minute=minute,
            location=place,
            subjects=people,
            importance=int(importance),
            source="dialogue",
        )
        return [(person, entry) for person in people]
    named = tuple(owner for owner, profile in PEOPLE.items() if profile.name in text)
    return [
        (
            person,
            Entry(
                type="observation",
                text=text,
                minute=minute,
                location=place,
                importance=int(importance),
                subjects=tuple(dict.fromkeys((person, *named))),
            ),
        )
        for person in people
    ]
