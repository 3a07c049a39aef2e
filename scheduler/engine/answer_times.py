"""The part that learns, at a boundary, when answers arrived and what the calls of open jobs used."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping

import msgspec

from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob, answered_writes, counted
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey


class AnswerTimes(Part):
    """Learns the times and usage of answers that the ledger reports at a boundary."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._timed: tuple[Timed, ...] = ()  # of this tick
        self._answered: list[OpenJob] = []  # open jobs whose usage this tick has learned

    def begin(self, tick: TickState) -> None:
        """Learn how long answers took, and count answered jobs by their actual usage until their due ticks."""
        latencies = self._state.latencies
        self._timed = latencies.take(tick.boundary.timed, tick.number, ChainMap(tick.closed, self._state.open))
        for key in tick.closed:
            latencies.ended(key)
        late = {c.ended.key: tick.closed[c.ended.key].job for c in tick.closings if c.ended.reason == "late"}
        self._count_answers(self._timed)
        tick.notes["timed"] = self._timed
        tick.notes["overdue"] = self._learn_overdue(tick.boundary.overdue, late, tick.number)

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Forget that a job's answer had arrived."""
        self._state.latencies.ended(closing.ended.key)

    def end(self, tick: TickState) -> None:
        """Note the open jobs whose usage the boundary has learned."""
        timed = {fact.key: self._state.open[fact.key] for fact in self._timed if fact.key in self._state.open}
        self._answered = [item for item in timed.values() if item.answered is not None]

    def _count_answers(self, timed: Iterable[Timed]) -> None:
        """Replace the reservation of an answered job with its actual usage while it waits for its due tick."""
        state = self._state
        for fact in timed:
            item = state.open.get(fact.key)
            if item is not None and item.admitted and fact.used != Cost():
                state.view.move(item.cells, counted(item), fact.used)
                state.open[fact.key] = msgspec.structs.replace(item, answered=fact.used)

    def _learn_overdue(self, facts: Iterable[Overdue], late: Mapping[JobKey, Job], tick: int) -> tuple[Overdue, ...]:
        """Learn from jobs that ended late while a worker ran them, and return the new facts."""
        state, new = self._state, []
        for fact in facts:
            job = late.get(fact.key)
            if not fact.ticks:
                learned = state.latencies.give_up(fact.key)
            elif learned := job is not None and state.due.follows(fact.key.kind, job.model):
                state.latencies.overdue(fact, job.model, job.ahead, tick)
            new += [fact] if learned else []
        return tuple(new)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        """Return the commands that store the samples and the usage of open jobs' calls."""
        answered, self._answered = self._answered, []
        return [*answered_writes(answered), *self._state.latencies.take_writes()]

    def load(self, store: RunStore) -> None:
        self._state.latencies.load(store, self._state.open)
