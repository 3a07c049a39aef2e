"""The calls that a world makes in its turn. Each is validated at once, and a refused call changes nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cogitate.memory.clock import Clock
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, UsageError, quoted
from cogitate.memory.profile import Profile
from cogitate.memory.retrieval.similarity import Similarity
from cogitate.memory.routing.context import MAX_ENTRIES, scope_context
from cogitate.memory.routing.routing import Event, Routed, Routing, Strategy, route
from cogitate.memory.routing.scopes import WORLD, location_owner
from cogitate.memory.view import MemoryView
from cogitate.scheduler.engine.run_data import WorldTurn, copied
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.triggers import location_left, story_event
from cogitate.scheduler.intake.checks import (
    MAX_LABEL,
    MAX_NUMBERS,
    MAX_OWNER,
    check_integer,
    check_owner,
    check_params,
    check_profile,
    check_request,
    check_text,
    check_texts,
    check_within,
    near_owners,
    owner_called,
    reason,
)
from cogitate.scheduler.intake.effects import check_effect
from cogitate.scheduler.intake.kind_effects import no_such_owner
from cogitate.scheduler.intake.observations import Observation, check_entry, check_event
from cogitate.scheduler.journal.changes import WorldChange
from cogitate.scheduler.tick.doubts import Doubts
from cogitate.scheduler.tick.world_changes import WorldChanges, with_fields
from cogitate.tasks.integrate import asks_for_integration
from cogitate.tasks.job import JobKey, Reads, Request, job_id

MAX_STATE = 500_000_000  # bytes of a world's state; Redis takes no larger value
MAX_KIND = 100  # characters of the kind of a story event
MAX_RELATED = 100  # keys of related objects


class NoSuchOwner(InputError):
    """A host names an owner that its run does not have."""

    def __init__(self, owner: object, near: str = "") -> None:
        self.missing = no_such_owner(owner)  # for hosts in other languages
        meant = f"; did you mean {quoted(near)}?" if near else ""
        super().__init__(f"{self.missing}{meant}; owners join with loop.join(owner, profile)")


class Mark(NamedTuple):
    """A copy of a turn at one moment."""

    turn: WorldTurn
    checkpoint: bytes | None


class WorldCalls:
    """The calls of a world's turn: validates them and collects them until the tick takes them.

    `cogitate.hosting.body_calls.BodyCalls`, which forwards them, documents the calls.
    """

    def __init__(self, state: RunState, routing: Routing, changes: Iterable[WorldChange] = ()) -> None:
        self.present: int  # the tick of the turn; unset before the first `open`
        self._minute: int  # its game time
        self._clock: Clock
        self.routing = routing
        self._changes = WorldChanges(state, changes)
        self.is_open = False  # whether the world has its turn
        self.boundary = 0  # the last tick whose boundary has passed; memory views show its state
        self.redelivering = False  # whether a committed tick runs again; owners that have left since may be named
        self._state = state
        self._turn = WorldTurn()
        self._checkpoint: bytes | None = None
        self._process = os.getpid()
        self._thread = threading.get_ident()
        self.doubts = Doubts(state, self._is_here)

    def open(self, tick: int) -> None:
        """Give the world its turn at a tick."""
        self.present, self.is_open = tick, True
        self._clock = self._state.facts.clock
        self._minute = self._clock.minute(tick)
        self.hand_over()
        if not self.redelivering:
            self.boundary = tick
        self._changes.begin(tick, self)

    def hand_over(self) -> None:
        """Give the turn to the present thread."""
        self._thread = threading.get_ident()

    def take(self) -> tuple[WorldTurn, bytes | None]:
        """Return the world's turn, and its checkpoint if it gave one; forget both."""
        self._changes.end(self)
        self.doubts.look_at_owners(self._turn.joins)
        taken = self._turn, self._checkpoint
        self._turn, self._checkpoint = WorldTurn(), None
        return taken

    @property
    def has_checkpoint(self) -> bool:
        """Return whether the world has given a checkpoint in this turn."""
        return self._checkpoint is not None

    def mark(self) -> Mark:
        """Return a copy of the present turn for `back_to`."""
        return Mark(copied(self._turn), self._checkpoint)

    def back_to(self, mark: Mark) -> None:
        """Undo the world's calls since a mark."""
        self._turn, self._checkpoint = copied(mark.turn), mark.checkpoint

    def observe(self, owner: str, entry: Entry | Observation | Mapping[str, object], *, of_event: bool = False) -> bool:
        """Collect an observation, and return whether the owner will remember it; a fork may drop it."""
        self.check_turn()
        known = self.known(owner)
        now = self._minute
        checked = check_entry(known, entry, now, self._clock)
        length, most = len(checked.text), self._state.rules.max_text
        if length > most:
            raise InputError(
                f"observation for {quoted(known)}: its text has {length:,} characters; this run takes at most {most:,} "
                "(`max_text`)"
            )
        if not self.redelivering:
            self.doubts.look(known, checked, self.present, now, of_event=of_event)
        kept = self._changes.remembered(known, checked)
        if kept is not None:
            self._turn.observed.append((known, kept))
        return kept is not None

    def request(
        self,
        kind: str,
        owner: str,
        params: Mapping[str, object] | None = None,
        *,
        numbers: tuple[int, ...] | None = None,
        reads: tuple[Reads, ...] = (),
        priority: int = 0,
        within: int | None = None,
    ) -> str:
        """Collect a request for a job, and return the job's id."""
        self.check_turn()
        known = self.known(owner)
        request = Request(
            kind=kind,
            owner=known,
            numbers=numbers,
            reads=reads,
            priority=priority,
            within=check_within(within),
            params={} if params is None else params,  # type: ignore[arg-type]  # checked below
        )
        checked = check_request(request, [kind.name for kind in self._state.rules.kinds])
        check_params(checked, self._state.rules.kind_of(checked.kind))
        for other in checked.reads:
            self.known(other.owner)
        if checked.kind in self._state.rules.disabled:
            raise InputError(f"kind {quoted(kind)} is switched off in this run: its settings name it in `disable`")
        slot, turn = (checked.kind, checked.owner), self._turn
        key = JobKey(self.present, *slot, turn.slots[slot], 0)
        turn.slots[slot] += 1
        turn.requests.append(checked)
        return job_id(self._state.run, key)

    def apply(self, effect: Effect) -> None:
        self.check_turn()
        checked = check_effect(effect)
        if checked.owner not in self._state.retired:  # the boundary counts an effect for a former owner as refused
            self.known(checked.owner)
        self._turn.world_effects.append(checked)

    def join(self, owner: str, profile: Profile) -> None:
        self.check_turn()
        self.add_owner(check_owner(owner), profile)

    def change_profile(self, owner: str, fields: Mapping[str, object]) -> None:
        """Collect a change of an owner's profile from this tick on."""
        self.check_turn()
        known = self.known(owner)
        before = self._turn.profiles.get(known) or self._state.profiles.get(known) or self._turn.joins[known]
        self._turn.profiles[known] = check_profile(known, with_fields(known, before, fields))

    def leave(self, owner: str) -> None:
        self.check_turn()
        known = self.known(owner)
        if known not in self._turn.leaves:
            self._turn.leaves.append(known)

    def checkpoint(self, data: bytes) -> None:
        self.check_turn()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError(f"checkpoint({quoted(data)}): give bytes, such as json.dumps(state).encode()")
        state = bytes(data)
        if len(state) > MAX_STATE:
            raise InputError(f"checkpoint: the state has {len(state):,} bytes, at most {MAX_STATE:,} fit")
        self._checkpoint = state

    def event(self, owner: str, event: Event | Mapping[str, object]) -> Strategy:
        """Collect an event for an owner's memory, and return its strategy."""
        self.check_turn()
        known = self.known(owner)
        what = check_event(known, event)
        if what.group:
            self.known(what.group)
        routed = self._routed(known, what)
        if self.observe(known, routed.entry, of_event=True) and routed.strategy == "integrate":
            self.apply(asks_for_integration(known, self.present))
        return routed.strategy

    def broadcast(self, event: Event | Mapping[str, object], also: Iterable[str] = ()) -> dict[str, Strategy]:
        """Collect an event for its speaker, its group and the owners that it names; return the strategy of each."""
        self.check_turn()
        what = self._with_owners(check_event("all owners concerned", event))
        others = check_texts("also", also, most=MAX_OWNER)
        for owner in others:
            self.known(owner)
        named = (what.speaker, what.group, *what.subjects)
        hearers = [owner for owner in dict.fromkeys((*named, *others)) if self._is_here(owner)]
        if not hearers:
            raise InputError(
                f"event {quoted(what.kind)} concerns no owner of this run: its speaker is {quoted(what.speaker)}; name "
                "an owner as its speaker, group or subject, or with also="
            )
        return {owner: self.event(owner, what) for owner in hearers}

    def _with_owners(self, event: Event) -> Event:
        """Return an event with owners in place of their display names, and warn once about each unknown name."""
        owners = {name: self._as_owner(name) for name in (event.speaker, event.group, *event.subjects) if name}
        if not self.redelivering:
            self.doubts.look_at_names(name for name, owner in owners.items() if not self._is_here(owner))
        if all(name == owner for name, owner in owners.items()):
            return event
        subjects = tuple(dict.fromkeys(owners.get(name, name) for name in event.subjects))
        speaker, group = owners.get(event.speaker, event.speaker), owners.get(event.group, event.group)
        return event.model_copy(update={"speaker": speaker, "group": group, "subjects": subjects})

    def _routed(self, owner: str, event: Event) -> Routed:
        """Return the entry of an event, with the name from its speaker's profile.

        Raises:
            InputError: for a type of event without a rule.
        """
        profile = self._turn.joins.get(event.speaker) or self._state.profiles.get(event.speaker)
        named = event if event.name or profile is None else event.model_copy(update={"name": profile.name[:200]})
        try:
            routed = route(named, minute=self._minute, routing=self.routing)
        except ValueError as error:
            raise InputError(f"event for {quoted(owner)}: {reason(error)}") from error
        return routed

    def left_location(self, location: str, present: Iterable[str] = ()) -> None:
        self.check_turn()
        place = check_text("location", location, MAX_OWNER)
        npcs = check_texts("present", present, most=MAX_OWNER)
        for owner in (WORLD, location_owner(place), *npcs):
            self.known(owner)
        self._turn.triggers += location_left(place, npcs, self._minute)

    def story_event(
        self, kind: str, tags: Sequence[str] = (), related: Mapping[str, str | Sequence[str]] | None = None
    ) -> None:
        self.check_turn()
        name = check_text("kind of the story's event", kind, MAX_KIND)
        tagged = check_texts("tags", tags)
        concerned = _related({} if related is None else related)
        self.known(WORLD)
        self._turn.triggers.append(story_event(name, tagged, concerned, self._minute))

    def scope_context(self, location: str, present: Sequence[str] = (), count: int = MAX_ENTRIES) -> str:
        """Return the latest memories of a location, its NPCs and the world, as lines of a prompt."""
        self.check_process()
        place = check_text("location", location, MAX_OWNER)
        npcs = check_texts("present", present, most=MAX_OWNER)
        lines = check_integer("count", count, 0, MAX_NUMBERS)
        names = {owner: profile.name for owner, profile in self._state.profiles.items()}
        with self._state.facts.clock.in_force():
            return scope_context(self._state.streams, location=place, present=npcs, names=names, count=lines)

    def memory(self, owner: str, similarity: Similarity | None = None) -> MemoryView:
        self.check_process()
        known = self.known(owner)
        if similarity is not None and not callable(similarity):
            raise InputError(f"similarity is {quoted(similarity)}: give a function")

        def run() -> RunState:
            self.check_process()
            return self._state

        return MemoryView(known, lambda: run().memory(known), lambda: run().present(self.boundary), similarity)

    def add_owner(self, owner: str, profile: Profile) -> None:
        """Let an owner join with this tick; this may precede the world's first turn.

        Raises:
            InputError: for the name of a present or a former owner.
        """
        here = owner in self._state.streams and not self.redelivering
        if here or owner in self._turn.joins:
            raise InputError(f"owner {quoted(owner)} is in this run already")
        if owner in self._state.retired and not self.redelivering:
            raise InputError(f"owner {quoted(owner)} has left this run, its stream is retired; join under another name")
        self._turn.joins[owner] = check_profile(owner, profile)

    def known(self, owner: object) -> str:
        """Return the name of an owner of this run.

        Raises:
            NoSuchOwner: if the run has no owner of that name.
        """
        there = isinstance(owner, str) and self._is_here(owner)
        if not there and not (self.redelivering and isinstance(owner, str)):
            raise NoSuchOwner(owner, self._nearest(owner) if isinstance(owner, str) else "")
        return str.__str__(owner)

    def _nearest(self, owner: str) -> str:
        """Return the owner that a name may mean: the one with this display name, or else with the closest name."""
        called = self._called(owner)
        near = near_owners(owner[:MAX_OWNER], {*self._state.streams, *self._turn.joins})
        return called or (near[0] if near else "")

    def _called(self, name: str) -> str:
        return owner_called(name, {**self._state.profiles, **self._turn.joins})

    def _as_owner(self, name: str) -> str:
        """Return the only owner with this display name; a name that is an owner, or unknown, stays unchanged."""
        return name if not name or self._is_here(name) else self._called(name) or name

    def _is_here(self, owner: str) -> bool:
        return owner in self._state.streams or owner in self._turn.joins

    # -- process and thread --------------------------------------------------------------------------

    @property
    def forked(self) -> bool:
        """Return whether this process is a fork of the one that opened the loop."""
        return os.getpid() != self._process

    def check_process(self) -> None:
        """Refuse a fork of the process that opened the loop.

        Raises:
            UsageError: naming both processes.
        """
        if self.forked:
            raise UsageError(
                f"process {self._process} opened this loop, and process {os.getpid()} is a fork of it: use the loop "
                "only in the process that opened it, and pass results back to that process"
            )

    def check_turn(self) -> None:
        """Refuse a call outside of the world's turn.

        Raises:
            UsageError: if no tick is open, or another thread has received it.
        """
        self.check_process()
        if not self.is_open:
            raise UsageError(
                f"run {self._state.run!r} has no open tick: call this in the body of `for tick in loop`, so that it "
                "takes effect with that tick; for a Mesa model, call it in `sees`"
            )
        if threading.get_ident() != self._thread:
            raise UsageError(
                f"run {self._state.run!r}: thread {threading.current_thread().name!r} made this call, but another "
                f"thread received tick {self.present}: collect values in a queue.SimpleQueue, for example, and report "
                "them in the body of the loop"
            )


def _related(related: object) -> dict[str, str | tuple[str, ...]]:
    """Return the ids of a story event's related objects, after validating them.

    Raises:
        InputError: naming the key whose value is neither an id nor a list of ids.
    """
    if not isinstance(related, Mapping) or len(related) > MAX_RELATED:
        raise InputError(f"related is {quoted(related)}: give a dict of ids, such as {{'quest_id': 'q7'}}")
    ids: dict[str, str | tuple[str, ...]] = {}
    for key, value in related.items():
        name = check_text("related: one of its keys", key, MAX_KIND)
        what = f"related: {quoted(name)}"
        ids[name] = check_text(what, value, MAX_LABEL) if isinstance(value, str) else check_texts(what, value)
    return ids
