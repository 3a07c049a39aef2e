"""The calls that a host makes in the body of its loop, and the properties that it can read at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn

from cogitate.hosting.opening import prior_now
from cogitate.hosting.tick_handover import AsyncTicks
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, UsageError, quoted
from cogitate.memory.profile import Profile
from cogitate.memory.retrieval.similarity import Similarity
from cogitate.memory.routing.context import MAX_ENTRIES
from cogitate.memory.routing.routing import Event, Strategy
from cogitate.memory.view import MemoryView
from cogitate.scheduler.budget.budget_lines import Spending, spending
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.journal.ends import JobEnd
from cogitate.scheduler.ledger.errors import LedgerUnavailable
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.tick.deciding import Deciding, Params
from cogitate.scheduler.tick.loop import RunLoop
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.tasks.job import Reads

#: Former attributes of a loop, each with its replacement.
FORMER = {
    "ask": "`loop.apply(effect)` applies an effect; `loop.request(kind, owner)` requests a job",
    "watchers": "give `TickLoop(watchers=…)`",
}


class BodyCalls:
    """A loop as its host uses it: to report on the world, request jobs and read the run."""

    settings: Settings
    _last_spending: Spending | None = None  # at the end of the loop
    _loop: RunLoop
    _async_ticks: AsyncTicks
    _similarity: Similarity | None  # by the settings' embeddings, for memory views

    def observe(self, owner: str, entry: Entry | Observation | Mapping[str, Any]) -> None:
        """Append an observation to an owner's stream with this tick.

        Only this owner remembers it. What a group or location remembers reaches no agent, so the first such call for
        each logs `observation.for_one_owner`: observe it for each agent, or `broadcast` an event that names them.

        Its game time must be from thirty days before the tick's to one day after it.

        Raises:
            InputError: for an unknown owner, a malformed entry or one that is too long; nothing else is affected.
            UsageError: outside of the loop's body, as from every call here.
        """
        self._loop.calls.observe(owner, entry)

    def event(self, owner: str, event: Event | Mapping[str, Any]) -> Strategy:
        """Record an event in an owner's memory, and return the mode: "simple" or "integrate".

        "simple" appends it to the owner's stream with this tick, in the style and within the limits of the run's
        routing; "integrate" also works it into the owner's long-term summary later.

        Raises:
            InputError: for an unknown owner or group, a malformed event, or a type of event without a rule.
        """
        return self._loop.calls.event(owner, event)

    def broadcast(self, event: Event | Mapping[str, Any], also: Iterable[str] = ()) -> dict[str, Strategy]:
        """Record an event, as `event` does, for each owner that it concerns; return the mode by owner.

        It reaches its speaker, its group's shared history, and all of its subjects that are owners of this run.

        Args:
            also: further owners that learn of it, such as "world".

        Raises:
            InputError: as `event`, and for an event that concerns no owner of this run.
        """
        return self._loop.calls.broadcast(event, also)

    def left_location(self, location: str, present: Iterable[str] = ()) -> None:
        """Report that the players left a location, given by its id: it and each NPC mentioned there recount the visit.

        Both read the visit's messages, which the host appends with their location to the stream of the owner "world".

        Args:
            present: owners of the NPCs at the location.

        Raises:
            InputError: for an empty location, or when the location, an NPC or the world is not an owner of this run.
        """
        self._loop.calls.left_location(location, present)

    def story_event(
        self, kind: str, tags: Sequence[str] = (), related: Mapping[str, str | Sequence[str]] | None = None
    ) -> None:
        """Report a story event: the world recounts what has happened in the story since its last memory.

        Args:
            kind: "objective_completed", "quest_completed", "act_progressed", "location_cleared",
                "encounter_completed", or any other.
            related: the ids that the event concerns: "quest_id", "encounter_id", "location_id", "npc_ids", or others.

        Raises:
            InputError: for an empty kind, or when the world is not an owner of this run.
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
        """Request a job in addition to those of its kind's cadence, and return its id.

        The job's end appears with this id in `tick.ended` of a later tick.

        Args:
            params: parameters of the kind: `act` "location", "activity" and "status", `plan` "status" and "unfinished",
                `reflect` "since" and "status", other built-in kinds none; a host's kind may take any.
            numbers: read only these entries of the owner; None: all live ones.
            reads: parts of other owners' streams to read as well.
            within: ticks after which the result is useless; None: as the kind declares. If no model would answer in
                time, none is asked, and the kind's heuristic applies within that time.

        Raises:
            InputError: for an unknown kind or owner, or parameters that JSON cannot express or the kind does not know.
        """
        return self._loop.calls.request(
            kind, owner, numbers=numbers, reads=reads, priority=priority, params=params, within=within
        )

    def decide(
        self,
        kind: str,
        owners: Iterable[str],
        params: Params = None,
        *,
        priority: int = 0,
        within: int | None = None,
    ) -> list[JobEnd]:
        """Request a job for each owner, advance ticks until all these jobs have ended, and return their ends.

        The loop commits the present tick, and the body continues in the tick whose boundary brought the last end:
        `open_tick`, whose `applied` and `ended` hold everything since the tick before, including other jobs. A job ends
        at its due tick at the latest; a deferred one with its last trial. Call `checkpoint` after the last decision in
        a body.

        Args:
            owners: one job for each; the ends come in this order. Without owners no tick passes.
            params: as for `request`, the same for each job; or a function that returns them for an owner.
            priority, within: as for `request`.

        Raises:
            InputError: as `request`; then no job is requested, and the tick stays open.
            UsageError: outside of the loop's body, in its last tick, after `stop`, after a checkpoint in this body,
                from a task that iterates with `async for` (await `decide_async` there), and when the run ends first.
            WorldDiverged: when a resumed world decides on jobs that the journal does not have.
            Fenced, LedgerUnavailable: when a tick cannot be committed, which ends the loop.
        """
        self._loop.calls.check_turn()
        if self._async_ticks.handed == self._loop.calls.present:
            raise UsageError("decide would block the event loop: write `await loop.decide_async(…)`")
        deciding = Deciding(self._loop, kind, owners, params, priority=priority, within=within)
        while not deciding.done:
            deciding.take(self._loop.ticks.advance())
        return deciding.ends()

    async def decide_async(
        self,
        kind: str,
        owners: Iterable[str],
        params: Params = None,
        *,
        priority: int = 0,
        within: int | None = None,
    ) -> list[JobEnd]:
        """Do as `decide` while other tasks run. A cancelled task may iterate again; the next tick has the ends."""
        deciding = Deciding(self._loop, kind, owners, params, priority=priority, within=within)
        while not deciding.done:
            deciding.take(await self._async_ticks.step(self._loop.ticks.advance))
        return deciding.ends()

    @property
    def open_tick(self) -> Tick:
        """The tick that is open now; after `decide`, the one in which the body continues.

        Raises:
            UsageError: outside of the loop's body.
        """
        self._loop.calls.check_turn()
        return self._loop.ticks.seen()

    def apply(self, effect: Effect) -> None:
        """Apply an effect with this tick, such as a change to a plan item's status.

        If its precondition does not hold at that point, the run drops the effect and counts a warning.

        Raises:
            InputError: for a malformed effect.
        """
        self._loop.calls.apply(effect)

    def join(self, owner: str, profile: Profile) -> None:
        """Add an owner to the run with this tick.

        Raises:
            InputError: for an invalid owner name, or one that is taken or belonged to an owner that has left.
        """
        self._loop.calls.join(owner, profile)

    def leave(self, owner: str) -> None:
        """Remove an owner from the run with this tick, which cancels its open jobs and retires its stream.

        Raises:
            InputError: for an unknown owner.
        """
        self._loop.calls.leave(owner)

    def checkpoint(self, data: bytes) -> None:
        """Store the world's state with this tick; a resumed run hands back the latest one as `restored`.

        Raises:
            InputError: for anything but bytes.
        """
        self._loop.calls.checkpoint(data)

    def scope_context(self, location: str, present: Sequence[str] = (), count: int = MAX_ENTRIES) -> str:
        """Return the latest memories of a location, of the NPCs at it and of the world, as lines for a prompt.

        Raises:
            InputError: for an invalid location, NPC or number of lines.
        """
        return self._loop.calls.scope_context(location, present, count)

    def memory(self, owner: str, *, similarity: Similarity | None = None) -> MemoryView:
        """Return a read-only view of an owner's memory as of the last boundary, in the loop's body or outside it.

        Reading never changes the run. While a resumed loop repeats ticks (`tick.replayed`), the view shows the memory
        as of the last committed tick.

        Args:
            similarity: returns the similarity of each given entry to a query, for example from the host's embeddings;
                used by the profiles "default" and "dialogue" and by a table of weights with "similarity". None: the
                settings' embeddings, if they name a model.

        Raises:
            InputError: for an unknown owner, or a similarity that is not a function.
        """
        return self._loop.calls.memory(owner, self._similarity if similarity is None else similarity)

    # -- properties, at any time ---------------------------------------------------------------------

    @property
    def tick(self) -> int:
        """The number of the last committed tick."""
        return self._loop.tick

    @property
    def over(self) -> bool:
        """Return whether the last tick has passed, this host has left the run, or an operator has ended it."""
        return self._loop.over

    @property
    def digest(self) -> str:
        """The digest of the run at the last committed tick."""
        return self._loop.digest

    @property
    def restored(self) -> bytes | None:
        """The world's last checkpoint, or None."""
        return self._loop.restored

    @property
    def checkpoint_tick(self) -> int:
        """The tick that committed the world's last checkpoint; 0: no checkpoint."""
        return self._loop.checkpoint_tick

    @property
    def spent(self) -> Spending:
        """The calls, tokens and money that the run has spent so far, and the state of each of its limits.

        It counts calls when workers report them, so a world that must repeat its ticks must not depend on it. If the
        loop's own Redis has ended with the loop, it returns the spending at that time.

        Raises:
            LedgerUnavailable: when Redis does not answer.
        """
        tick, minute = self._loop.tick, self.state.facts.minute(self._loop.tick)
        try:
            return spending(self.ledger.store, self.state.view, tick, minute)
        except LedgerUnavailable:
            if self._last_spending is None:
                raise
            return self._last_spending

    def _keep_spending(self) -> None:
        """Keep the spending while the loop's Redis still answers."""
        with suppress(LedgerUnavailable):
            self._last_spending = self.spent

    @property
    def ended(self) -> Counter[tuple[str, str, str]]:
        """The number of jobs that ended in this process, by kind, source and reason."""
        return self._loop.ended.counts

    @property
    def stopping(self) -> bool:
        """Whether the current tick is this host's last."""
        return self._loop.stopping

    @property
    def tick_seconds(self) -> Sequence[float]:
        """The seconds of the host's own work on each of the newest ticks, without waiting and the world's turn."""
        return self._loop.tick_seconds

    @property
    def behind(self) -> float:
        """The number of ticks by which the newest tick is behind the pace; 0 without a pace."""
        return 0.0 if self._loop.pace is None else self._loop.pace.behind

    @property
    def ledger(self) -> HostLedger:
        """The ledger of the run."""
        return self._loop.ledger

    @property
    def state(self) -> RunState:
        """The state of the run in memory. Read-only."""
        return self._loop.state

    def change_pace(self, tick_rate: float) -> None:
        """Change the rate of a paced run, in ticks a second, from the next tick on.

        The run learns its models' latencies again, since it counts them in ticks; so does a resume at another rate.

        Raises:
            InputError: when the run has no pace, or the rate is invalid.
        """
        if self._loop.pace is None:
            raise InputError(f"change_pace({quoted(tick_rate)}): the run has no pace: set `tick_rate`")
        if isinstance(tick_rate, bool) or not isinstance(tick_rate, int | float) or not 0 < tick_rate < inf:
            raise InputError(f"change_pace({quoted(tick_rate)}): give ticks a second, more than 0")
        self._loop.pace.change(tick_rate)
        if self.settings.adapts():
            settings = self.settings.model_copy(update={"tick_rate": tick_rate})
            self.state.latencies.begin_anew(prior_now(self.ledger.client, settings))

    if not TYPE_CHECKING:  # hidden, so that a type checker finds misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            advice = f": {FORMER[name]}" if name in FORMER else ""
            message = f"{type(self).__name__!r} object has no attribute {name!r}{advice}"
            raise AttributeError(message, name=name, obj=self)
