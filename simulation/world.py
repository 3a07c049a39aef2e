"""The protocol that a world implements for the tick loop, and a world in which nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import Event, EventRule, Strategy
from cogitate.tasks.meters import Meter


@dataclass(frozen=True)
class Heard:
    """An event for all owners that it concerns (`TickLoop.broadcast`)."""

    event: Event
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocationLeft:
    """A report that the players left a location (`TickLoop.left_location`)."""

    location: str
    present: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoryEvent:
    """A report of progress in the story (`TickLoop.story_event`)."""

    kind: str
    tags: tuple[str, ...] = ()
    related: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


#: One report of a world: an owner's observation, an event for one owner or for all concerned, or a trigger.
Report = tuple[str, Entry | Event] | Heard | LocationLeft | StoryEvent
#: Returns the latest memories of a location, the people present and the world (`TickLoop.scope_context`).
ScopeContext = Callable[[str, Sequence[str]], str]


class AppliedChange(Protocol):
    """One effect that was applied at a boundary."""

    @property
    def owner(self) -> str:
        """The owner of the changed memory."""

    @property
    def effect(self) -> Effect:
        """The effect, as it was applied."""

    @property
    def entry(self) -> Entry | None:
        """Return the numbered entry that the effect appended, if any."""


class World(Protocol):
    """A world that can be stepped, saved and restored. Its arguments and its dump must determine its course."""

    @property
    def locations(self) -> tuple[Location, ...]:
        """Return all places, always in the same order."""

    @property
    def start_minute(self) -> int:
        """Game time of tick 0, in total minutes since midnight of day 0."""

    @property
    def minutes_per_tick(self) -> int:
        """Game minutes between two ticks."""

    @property
    def ticks_per_day(self) -> int:
        """Ticks in a game day (the last one may be cut short by midnight)."""

    def owners(self) -> Mapping[str, Profile]:
        """Return the profiles of all present owners; they may join and leave between two ticks."""

    def brief(self, owner: str) -> dict[str, Any]:
        """Return an owner's present facts as JSON: "location" (id), "activity" (text), "status" (meters, 0 to 100), and
        "free" if the owner may choose its next action.

        Raises:
            KeyError: for an unknown owner.
        """

    def apply(self, change: AppliedChange) -> None:
        """Process a change to an owner's memory: a new plan, an item's status, a message to the world."""

    def step(self, tick: int, minute: int) -> Sequence[Report]:
        """Advance to game time `minute`, and return the reports in order, mostly owners with unnumbered entries."""

    def take_effects(self) -> list[Effect]:
        """Return and clear the effects of the last step, such as a plan item that became active."""

    def dump(self) -> bytes:
        """Return the mutable state as JSON; a world that loads it continues identically."""

    def load(self, data: bytes) -> None:
        """Restore what `dump` returned.

        Raises:
            ValueError: if the data is not a dump of this world.
        """


@runtime_checkable
class NarratedWorld(World, Protocol):
    """A world with a narrator, custom event types, and settings for its owners' memories."""

    @property
    def event_types(self) -> Mapping[str, Strategy | EventRule]:
        """Return the rules of the world's custom types of events."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return default settings for a run, such as memory policies."""

    def narrate(self, ask: ScopeContext) -> Sequence[Report] | None:
        """Return the narrator's words after a step, from the memories of scopes; None if it read none.

        If it read any, the tick commits a checkpoint, since a repeated tick would read changed memories.
        """


State = TypeVar("State", bound=msgspec.Struct)


def read_dump(data: bytes, state: type[State], what: str) -> State:
    """Return the state of a world from its dump.

    Args:
        what: the expected world, such as "a town".

    Raises:
        ValueError: if it is not a dump of that world.
    """
    try:
        return typed_json.decode(data, state)
    except msgspec.MsgspecError as error:
        raise ValueError(f"this is not a dump of {what}: {error}") from error


def energy(value: int) -> Meter:
    """Return how rested an agent is, from 0 to 100."""
    return Meter(value, low="exhausted", need="low")


def fed(value: int) -> Meter:
    """Return how well fed an agent is, from 0 to 100, as the streams design measures hunger."""
    return Meter(value, low="starving", need="low")


class SteppedWorld:
    """The parts of a world (`World`) that follow from its state, a msgspec struct with the pending `effects`."""

    minutes_per_tick: int
    _state: Any

    @property
    def ticks_per_day(self) -> int:
        return -(-DAY // self.minutes_per_tick)

    def take_effects(self) -> list[Effect]:
        """Return the status changes of plan items since the last call."""
        taken, self._state.effects = self._state.effects, []
        return taken  # type: ignore[no-any-return]

    def dump(self) -> bytes:
        return msgspec.json.encode(self._state)


class _State(msgspec.Struct, frozen=True, kw_only=True):
    owners: dict[str, Profile]
    locations: tuple[Location, ...]


class StillWorld(SteppedWorld):
    """A world for the tick loop (`cogitate.simulation.world.World`) with only owners and places.

    An import commits its dump with the memories; a resumed run loads it.
    """

    _state: _State

    def __init__(
        self,
        owners: Mapping[str, Profile] | None = None,
        locations: Sequence[Location] = (),
        *,
        minutes_per_tick: int = 1,
        start_minute: int = 0,
    ) -> None:
        self._state = _State(owners=dict(owners or {}), locations=tuple(locations))
        self.minutes_per_tick = minutes_per_tick
        self.start_minute = start_minute

    @property
    def locations(self) -> tuple[Location, ...]:
        return self._state.locations

    def owners(self) -> Mapping[str, Profile]:
        return self._state.owners

    def brief(self, owner: str) -> dict[str, Any]:
        """Return an owner's home as its place, even for an owner that another host added."""
        profile = self._state.owners.get(owner)
        return {"location": profile.home if profile else "", "activity": ""}

    def apply(self, change: AppliedChange) -> None:
        """Ignore a change."""

    def step(self, tick: int, minute: int) -> Sequence[Report]:
        """Return no reports."""
        return ()

    def take_effects(self) -> list[Effect]:
        return []

    def dump(self) -> bytes:
        return msgspec.json.encode(self._state, order="deterministic")

    def load(self, data: bytes) -> None:
        """Continue with the owners and places of a dump.

        Raises:
            ValueError: if it is the dump of another kind of world, such as that of the host that resumed the run.
        """
        self._state = read_dump(data, _State, "a world in which nothing happens")
