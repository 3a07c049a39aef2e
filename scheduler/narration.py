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

from pydantic import ValidationError

from memory.routing import Event, Routing, Strategy, route
from memory.scope_context import MAX_ENTRIES, scope_context
from memory.scopes import WORLD, location_owner
from scheduler.intake import InputError
from scheduler.leaving import LeavableLoop
from scheduler.triggers import location_left, story_event
from tasks.integrate import asks_for_integration


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
        minute = self.mind.facts.minute(self.present)
        try:
            what = event if isinstance(event, Event) else Event.model_validate(event)
            routed = route(what, minute=minute, routing=self.routing)
        except ValidationError as error:
            found = error.errors()[0]
            where = ".".join(str(part) for part in found["loc"])
            raise InputError(
                f"event for {owner[:80]!r}: {where} {str(found['input'])[:80]!r}: {found['msg']}"
            ) from error
        except ValueError as error:
            raise InputError(f"event for {owner[:80]!r}: {error}") from error
        if what.group:
            self._known(what.group)
        self.observe(owner, routed.entry)
        if routed.strategy == "integrate":
            self.ask(asks_for_integration(owner, self.present))
        return routed.strategy

    def left_location(self, location: str, present: Iterable[str] = ()) -> None:
        """The players leave a location (its id): it recounts the visit, and so does each NPC that was spoken of.

        What was said is taken from the stream of the owner "world", where the host appends it with its location.

        Args:
            present: owners of the NPCs that are there.

        Raises:
            InputError: for an empty location, or when the location, an NPC or the world is no owner of this run.
        """
        if not location:
            raise InputError("a location that is left needs an id")
        npcs = list(present)
        for owner in (WORLD, location_owner(location), *npcs):
            self._known(owner)
        self._turn.triggers += location_left(location, npcs, self.mind.facts.minute(self.present))

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
        if not kind:
            raise InputError("an event of the story needs a kind")
        self._known(WORLD)
        self._turn.triggers.append(story_event(kind, tags, related or {}, self.mind.facts.minute(self.present)))

    def scope_context(self, location: str, present: Sequence[str] = (), count: int = MAX_ENTRIES) -> str:
        """The latest memories of a location, of the NPCs that are there and of the world, as lines of a prompt."""
        names = {owner: profile.name for owner, profile in self.mind.profiles.items()}
        return scope_context(self.mind.streams, location=location, present=present, names=names, count=count)
