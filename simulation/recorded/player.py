"""Plays recorded runs: a world that replays the agents' observations at their times."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.naming import distinct, slug
from cogitate.simulation.recorded.nodes import Node
from cogitate.simulation.recorded.recording import Persona, Recording, read_recording
from cogitate.simulation.town.plans import Agenda
from cogitate.simulation.world import AppliedChange, SteppedWorld, read_dump

#: word in a place's name -> type and tags; the first match applies ("Ryan Park's apartment")
TYPES: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("house", "apartment", "dorm", "home", "space"), "home", ("home",)),
    (("cafe", "café", "restaurant", "bakery"), "restaurant", ("food", "social")),
    (("pub", "bar", "inn"), "pub", ("food", "social")),
    (("park", "garden", "plaza", "square"), "park", ("outdoors", "social")),
    (("college", "school", "university", "library"), "school", ("work",)),
    (("store", "market", "shop", "pharmacy"), "shop", ("work",)),
)


class _State(msgspec.Struct, kw_only=True):
    minute: int
    agendas: dict[str, Agenda]
    effects: list[Effect] = msgspec.field(default_factory=list)


class RecordedWorld(SteppedWorld):
    """A world for the tick loop (`cogitate.simulation.world.World`) that replays a recording.

    It replays recorded events (as observations) and the lines of recorded chats (as messages), but not recorded
    thoughts and plans, since the run must produce its own. The recorded schedule only gives an agent's present place
    and activity.

    Raises:
        RecordingError: if the recording is invalid.
    """

    def __init__(self, recording: Recording | Path | str, minutes_per_tick: int = 1) -> None:
        self.recording = recording if isinstance(recording, Recording) else read_recording(recording)
        self.minutes_per_tick = minutes_per_tick
        self.start_minute = self.recording.minute_of(self.recording.meta.start_date)
        names = [persona.name for persona in self.recording.personas]
        ids = _owner_ids(self.recording.personas)
        self._ids = dict(zip(names, ids, strict=True))
        self._personas = dict(zip(ids, self.recording.personas, strict=True))
        self._places = _places(self.recording)
        self._profiles = {owner: self._profile(persona) for owner, persona in self._personas.items()}
        self._timetables = {owner: _Timetable(p.scratch.f_daily_schedule) for owner, p in self._personas.items()}
        self._whereabouts = {owner: self._seen_at(persona) for owner, persona in self._personas.items()}
        self._feed = self._observations()
        self._state = _State(minute=self.start_minute - 1, agendas={owner: Agenda() for owner in self._personas})

    # -- read by the loop ----------------------------------------------------------------------------

    @property
    def warnings(self) -> Counter[str]:
        """The number of refused or repaired records by error."""
        return self.recording.warnings

    @property
    def locations(self) -> tuple[Location, ...]:
        return tuple(sorted(self._places.values(), key=lambda place: place.id))

    @property
    def days(self) -> int:
        """The recording's length in game days, rounded: a few minutes after midnight do not count as a day."""
        return max(1, round(self.recording.minute_of(self.recording.meta.curr_time) / DAY))

    def owners(self) -> Mapping[str, Profile]:
        return self._profiles

    def brief(self, owner: str) -> dict[str, Any]:
        """Return an agent's current place and activity. A recording holds no meters."""
        minute = self._state.minute
        return {
            "location": self._location(owner, minute),
            "activity": self._timetables[owner].activity(minute),
        }

    # -- changes -------------------------------------------------------------------------------------

    def apply(self, change: AppliedChange) -> None:
        """Apply a plan or the status of its items; ignore other changes."""
        if (agenda := self._state.agendas.get(change.owner)) is not None:
            agenda.apply(change, {place.id for place in self._places.values()})

    def step(self, tick: int, minute: int) -> list[tuple[str, Entry]]:
        """Advance to game time `minute`, and return the observations in order of recorded time, agent and node."""
        state = self._state
        seen: list[tuple[str, Entry]] = []
        while state.minute < minute:
            state.minute += 1
            seen += self._feed.get(state.minute, ())
            for owner, agenda in state.agendas.items():
                asleep = self._timetables[owner].asleep(state.minute)
                state.effects += agenda.follow(owner, state.minute, self._location(owner, state.minute), asleep)
        return seen

    def load(self, data: bytes) -> None:
        """Continue from a dump of the same recording.

        Raises:
            ValueError: if it is not a dump of this recording.
        """
        state = read_dump(data, _State, "a recorded world")
        if list(state.agendas) != list(self._personas):
            raise ValueError(f"the dump is of another recording, whose agents are {', '.join(state.agendas) or 'none'}")
        self._state = state

    # -- from records to memories ---------------------------------------------------------------------

    def _profile(self, persona: Persona) -> Profile:
        scratch = persona.scratch
        home = self._places.get(_sector(scratch.living_area))
        return Profile(
            name=persona.name,
            age=scratch.age,
            traits=tuple(trait.strip() for trait in scratch.innate.split(",") if trait.strip()),
            background=scratch.learned,
            currently=scratch.currently,
            routine=scratch.lifestyle,
            home=home.id if home else "",
        )

    def _observations(self) -> dict[int, list[tuple[str, Entry]]]:
        fed = sorted(
            (
                (node.created, index, node.number, owner, node)
                for index, (owner, persona) in enumerate(self._personas.items())
                for node in persona.nodes
                if node.type != "thought"
            ),
            key=lambda item: item[:3],
        )
        feed: dict[int, list[tuple[str, Entry]]] = {}
        for created, _, _, owner, node in fed:
            minute = self.recording.minute_of(created)
            feed.setdefault(minute, []).extend((owner, entry) for entry in self.entries_of(owner, node))
        return feed

    @property
    def personas(self) -> Mapping[str, Persona]:
        """Return the recorded agents, by owner id."""
        return self._personas

    def entries_of(self, owner: str, node: Node) -> list[Entry]:
        """Convert a recorded event or chat to memories."""
        minute = self.recording.minute_of(node.created)
        place = self._places.get(_sector(node.subject))
        location = place.id if place else self._location(owner, minute)
        named = [self._ids[name] for name in (node.subject, node.object) if name in self._ids]
        speakers = [self._ids.get(name, name) for name, _ in node.lines]
        subjects = tuple(dict.fromkeys([owner, *named, *speakers]))
        if not node.lines:
            return [
                Entry(
                    type="observation",
                    text=node.text,
                    minute=minute,
                    location=location,
                    subjects=subjects,
                    keywords=node.keywords,
                    importance=node.importance,
                )
            ]
        return [
            Entry(
                type="message",
                text=f"{speaker}: {words}",
                minute=minute,
                location=location,
                subjects=subjects,
                importance=node.importance,
                source="dialogue",
                source_id=f"chat-{minute}-{'+'.join(sorted(subjects))}",
            )
            for speaker, words in node.lines
        ]

    def _seen_at(self, persona: Persona) -> tuple[list[int], list[str]]:
        """Return the minutes at which a persona observed something with an address, and the place of each."""
        minutes: list[int] = []
        places: list[str] = []
        for node in persona.nodes:
            place = self._places.get(_sector(node.subject)) if node.type == "event" else None
            if place is not None:
                minutes.append(self.recording.minute_of(node.created))
                places.append(place.id)
        return minutes, places

    def _location(self, owner: str, minute: int) -> str:
        """Return a persona's place: home when asleep, else the scheduled one, or that of its last observation."""
        home = self._profiles[owner].home
        timetable = self._timetables[owner]
        if timetable.asleep(minute):
            return home
        activity = timetable.activity(minute).lower()
        for place in self._places.values():
            if place.name.lower() in activity:
                return place.id
        minutes, places = self._whereabouts[owner]
        last = bisect_right(minutes, minute)
        return places[last - 1] if last else home


class _Timetable:
    """A recorded schedule of one day, repeated every day."""

    def __init__(self, schedule: list[tuple[str, int]]) -> None:
        self._activities = [words for words, _ in schedule]
        self._ends = list(accumulate(length for _, length in schedule))

    def activity(self, minute: int) -> str:
        index = bisect_right(self._ends, minute % DAY)
        return self._activities[index] if index < len(self._activities) else ""

    def asleep(self, minute: int) -> bool:
        return self.activity(minute).lower().startswith(("sleep", "asleep"))


def _owner_ids(personas: Sequence[Persona]) -> list[str]:
    """Return each persona's owner: the one that its export kept, or else one derived from its name."""
    ids = [f"agent:{name}" for name in distinct([slug(persona.name) for persona in personas], "persona")]
    kept = [persona.scratch.owner or made for persona, made in zip(personas, ids, strict=True)]
    return kept if len(set(kept)) == len(kept) else ids


def _sector(address: str) -> str:
    """Return the second level of "world:sector:arena:object"; empty if it is not an address."""
    parts = address.split(":")
    return parts[1].strip() if len(parts) > 1 else ""


def _places(recording: Recording) -> dict[str, Location]:
    """Return a place for every sector in the recording's addresses, by name."""
    homes = {_sector(persona.scratch.living_area) for persona in recording.personas}
    addresses = {_sector(node.subject) for persona in recording.personas for node in persona.nodes}
    names = sorted((homes | addresses) - {""})
    places: dict[str, Location] = {}
    for name, place_id in zip(names, distinct([slug(name) for name in names], "place"), strict=True):
        words = name.lower().replace("'", " ").split()
        place_type, tags = next(((t, tags) for keys, t, tags in TYPES if any(k in words for k in keys)), ("", ()))
        if name in homes:
            place_type, tags = "home", ("home",)
        places[name] = Location(id=place_id, name=name, type=place_type, tags=tags)
    return places
