"""What a host may say and read in the body of its loop: the calls of the public `TickLoop`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.retrieval.similarity import Similarity
from cogitate.memory.routing.routing import Event, Strategy
from cogitate.memory.routing.scope_context import MAX_ENTRIES
from cogitate.memory.view import MemoryView
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.tick.loop import RunLoop
from cogitate.tasks.job import Reads


class BodyCalls:
    """The calls of a loop's body: what happened in the world, what it requests, and what its owners remember."""

    _loop: RunLoop
    _similarity: Similarity | None  # of the settings' embeddings, for memory views

    def observe(self, owner: str, entry: Entry | Observation | Mapping[str, Any]) -> None:
        """Append what an owner perceived to its stream, with this tick.

        Its game time is at most a day after the tick's and thirty days before it.

        Raises:
            InputError: for an unknown owner, a malformed entry or one that is too long; nothing else is affected.
            UsageError: outside of the loop's body, as for each of these calls.
        """
        self._loop.calls.observe(owner, entry)

    def event(self, owner: str, event: Event | Mapping[str, Any]) -> Strategy:
        """Have an owner remember an event, and return how.

        "simple" appends it to the owner's stream with this tick, in the style and within the limits of the run's
        routing; "integrate" also works it into the owner's long-term summary later.

        Raises:
            InputError: for an unknown owner or group, a malformed event, or a type of event without a rule.
        """
        return self._loop.calls.event(owner, event)

    def broadcast(self, event: Event | Mapping[str, Any], also: Iterable[str] = ()) -> dict[str, Strategy]:
        """Have everybody whom an event concerns remember it, as `event` does for one owner; return how each does.

        It reaches its speaker, its group's shared history, and all of its subjects that are owners of this run.

        Args:
            also: further owners that hear of it, such as "world".

        Raises:
            InputError: as `event`, and for an event that concerns no owner of this run.
        """
        return self._loop.calls.broadcast(event, also)

    def left_location(self, location: str, present: Iterable[str] = ()) -> None:
        """Have a location (its id) that the players leave recount the visit, and so each NPC that was spoken of.

        They read the messages in the stream of the owner "world", where the host appends them with their location.

        Args:
            present: owners of the NPCs that are there.

        Raises:
            InputError: for an empty location, or when the location, an NPC or the world is no owner of this run.
        """
        self._loop.calls.left_location(location, present)

    def story_event(
        self, kind: str, tags: Sequence[str] = (), related: Mapping[str, str | Sequence[str]] | None = None
    ) -> None:
        """Have the world recount what has happened in the story since its last memory.

        Args:
            kind: "objective_completed", "quest_completed", "act_progressed", "location_cleared",
                "encounter_completed", or any other.
            related: the ids that it concerns: "quest_id", "encounter_id", "location_id", "npc_ids", or any other.

        Raises:
            InputError: for an empty kind, or when the world is no owner of this run.
        """
        self._loop.calls.story_event(kind, tags, related)

    def request(
        self,
        kind: str,
        owner: str,
        params: Mapping[str, Any] | None = None,
        *,
        numbers: tuple[int, ...] | None = None,
        reads: tuple[Reads, ...] = (),
        priority: int = 0,
        within: int | None = None,
    ) -> str:
        """Request a job outright, beside those of its kind's cadence, and return its id.

        One of the next ticks has the job's end in `tick.ended`, with this id.

        Args:
            params: parameters of the kind: `act` "location", "activity" and "status", `plan` "status" and "unfinished",
                `reflect` "since" and "status", other built-in kinds none; a kind of the host's own any.
            numbers: read just these entries of the owner; None: all live ones.
            reads: parts of other owners' streams to read as well.
            within: ticks after which the result is of no use any more; None: as the kind says. No model is asked whose
                answer would come later: the kind's heuristic applies by then.

        Raises:
            InputError: for an unknown kind or owner, or parameters that JSON cannot express or the kind does not know.
        """
        return self._loop.calls.request(
            kind, owner, numbers=numbers, reads=reads, priority=priority, params=params, within=within
        )

    def apply(self, effect: Effect) -> None:
        """Apply an effect of the world's own with this tick, such as a plan item's status.

        One whose precondition does not hold then is left out and counted as a warning.

        Raises:
            InputError: for a malformed effect.
        """
        self._loop.calls.apply(effect)

    def join(self, owner: str, profile: Profile) -> None:
        """Let an owner join with this tick.

        Raises:
            InputError: for a name that is no owner's, is taken, or belonged to an owner that has left.
        """
        self._loop.calls.join(owner, profile)

    def leave(self, owner: str) -> None:
        """Let an owner leave with this tick: the tick cancels its open jobs and retires its stream.

        Raises:
            InputError: for an unknown owner.
        """
        self._loop.calls.leave(owner)

    def checkpoint(self, data: bytes) -> None:
        """Keep the world's state with this tick; on resume the world is restored from the last one.

        Raises:
            InputError: for anything but bytes.
        """
        self._loop.calls.checkpoint(data)

    def scope_context(self, location: str, present: Sequence[str] = (), count: int = MAX_ENTRIES) -> str:
        """Return the latest memories of a location, of the NPCs that are there and of the world, as lines of a prompt.

        Raises:
            InputError: for an invalid location, NPC or number of lines.
        """
        return self._loop.calls.scope_context(location, present, count)

    def memory(self, owner: str, *, similarity: Similarity | None = None) -> MemoryView:
        """Return a read-only view of what an owner remembers, as of the last boundary, in the loop's body or outside.

        Nothing that is read changes the run. While a resumed loop hands ticks over again (`tick.replayed`), the view
        shows the memory of the last committed tick.

        Args:
            similarity: returns how similar each of the given entries is to a query, as embeddings of the host's own
                do; the profiles "default" and "dialogue", and a table that weighs "similarity", use it. None: the
                embeddings of the settings, if they name a model.

        Raises:
            InputError: for an unknown owner, or a similarity that is no function.
        """
        return self._loop.calls.memory(owner, self._similarity if similarity is None else similarity)
