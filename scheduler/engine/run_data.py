"""The data of a run that its parts share, and the input and outcome of a tick: no I/O, no clock, no randomness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields

import msgspec

from cogitate.memory.effects import Effect, Loss, losses
from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import LeftOut
from cogitate.memory.view import Present
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.open_jobs import OpenJob, OpenJobs
from cogitate.scheduler.engine.triggers import ScopeTrigger
from cogitate.scheduler.journal.lines import Core, TickNotes
from cogitate.scheduler.ledger.step_replies import Unreadable
from cogitate.scheduler.steering.cadence import KindFault
from cogitate.tasks.job import Request
from cogitate.tasks.kind import WorldFacts


class Deferred(msgspec.Struct, frozen=True):
    """A request that is tried again at a later tick."""

    at: int
    request: Request


@dataclass(kw_only=True)
class WorldTurn:
    """The host's calls during the world's turn."""

    joins: dict[str, Profile] = field(default_factory=dict)
    leaves: list[str] = field(default_factory=list)
    profiles: dict[str, Profile] = field(default_factory=dict)  # changed profiles
    world_effects: list[Effect] = field(default_factory=list)
    observed: list[tuple[str, Entry]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    slots: Counter[tuple[str, str]] = field(default_factory=Counter)  # requests by kind and owner
    triggers: list[ScopeTrigger] = field(default_factory=list)


def copied(turn: WorldTurn) -> WorldTurn:
    """Return a copy of a turn that later changes to the original do not affect."""
    return WorldTurn(**{part.name: copy(getattr(turn, part.name)) for part in fields(turn)})


@dataclass(frozen=True, kw_only=True)
class FinishedTick:
    """A finished tick, ready for its commit."""

    core: Core
    notes: TickNotes  # the notes that the engine knows
    opened: tuple[OpenJob, ...]
    streams: tuple[Stream, ...]  # streams that may have changed
    faults: tuple[KindFault, ...]  # of kinds that were asked whether they are due

    def losses(self) -> Iterator[Loss]:
        for ended in self.core.ended:
            if ended.end == "applied":
                yield from losses(ended.effects)
        yield from losses(self.core.cuts)


class Streams(dict[str, Stream]):
    """A stream for each owner. A stream reports its changes, so a tick need not compare all of them."""

    def __init__(self, streams: Mapping[str, Stream] | None = None) -> None:
        super().__init__()
        self._changed: set[str] = set()
        for owner, stream in (streams or {}).items():
            self[owner] = stream

    def __setitem__(self, owner: str, stream: Stream) -> None:
        super().__setitem__(owner, stream)
        stream.report_to(self._changed)

    @property
    def changed(self) -> list[str]:
        """Return the owners whose streams changed since the last `take_changed`, in order."""
        return sorted(self._changed & self.keys())

    def take_changed(self) -> tuple[Stream, ...]:
        """Return the streams that changed since the last call, in the order of their owners."""
        changed = tuple(self[owner] for owner in self.changed)
        self._changed.clear()
        return changed


class LoopState(msgspec.Struct, frozen=True):
    """The state of the loop, without streams and jobs, in the form that a run stores."""

    facts_version: int = 0
    deferred: tuple[Deferred, ...] = ()
    triggers: tuple[ScopeTrigger, ...] = ()


class RunData:
    """Streams, owners, facts, open jobs and admission's view of one run."""

    def __init__(self, *, run: str, rules: Rules, facts: Facts, view: BudgetView) -> None:
        self.run = run
        self.rules = rules
        self.facts = facts
        self.facts_version = 0
        self.facts_at: dict[int, Facts] = {}  # by version; only versions that open jobs use
        self.view = view
        self.profiles: dict[str, Profile] = {}
        self.streams = Streams()
        self.retired: set[str] = set()
        self.open = OpenJobs()
        self.deferred: list[Deferred] = []
        self.triggers: list[ScopeTrigger] = []  # triggers that wait for an open recount of their scope
        self.warnings: Counter[str] = Counter()
        self.left_out: list[LeftOut] = []  # unreadable entries; the next tick journals them
        self.unreadable: list[Unreadable] = []  # values that parts could not read at the newest boundary
        self._world: tuple[Facts, WorldFacts] | None = None
        self._worlds: dict[int, tuple[Facts, WorldFacts]] = {}  # of earlier facts, by version

    def take_stale_facts(self) -> list[int]:
        """Forget the versions of the facts that no open job uses, and return them."""
        used = {item.job.facts for item in self.open.values()} | {self.facts_version}
        stale = sorted(self.facts_at.keys() - used)
        for version in stale:
            del self.facts_at[version]
            self._worlds.pop(version, None)
        return stale

    def busy(self, more: Iterable[tuple[str, str]]) -> Callable[[str, str], bool]:
        """Return a test whether a job of (kind, owner) is open, deferred, or among `more`."""
        taken, owned = {*more}, self.open.owned
        taken |= {(waiting.request.kind, waiting.request.owner) for waiting in self.deferred}

        def is_busy(kind: str, owner: str) -> bool:
            if taken and (kind, owner) in taken:
                return True
            jobs = owned.get(owner)
            return jobs is not None and kind in [key.kind for key in jobs]

        return is_busy

    def world(self) -> WorldFacts:
        """Return the constants that kinds of job may read now."""
        if self._world is None or self._world[0] is not self.facts:
            self._world = (self.facts, self.facts.world())
        return self._world[1]

    def world_of(self, version: int) -> WorldFacts:
        """Return the constants that jobs of this version read, cached because a crowd's names take time to build."""
        facts = self.facts_at[version]
        if facts is self.facts:
            return self.world()
        cached = self._worlds.get(version)
        if cached is None or cached[0] is not facts:
            cached = self._worlds[version] = (facts, facts.world())
        return cached[1]

    def memory(self, owner: str) -> Stream:
        """Return the stream of an owner, empty until its first tick is committed.

        Raises:
            InputError: if the owner has left.
        """
        if owner in self.retired:
            raise InputError(
                f"owner {quoted(owner)} has left this run: its memory is in the ledger (`cogitate memory`)"
            )
        return self.streams.get(owner) or Stream(owner)  # until it joins

    def present(self, tick: int) -> Present:
        """Return the properties of the run that views of memories show at the boundary of a tick."""
        return Present(self.facts.minute(tick), self.facts.clock, self.world().display_names, self.facts.profile)

    def last_served(self, kind: str, owner: str) -> int:
        """Return the tick at which a job of (kind, owner) was last admitted; -1 if never."""
        return self.streams[owner].head.counters.get(f"served:{kind}", -1)

    def remove(self, owners: Iterable[str]) -> None:
        for owner in owners:
            del self.streams[owner], self.profiles[owner]

    # -- with the ledger -----------------------------------------------------------------------------

    def loop_state(self) -> bytes:
        """Return the encoded state of the loop, without streams and jobs."""
        return msgspec.json.encode(LoopState(self.facts_version, tuple(self.deferred), tuple(self.triggers)))
