"""What the tick loop asks of a world. Any object with these members will do; nothing is inherited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memory.effects import Effect
from memory.entry import Entry
from memory.profile import Location, Profile


class AppliedChange(Protocol):
    """One effect that was applied at a boundary, as a world is told of it."""

    @property
    def owner(self) -> str:
        """Whose memory changed."""

    @property
    def effect(self) -> Effect:
        """What was applied."""

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

    def step(self, tick: int, minute: int) -> list[tuple[str, Entry]]:
        """Move to game time `minute` and return what was observed: owners and unnumbered entries, in order."""

    def take_effects(self) -> list[Effect]:
        """The effects that the last step asks for, such as a plan item that became active; the list is emptied."""

    def dump(self) -> bytes:
        """Return the whole mutable state as JSON; a world that loads it continues identically."""

    def load(self, data: bytes) -> None:
        """Restore what `dump` returned.

        Raises:
            ValueError: when the data is not a dump of such a world.
        """
