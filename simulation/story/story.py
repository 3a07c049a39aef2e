"""The story world: a council votes, a company travels, a tavern talks, and a narrator recalls memories of places.

With `cogitate run --story`, one command shows every design of memory at work: streams with plans and reflections, cells
and token windows (`cogitate.simulation.story.people.SETTINGS`), routed events, and scopes that people enter and leave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import EventRule, Strategy
from cogitate.simulation.story.company import Arrival
from cogitate.simulation.story.days import LUNCH, SUPPER, WAKES, Day, day_of_story
from cogitate.simulation.story.people import (
    BURNER,
    CHAPLAIN,
    FERRYWOMAN,
    INNKEEPER,
    NAMES,
    OWNERS,
    PEOPLE,
    PLACES,
    SETTINGS,
)
from cogitate.simulation.story.tavern import EVENT_TYPES
from cogitate.simulation.town.plans import Agenda
from cogitate.simulation.world import AppliedChange, Report, ScopeContext, SteppedWorld, energy, fed, read_dump


class State(msgspec.Struct, kw_only=True):
    """The mutable state of a story."""

    seed: int
    minute: int  # game time that the story has reached
    agendas: dict[str, Agenda]
    effects: list[Effect] = msgspec.field(default_factory=list)  # pending effects
    recalled: int = 0  # number of the narrator's recalls by place or person


AGENTS = tuple(owner for owner in PEOPLE if owner.startswith("agent:"))
_LINE = re.compile(r"^- (day \d+, [\d:]+ [AP]M): (.+)$", re.M)


class Story(SteppedWorld):
    """A narrated world for the tick loop (`cogitate.simulation.world.NarratedWorld`), simulated minute by minute."""

    locations: tuple[Location, ...] = PLACES
    event_types: Mapping[str, Strategy | EventRule] = EVENT_TYPES
    settings: Mapping[str, Any] = SETTINGS

    def __init__(self, seed: int = 0, minutes_per_tick: int = 1, start_minute: int = 0) -> None:
        self.minutes_per_tick = minutes_per_tick
        self.start_minute = start_minute
        self._state = State(seed=seed, minute=start_minute - 1, agendas={owner: Agenda() for owner in AGENTS})
        self._arrived: list[Arrival] = []

    def owners(self) -> Mapping[str, Profile]:
        """Return the people of the valley, and all groups and places with memories."""
        return OWNERS

    def brief(self, owner: str) -> dict[str, Any]:
        """Return an agent's place, activity, meters (hunger 0 is starving), and the people nearby."""
        if owner not in self._state.agendas:
            return {"location": owner.partition(":")[2] if owner.startswith("location:") else ""}
        minute = max(self._state.minute, 0)
        of_day = minute % DAY
        day = day_of_story(self._state.seed, day_of(minute))
        place, doing = day.whereabouts(owner, of_day)
        awake = max(0, of_day - WAKES)
        meal = max((at for at in (WAKES, LUNCH, SUPPER) if at <= of_day), default=SUPPER - DAY)
        return {
            "location": place,
            "activity": doing,
            "free": doing not in ("sleeping", "attending the council"),
            "near": [other for other in PEOPLE if other != owner and self._place(other, day, of_day) == place],
            "status": {
                "energy": energy(max(30, 100 - awake * 70 // 960)),
                "hunger": fed(max(25, 100 - (of_day - meal) // 6)),
            },
        }

    @staticmethod
    def _place(owner: str, day: Day, of_day: int) -> str:
        if owner in AGENTS:
            return day.whereabouts(owner, of_day)[0]
        return {INNKEEPER: "tavern", FERRYWOMAN: "ford", CHAPLAIN: "chapel", BURNER: "woods"}.get(owner, "")

    def apply(self, change: AppliedChange) -> None:
        """Apply a new plan or an item's status; ignore other changes."""
        if (agenda := self._state.agendas.get(change.owner)) is not None:
            agenda.apply(change, NAMES)

    def step(self, tick: int, minute: int) -> list[Report]:
        """Advance to game time `minute`, and return all events in order."""
        happened: list[Report] = []
        self._arrived = []
        state = self._state
        while state.minute < minute:
            state.minute += 1
            day, of_day = day_of_story(state.seed, day_of(state.minute)), state.minute % DAY
            happened += day.reports.get(of_day, ())
            self._arrived += day.arrivals.get(of_day, ())
            for owner, agenda in state.agendas.items():
                place, doing = day.whereabouts(owner, of_day)
                state.effects += agenda.follow(owner, state.minute, place, doing == "sleeping")
        return happened

    def narrate(self, ask: ScopeContext) -> Sequence[Report] | None:
        """Return the narrator's memories of each place that was entered; None if none was."""
        if not self._arrived:
            return None
        told: list[Report] = []
        for arrival in self._arrived:
            here = ask(arrival.place, arrival.npcs).partition("\n\n")[0]
            lines = _LINE.findall(here) if here.startswith("Recent Location Memory:") else []
            for when, text in lines[-1:]:
                entry = Entry(
                    type="observation",
                    text=f"The narrator recalled {NAMES[arrival.place]} on {when}: {text}",
                    minute=self._state.minute,
                    location=arrival.place,
                    source="social",
                    importance=2,
                )
                told += [(owner, entry) for owner in arrival.hearers]
                self._state.recalled += 1
        return told

    def load(self, data: bytes) -> None:
        """Continue from a dump of the story with the same seed.

        Raises:
            ValueError: if it is not such a dump.
        """
        state = read_dump(data, State, "the story")
        if state.seed != self._state.seed:
            raise ValueError(f"the dump is of the story with seed {state.seed}, this one has seed {self._state.seed}")
        self._state = state
