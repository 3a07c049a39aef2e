"""The interface of a world to the tick loop. Any object with these members will do; nothing is inherited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import Event, EventRule, Strategy


@dataclass(frozen=True)
class Heard:
    """An event that reaches everybody whom it concerns (`TickLoop.broadcast`)."""

    event: Event
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocationLeft:
    """The players leave a location (`TickLoop.left_location`)."""

    location: str
    present: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoryEvent:
    """The story moves on (`TickLoop.story_event`)."""

    kind: str
    tags: tuple[str, ...] = ()
    related: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


#: One report of a world in its turn: what an owner observed, an event for one owner or for all concerned, or a trigger.
Report = tuple[str, Entry | Event] | Heard | LocationLeft | StoryEvent
#: Returns the latest memories of a location, the people present and the world (`TickLoop.scope_context`).
ScopeContext = Callable[[str, Sequence[str]], str]


class AppliedChange(Protocol):
    """One effect that was applied at a boundary, as a world is told of it."""

    @property
    def owner(self) -> str:
        """Whose memory changed."""

    @property
    def effect(self) -> Effect:
        """Process an applied change."""

    @property
    def entry(self) -> Entry | None:
        """Return the numbered entry, when the effect appended one."""


class World(Protocol):
    """A world that can be stepped, saved and continued. It must be deterministic from its arguments and its dump."""

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
        """Return the profiles of all present; who joins or leaves between two ticks appears or disappears here."""

    def brief(self, owner: str) -> dict[str, Any]:
        """JSON facts of an owner now: "location" (id), "activity" (words), "status" (meters of 0 to 100), and "free"
        where the owner may be asked what to do next.

        Raises:
            KeyError: when there is no such owner.
        """

    def apply(self, change: AppliedChange) -> None:
        """Take notice of a change to an owner's memory: a new plan, an item's status, a message to the world."""

    def step(self, tick: int, minute: int) -> Sequence[Report]:
        """Move to game time `minute` and return what happened, in order: most often owners and unnumbered entries."""

    def take_effects(self) -> list[Effect]:
        """Return the effects that the last step asks for, such as a plan item that became active; empty the list."""

    def dump(self) -> bytes:
        """Return the whole mutable state as JSON; a world that loads it continues identically."""

    def load(self, data: bytes) -> None:
        """Restore what `dump` returned.

        Raises:
            ValueError: when the data is not a dump of such a world.
        """


@runtime_checkable
class NarratedWorld(World, Protocol):
    """A world with a narrator, custom event types, and settings for its owners' memories."""

    @property
    def event_types(self) -> Mapping[str, Strategy | EventRule]:
        """Return the rules of the world's own types of events."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return settings, such as memory policies, for a run whose own settings do not name them."""

    def narrate(self, ask: ScopeContext) -> Sequence[Report] | None:
        """Return what the narrator tells after a step, from what the scopes remember; None if it has asked nothing.

        If it has, the tick commits a checkpoint: a repeated tick could not ask again, as memory has moved on by then.
        """
