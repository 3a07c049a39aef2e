"""The tick loop for worlds that discuss, vote and tell stories: events that are routed, locations that are left.

loop.event("agent:alice", Event(kind="discussion_statement", speaker="agent:bob", text="…"))
loop.observe("world", {"type": "message", "text": "…", "location": "inn", …})
loop.left_location("inn", present=["npc:bob"])
loop.story_event("quest_completed", related={"quest_id": "q7"})
prompt += loop.scope_context("inn", present=["npc:bob"])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory.errors import InputError, quoted
from memory.routing.routing import Event, Routing, Strategy, route
from memory.routing.scope_context import MAX_ENTRIES, scope_context
from memory.routing.scopes import WORLD, location_owner
from scheduler.engine.triggers import location_left, story_event
from scheduler.intake.checks import (
    MAX_LABEL,
    MAX_NUMBERS,
    MAX_OWNER,
    check_integer,
    check_text,
    check_texts,
    reason,
)
from scheduler.intake.observations import check_event
from scheduler.tick.leaving import LeavableLoop
from tasks.integrate import asks_for_integration

MAX_KIND = 100  # characters of what an event is called
MAX_RELATED = 100  # keys


class NarratedLoop(LeavableLoop):
    """A tick loop with words for what happens in a story."""

    routing = Routing()

    def event(self, owner: str, event: Event | Mapping[str, Any]) -> Strategy:
        """Something happened that an owner is to remember.

        It is appended to the owner's stream with this tick, in the style and within the limits of the run's routing;
        what is worth it is worked into the owner's long-term summary later. Returns which of the two will happen.

        Raises:
            InputError: for an unknown owner or group, a malformed event, or a type of event without a rule.
        """
        self._check_turn()
        known = self._known(owner)
        what = check_event(known, event)
        if what.group:
            self._known(what.group)
        try:
            routed = route(what, minute=self.mind.facts.minute(self.present), routing=self.routing)
        except ValueError as error:
            raise InputError(f"event for {quoted(known)}: {reason(error)}") from error
        self.observe(known, routed.entry)
        if routed.strategy == "integrate":
            self.ask(asks_for_integration(known, self.present))
        return routed.strategy

    def left_location(self, location: str, present: Iterable[str] = ()) -> None:
        """The players leave a location (its id): it recounts the visit, and so does each NPC that was spoken of.

        What was said is taken from the stream of the owner "world", where the host appends it with its location.

        Args:
            present: owners of the NPCs that are there.

        Raises:
            InputError: for an empty location, or when the location, an NPC or the world is no owner of this run.
        """
        self._check_turn()
        place = check_text("location", location, MAX_OWNER)
        npcs = check_texts("present", present, most=MAX_OWNER)
        for owner in (WORLD, location_owner(place), *npcs):
            self._known(owner)
        self._turn.triggers += location_left(place, npcs, self.mind.facts.minute(self.present))

    def story_event(
        self, kind: str, tags: Sequence[str] = (), related: Mapping[str, str | Sequence[str]] | None = None
    ) -> None:
        """The story went on: the world recounts what has happened since its last memory.

        Args:
            kind: "objective_completed", "quest_completed", "act_progressed", "location_cleared",
                "encounter_completed", or any other.
            related: ids of what it concerns: "quest_id", "encounter_id", "location_id", "npc_ids", or any other.

        Raises:
            InputError: for an empty kind, or when the world is no owner of this run.
        """
        self._check_turn()
        told = check_text("kind of the story's event", kind, MAX_KIND)
        tagged = check_texts("tags", tags)
        concerned = _related({} if related is None else related)
        self._known(WORLD)
        self._turn.triggers.append(story_event(told, tagged, concerned, self.mind.facts.minute(self.present)))

    def scope_context(self, location: str, present: Sequence[str] = (), count: int = MAX_ENTRIES) -> str:
        """The latest memories of a location, of the NPCs that are there and of the world, as lines of a prompt.

        Raises:
            InputError: for a location, an NPC or a number of lines that is none.
        """
        self._check_process()
        place = check_text("location", location, MAX_OWNER)
        npcs = check_texts("present", present, most=MAX_OWNER)
        lines = check_integer("count", count, 0, MAX_NUMBERS)
        names = {owner: profile.name for owner, profile in self.mind.profiles.items()}
        return scope_context(self.mind.streams, location=place, present=npcs, names=names, count=lines)


def _related(related: object) -> dict[str, str | tuple[str, ...]]:
    """Return what an event of the story concerns.

    Raises:
        InputError: naming the key whose value is no id and no list of ids.
    """
    if not isinstance(related, Mapping) or len(related) > MAX_RELATED:
        raise InputError(f"related is {quoted(related)}: give a dict of ids, such as {{'quest_id': 'q7'}}")
    found: dict[str, str | tuple[str, ...]] = {}
    for key, value in related.items():
        name = check_text("related: one of its keys", key, MAX_KIND)
        what = f"related: {quoted(name)}"
        found[name] = check_text(what, value, MAX_LABEL) if isinstance(value, str) else check_texts(what, value)
    return found
