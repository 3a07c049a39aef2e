"""Parts for the input of a tick: owners that join, leave or change, operators' requests, effects, observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry, rating
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import receive
from cogitate.memory.profile import Profile
from cogitate.memory.routing.history import is_shared
from cogitate.memory.routing.repeats import RepeatIndex, count_repeat
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.lines import Repeat
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import chunked
from cogitate.tasks.heuristics.thinking_language import language_of_profiles
from cogitate.tasks.job import JobKey


class Owners(Part):
    """Lets owners join and leave, and changes profiles."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._writes: list[Write] = []
        self._changed_facts = False

    def end(self, tick: TickState) -> None:
        """Let owners join and leave. Cancel the jobs that read a leaver's memory."""
        state, joins, leaves = self._state, dict(sorted(tick.turn.joins.items())), sorted(tick.turn.leaves)
        profiles = {owner: profile for owner, profile in sorted(tick.turn.profiles.items()) if owner not in leaves}
        self._changed_facts = self._join(tick.number, joins, profiles)
        for owner in leaves:
            tick.cancel([key for key, item in state.open.items() if any(r.owner == owner for r in item.job.reads)])
            state.deferred = [waiting for waiting in state.deferred if waiting.request.owner != owner]
            state.retired.add(owner)
        tick.core["unread"] = self._leave_out()
        tick.core["joined"] = tuple(joins.items())
        tick.core["left"] = tuple(leaves)
        tick.core["profiled"] = tuple(profiles.items())
        tick.core["facts"] = state.facts if self._changed_facts else None
        written = (joins | profiles).items()
        self._writes = [Write("HSET", "owners", (owner, msgspec.json.encode(profile))) for owner, profile in written]
        for owner in leaves:
            self._writes += [Write("HDEL", "owners", (owner,)), Write("HSET", "retired", (owner, tick.number))]

    def _join(self, tick: int, joins: dict[str, Profile], profiles: dict[str, Profile]) -> bool:
        """Add owners, change profiles, and return whether the facts have changed."""
        state = self._state
        for owner, profile in profiles.items():
            state.profiles[owner] = profile
            state.cadence.touch(owner)
        if not (joins or profiles) and state.facts_at.get(state.facts_version) is state.facts:
            return False
        for owner, profile in joins.items():
            state.streams[owner] = Stream(owner)
            state.profiles[owner] = profile
            state.cadence.touch(owner)
        named = {owner: state.profiles[owner].name for owner in sorted(state.profiles)}
        agents = {owner: name for owner, name in named.items() if owner.startswith("agent:")}
        others = {owner: name for owner, name in named.items() if owner not in agents}
        shared = {owner: state.profiles[owner] for owner in others if is_shared(owner)}
        state.facts = msgspec.structs.replace(
            state.facts,
            names=agents,
            scope_names=others,
            routines={owner: profile.routine for owner, profile in shared.items() if profile.routine},
            languages={owner: profile.language for owner, profile in shared.items() if profile.language},
            spoken=language_of_profiles(state.profiles[owner] for owner in sorted(state.profiles)),
        )
        state.facts_version = tick
        state.facts_at[tick] = state.facts
        return True

    def _leave_out(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the unreadable entries of a resumed run for the journal of its first tick. A second call has none."""
        state = self._state
        unread: dict[str, list[int]] = {}
        for entry in state.left_out:
            unread.setdefault(entry.owner, []).append(entry.number)
            state.warnings["memory.unreadable"] += 1
        state.left_out = []
        return tuple((owner, tuple(sorted(numbers))) for owner, numbers in sorted(unread.items()))

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        state = self._state
        writes, self._writes = self._writes, []
        if self._changed_facts:
            writes.append(Write("HSET", "facts", (state.facts_version, msgspec.json.encode(state.facts))))
            writes += chunked("HDEL", "facts", list(state.take_stale_facts()))
            self._changed_facts = False
        return writes


class Steered(Part):
    """Applies operators' requests, and runs the controller of the cadence."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def begin(self, tick: TickState) -> None:
        """Show the controller how jobs have ended at the boundary."""
        self._state.steering.throttle.see((closing.ended for closing in tick.closings), tick.number)

    def end(self, tick: TickState) -> None:
        """Apply operators' requests and the controller's step. A cancelled run drops its jobs and deferred requests."""
        state, steering = self._state, self._state.steering
        for owner in tick.turn.leaves:
            steering.throttle.postponing.forget(owner)
        before = steering.mode
        tick.core["controls"] = steering.take(tick.controls, tick.number, tick.minute, partial(self._call_off, tick))
        tick.core["stepped"] = steering.throttle.step(state.view, tick.minute, state.facts.minute(tick.number - 1))
        if before == "draining" and steering.mode in ("running", "paused"):
            state.touch_all()
        if steering.mode == "cancelled":
            tick.cancel(state.open)
            state.deferred = []

    @staticmethod
    def _call_off(tick: TickState, keys: Iterable[JobKey], because: str) -> tuple[int, int]:
        """Cancel the admitted jobs among these.

        Returns:
            The number of cancelled jobs, and of open jobs that already wait for their heuristics.
        """
        items = {key: item for key in keys if (item := tick.run.open.get(key)) is not None}
        admitted = [key for key, item in items.items() if item.admitted]
        tick.called_off += tick.cancel(admitted, because)
        return len(admitted), len(items) - len(admitted)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        return self._state.steering.take_writes()

    def load(self, store: RunStore) -> None:
        self._state.steering.load(store)


class Remembered(NamedTuple):
    """The observations of a tick: appended, waiting or counted as repeats."""

    observed: tuple[tuple[str, Entry], ...]  # appended, in this order
    waiting: tuple[tuple[str, Entry], ...]  # waiting in the head for a free cell, in this order
    repeated: tuple[Repeat, ...]


class Remembering(Part):
    """Appends observations to memory. Its indexes are caches, rebuilt from the streams."""

    def __init__(self, *, coalesce: bool) -> None:
        self._coalesce = coalesce
        self._indexes: dict[str, RepeatIndex | None] = {}  # None: the owner's policy keeps each statement
        self._limits: MemoryLimits | None = None  # of the indexes, because they name the policies

    def end(self, tick: TickState) -> None:
        """Apply the world's effects, then add the observations to memory."""
        run, turn = tick.run, tick.turn
        applied = self._apply(tick, turn.world_effects)
        tick.touched |= {effect.owner for effect in applied}
        tick.touched |= {owner for owner, _ in turn.observed if not run.streams[owner].entries}
        remembered = self.take_in(run.streams, turn.observed, tick.number, run.facts.limits)
        tick.core["world_effects"] = tuple(applied)
        tick.core |= remembered._asdict()
        for owner in turn.leaves:
            self._indexes.pop(owner, None)

    def take_in(
        self, streams: Mapping[str, Stream], observed: Iterable[tuple[str, Entry]], tick: int, limits: MemoryLimits
    ) -> Remembered:
        """Append observations to their owners' streams, let them wait for a free cell, or count them as repeats.

        Cells, token windows and shared histories keep every statement, because their designs count statements.
        """
        appended: list[tuple[str, Entry]] = []
        waiting: list[tuple[str, Entry]] = []
        repeated: list[Repeat] = []
        if limits is not self._limits:
            self._limits = limits
            self._indexes.clear()
        for seen in observed:
            owner, entry = seen
            stream = streams[owner]
            index = self._indexes[owner] if owner in self._indexes else self._new_index(stream, limits)
            number = index.repeated(entry) if index is not None else None
            if number is None:
                (appended if receive(stream, entry, limits, tick) else waiting).append(seen)
                if index is not None:
                    index.note_appended()
            else:
                importance = entry.importance or rating(stream.entries[number])
                count_repeat(stream, number, entry.minute, importance)
                repeated.append(Repeat(owner, number, entry.minute, importance))
        return Remembered(tuple(appended), tuple(waiting), tuple(repeated))

    @staticmethod
    def _apply(tick: TickState, effects: Iterable[Effect]) -> list[Effect]:
        """Apply the effects that the world requested, and return those whose preconditions hold."""
        applied = []
        for effect in effects:
            if unmet(tick.run.streams, (effect,)) is not None:
                tick.run.warnings["world.effect_refused"] += 1
                continue
            apply(tick.run.streams, (effect,), tick.number)
            applied.append(effect)
        return applied

    def _new_index(self, stream: Stream, limits: MemoryLimits) -> RepeatIndex | None:
        owner = stream.owner
        coalesces = self._coalesce and limits.policy_of(owner) == "stream" and not is_shared(owner)
        index = self._indexes[owner] = RepeatIndex(stream) if coalesces else None
        return index
