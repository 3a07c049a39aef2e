"""The state of a run in its host's memory, and queries on it: no I/O, no clock, no randomness.

The ledger holds all of it, and a host that resumes the run reads it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

from cogitate.memory.entry import Entry
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.call_value import CallValues
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.open_jobs import OpenJob, read_numbers
from cogitate.scheduler.engine.rating import Rater
from cogitate.scheduler.engine.run_data import RunData
from cogitate.scheduler.engine.token_estimates import TokenEstimates
from cogitate.scheduler.intake.kind_effects import KindEffects, made_without_model
from cogitate.scheduler.latency.due_ticks import DueTicks
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.steering.cadence import Cadence
from cogitate.scheduler.steering.steering import Steering
from cogitate.tasks.job import Reads
from cogitate.tasks.kind import Backlog, Case, Moment, build_case


class RunState(RunData):
    """The data of one run, its host's learned estimates, and the queries of kinds and admission."""

    def __init__(self, *, run: str, rules: Rules, facts: Facts, view: BudgetView) -> None:
        super().__init__(run=run, rules=rules, facts=facts, view=view)
        self.cadence = Cadence(rules.kinds_due(), rules.turn_of)
        self.steering = Steering(rules, view)
        self.rater = Rater(share=rules.rate_share)
        self._unrated: tuple[int, Backlog] | None = None  # (tick, backlog at its end)
        self.estimates = TokenEstimates()
        self.values = CallValues() if rules.by_value else None
        self.latencies = Latencies()
        self.due = DueTicks(
            fixed=cache(rules.latency),
            bounds_of=lambda name: rules.bounds_of(rules.kind_of(name)),
            models_of=rules.models_of,
            known=self.latencies,
            jobs=self.open,
            clock=facts.clock,
        )
        self.latencies.want(any(rules.bounds_of(kind) for kind in rules.kinds))

    def begin_anew(self, rules: Rules, facts: Facts, view: BudgetView) -> None:
        """Reset the state with other rules. The caller reads the rest back from the ledger, as on a resume."""
        last = self.due.last
        RunState.__init__(self, run=self.run, rules=rules, facts=facts, view=view)
        self.due.last = last

    def has_answered(self, kind: str) -> bool:
        """Return whether a model that a kind may ask has answered in this run."""
        return any(self.latencies.has_answered(model) for model in self.rules.models_of(kind))

    def case_of(self, item: OpenJob) -> Case:
        """Return the case of an open job, equal to the one that a worker gets."""
        job = item.job

        def stored(reads: Reads) -> Iterable[Entry]:
            stream = self.streams[reads.owner]
            if reads.numbers is None:
                return stream.as_of(reads.upto, job.key.tick)
            return [stream.entries[number] for number in {*reads.numbers} if number in stream.entries]

        return build_case(job, self.profiles[job.key.owner], self.world_of(job.facts), stored)

    def without_model(self, item: OpenJob) -> KindEffects:
        """Return the effects of an open job's heuristic; they do not depend on when it runs."""
        return made_without_model(self.rules.kind_of(item.job.key.kind), self.case_of(item))

    def rewake(self, tick: int) -> None:
        """Recompute, after a restore, when the cadence checks each kind and owner.

        A drained run has checked no owner, so the next tick checks all of them.
        """
        if self.steering.mode == "drained":
            self.steering.mode = "running"
            self.touch_all()
        moments = map(self.moments(tick, self.facts.minute(tick)), sorted(self.streams))
        self.cadence.rewake(moments, self.busy(()))

    def touch_all(self) -> None:
        """Have the cadence check every owner at the next tick."""
        for owner in sorted(self.streams):
            self.cadence.touch(owner)

    def moments(self, tick: int, minute: int) -> Callable[[str], Moment]:
        """Return a function from owner to `Moment`, from which kinds decide whether they are due."""
        world, unrated, lead, last = self.world(), partial(self._backlog, tick), self._lead, self.due.last
        brief_of, turn_of, estimate, owned = self.rules.brief, self.rules.turn_of, self.rater.estimate, self.open.owned
        streams, profiles = self.streams, self.profiles

        def moment(owner: str) -> Moment:
            jobs = owned.get(owner)
            return Moment(
                owner=owner,
                stream=streams[owner],
                profile=profiles[owner],
                tick=tick,
                minute=minute,
                world=world,
                brief={**brief_of(owner), "open_numbers": read_numbers(jobs.values(), owner) if jobs else ()},
                estimate=partial(estimate, owner),
                turn_of=turn_of,
                unrated=unrated,
                lead=lead,
                last=last,
            )

        return moment

    def _lead(self, kind: str) -> int:
        return self.due.lead(kind, len(self.facts.names))

    def _backlog(self, tick: int) -> Backlog:
        """Return the backlog of entries that wait for a rating at the end of a tick, computed once per tick."""
        if self._unrated is None or self._unrated[0] != tick:
            waiting = {owner: numbers for owner, stream in self.streams.items() if (numbers := stream.unrated())}
            oldest = (self.streams[owner].entries[numbers[0]].minute for owner, numbers in waiting.items())
            self._unrated = tick, Backlog(sum(map(len, waiting.values())), min(oldest, default=0))
        return self._unrated[1]
