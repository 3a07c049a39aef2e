"""The state of a run in the memory of its host, and queries on it. No I/O, no clock, no randomness.

The ledger holds all of it: a host that resumes the run reads it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.unreadable import LeftOut
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.open_jobs import OpenJob, OpenJobs, read_numbers
from cogitate.scheduler.engine.rating import Rater
from cogitate.scheduler.engine.retries import Retries
from cogitate.scheduler.engine.streams import Streams
from cogitate.scheduler.engine.token_estimates import TokenEstimates
from cogitate.scheduler.engine.triggers import ScopeTrigger
from cogitate.scheduler.engine.turn import Deferred
from cogitate.scheduler.intake.kind_effects import KindEffects, made_without_model
from cogitate.scheduler.latency.due_ticks import DueTicks
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.steering.cadence import Cadence
from cogitate.scheduler.steering.steering import Steering
from cogitate.tasks.job import Reads, Request
from cogitate.tasks.kind import Case, Moment, WorldFacts, build_case


class KeptPart(Protocol):
    """A part of a run's state that keeps itself in the ledger, tick by tick; its `load` reads it back."""

    def take_writes(self) -> list[Write]:
        """Return the commands that bring the ledger up to date, once."""


class RunState:
    """Streams, open jobs, admission's view and cadence of one run."""

    def __init__(self, *, run: str, rules: Rules, facts: Facts, view: BudgetView) -> None:
        self.run = run
        self.rules = rules
        self.facts = facts
        self.facts_version = 0
        self.facts_at: dict[int, Facts] = {}  # by version, as far as open jobs use them
        self.view = view
        self.profiles: dict[str, Profile] = {}
        self.streams = Streams()
        self.retired: set[str] = set()
        self.open = OpenJobs()
        self.deferred: list[Deferred] = []
        self.triggers: list[ScopeTrigger] = []  # of scopes that recount already
        self.warnings: Counter[str] = Counter()
        self.cadence = Cadence(rules.kinds_due())
        self.steering = Steering(rules, view)
        self.rater = Rater(share=rules.rate_share)
        self.estimates = TokenEstimates()
        self.late = LateAnswers()
        self.corrections = Corrections()
        self.retries = Retries()
        self.left_out: list[LeftOut] = []  # entries that could not be read: the next tick journals them
        self.latencies = Latencies()
        self.due = DueTicks(
            fixed=rules.latency,
            bounds_of=lambda name: rules.bounds_of(rules.kind_of(name)),
            models_of=rules.models_of,
            known=self.latencies,
            jobs=self.open,
            minutes_per_tick=facts.minutes_per_tick,
        )
        self.latencies.want(any(rules.bounds_of(kind) for kind in rules.kinds))
        self._world: tuple[Facts, WorldFacts] | None = None
        self._worlds: dict[int, tuple[Facts, WorldFacts]] = {}  # of earlier facts, by version

    def case_of(self, item: OpenJob) -> Case:
        """Return the case of an open job, the same that a worker is given."""
        job = item.job

        def stored(reads: Reads) -> Iterable[Entry]:
            stream = self.streams[reads.owner]
            if reads.numbers is None:
                return stream.as_of(reads.upto, job.key.tick)
            return [stream.entries[number] for number in {*reads.numbers} if number in stream.entries]

        return build_case(job, self.profiles[job.key.owner], self._world_of(job.facts), stored)

    def without_model(self, item: OpenJob) -> KindEffects:
        """Return what the heuristic of an open job gives, whenever it is computed."""
        return made_without_model(self.rules.kind_of(item.job.key.kind), self.case_of(item))

    def parts(self) -> tuple[KeptPart, ...]:
        """Return the parts that keep themselves in the ledger, in the order in which a commit writes them."""
        return (
            self.rater,
            self.estimates,
            self.late,
            self.corrections,
            self.retries,
            self.latencies,
            self.steering,
        )

    def rewake(self, tick: int) -> None:
        """Compute anew, after a restore, when each kind is to be asked about each owner.

        A drained run has asked about nobody: then the next tick asks about everybody.
        """
        if self.steering.mode == "drained":
            self.steering.mode = "running"
            self.touch_all()
        minute = self.facts.minute(tick)
        moments = (self.moment(owner, tick, minute) for owner in sorted(self.streams))
        self.cadence.rewake(moments, self.busy(()))

    def touch_all(self) -> None:
        """Have the cadence ask about every owner at the next occasion."""
        for owner in sorted(self.streams):
            self.cadence.touch(owner)

    def take_stale_facts(self) -> list[int]:
        """Forget the versions of the facts that no open job uses, and return them."""
        used = {item.job.facts for item in self.open.values()} | {self.facts_version}
        stale = sorted(self.facts_at.keys() - used)
        for version in stale:
            del self.facts_at[version]
            self._worlds.pop(version, None)
        return stale

    def busy(self, again: Iterable[Request]) -> Callable[[str, str], bool]:
        """Return a test whether a job of (kind, owner) is open, waits to be tried again, or is among `again`."""
        taken = {(request.kind, request.owner) for request in again}
        taken |= {(waiting.request.kind, waiting.request.owner) for waiting in self.deferred}

        def is_busy(kind: str, owner: str) -> bool:
            return (kind, owner) in taken or any(key.kind == kind for key in self.open.of_owner(owner))

        return is_busy

    def moment(self, owner: str, tick: int, minute: int) -> Moment:
        """Return an owner as the kinds see it when they decide whether they are due."""
        brief = dict(self.rules.brief(owner))
        brief["open_numbers"] = read_numbers(self.open.of_owner(owner).values(), owner)
        return Moment(
            owner=owner,
            stream=self.streams[owner],
            profile=self.profiles[owner],
            tick=tick,
            minute=minute,
            world=self.world(),
            brief=brief,
            estimate=partial(self.rater.estimate, owner),
            lead=lambda kind: self.due.lead(kind, len(self.facts.names)),
            last=self.due.last,
        )

    def world(self) -> WorldFacts:
        """Return the constants that kinds of job see now."""
        if self._world is None or self._world[0] is not self.facts:
            self._world = (self.facts, self.facts.world())
        return self._world[1]

    def _world_of(self, version: int) -> WorldFacts:
        """Return the world that jobs of this version see, one object for all: a crowd's names are put together once."""
        facts = self.facts_at[version]
        if facts is self.facts:
            return self.world()
        known = self._worlds.get(version)
        if known is None or known[0] is not facts:
            known = self._worlds[version] = (facts, facts.world())
        return known[1]

    def last_served(self, kind: str, owner: str) -> int:
        """Return the tick at which a job of (kind, owner) was last admitted; -1 if never."""
        return self.streams[owner].head.counters.get(f"served:{kind}", -1)
