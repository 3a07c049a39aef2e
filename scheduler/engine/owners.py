"""The owners of a run and its facts: who joins, who leaves, and what a resumed run could not read."""

from __future__ import annotations

import msgspec

from cogitate.memory.profile import Profile
from cogitate.memory.routing.history import is_shared
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.streams import chunked


class Owners(Part):
    """The comings and goings of a tick."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._writes: list[Write] = []
        self._changed_facts = False

    def end(self, tick: TickState) -> None:
        """Let owners join and leave. Jobs that read the memory of one who leaves are cancelled."""
        state, joins, leaves = self._state, dict(sorted(tick.turn.joins.items())), sorted(tick.turn.leaves)
        self._changed_facts = self._join(tick.number, joins)
        for owner in leaves:
            tick.cancel([key for key, item in state.open.items() if any(r.owner == owner for r in item.job.reads)])
            state.deferred = [waiting for waiting in state.deferred if waiting.request.owner != owner]
            state.retired.add(owner)
        tick.core["unread"] = self._leave_out()
        tick.core["joined"] = tuple(joins.items())
        tick.core["left"] = tuple(leaves)
        tick.core["facts"] = state.facts if self._changed_facts else None
        self._writes = [Write("HSET", "owners", (owner, msgspec.json.encode(joins[owner]))) for owner in joins]
        for owner in leaves:
            self._writes += [Write("HDEL", "owners", (owner,)), Write("HSET", "retired", (owner, tick.number))]

    def _join(self, tick: int, joins: dict[str, Profile]) -> bool:
        """Add owners, and return whether the facts have changed."""
        state = self._state
        if not joins and state.facts_at.get(state.facts_version) is state.facts:
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
        )
        state.facts_version = tick
        state.facts_at[tick] = state.facts
        return True

    def _leave_out(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the entries that a resumed run lacks, once, for the journal of its first tick."""
        state = self._state
        gone: dict[str, list[int]] = {}
        for one in state.left_out:
            gone.setdefault(one.owner, []).append(one.number)
            state.warnings["memory.unreadable"] += 1
        state.left_out = []
        return tuple((owner, tuple(sorted(numbers))) for owner, numbers in sorted(gone.items()))

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        state = self._state
        writes, self._writes = self._writes, []
        if self._changed_facts:
            writes.append(Write("HSET", "facts", (state.facts_version, msgspec.json.encode(state.facts))))
            writes += chunked("HDEL", "facts", list(state.take_stale_facts()))
            self._changed_facts = False
        return writes
