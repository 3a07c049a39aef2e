"""What one tick does to a run: the boundary, and what follows the world's turn. No I/O, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from memory.apply import apply, unmet
from memory.effects import Effect, losses
from memory.profile import Profile
from memory.stream import Stream
from scheduler.budget.admission import DEFER_TICKS, Decided, admit
from scheduler.budget.budget import BudgetView
from scheduler.budget.repairs import admit_repairs, is_time
from scheduler.budget.rules import Rules
from scheduler.config.controls import Control, ControlRequest
from scheduler.config.facts import Facts
from scheduler.config.tiers import ModelOption
from scheduler.engine import retention as upkeep
from scheduler.engine.boundary import Closing, cancelled, close_due
from scheduler.engine.job_factory import job_of, line_of
from scheduler.engine.open_jobs import OpenJob, counted, open_job
from scheduler.engine.remembering import Remembering
from scheduler.engine.run_state import RunState
from scheduler.engine.triggers import ScopeTrigger, recounts
from scheduler.engine.turn import Deferred, FinishedTick, WorldTurn
from scheduler.journal.history import Change, note_served
from scheduler.journal.lines import Core, Correction, EndNote, Postponed, Stepped
from scheduler.ledger.answer_times import Timed
from scheduler.ledger.answers import DueJob, LateAnswer, Learned, RetriedAttempt
from scheduler.steering.cadence import due_now
from tasks.job import Cost, JobKey, Request
from tasks.recount import Recount


class Steered(NamedTuple):
    """What operators and the controller changed at a tick."""

    controls: tuple[Control, ...]
    stepped: Stepped | None
    cancelled: list[Closing]


class RunEngine(RunState):
    """A run's state, and what one tick does to it."""

    def __init__(self, *, run: str, rules: Rules, facts: Facts, view: BudgetView) -> None:
        super().__init__(run=run, rules=rules, facts=facts, view=view)
        self.away = False  # the ledger is: nothing can be admitted
        self._remembering = Remembering(coalesce=rules.coalesce)
        self._closings: list[Closing] = []
        self._late: list[Closing] = []
        self._corrected: tuple[Correction, ...] = ()
        self._timed: tuple[Timed, ...] = ()

    # -- a tick ------------------------------------------------------------------------------------

    def begin(
        self,
        tick: int,
        rows: Sequence[DueJob],
        offers: Sequence[LateAnswer] = (),
        learned: Sequence[Learned] = (),
        timed: Sequence[Timed | None] = (),
        retries: Sequence[RetriedAttempt] = (),
    ) -> list[Change]:
        """The boundary: end what is due and apply it, then what came late. Returns the changes for the world, in order.

        Args:
            offers: answers that came after their job's end.
            learned: what ended jobs came to.
            timed: when answers were there.
            retries: what earlier attempts of jobs have used.
        """
        minute, jobs = self.facts.minute(tick), {}
        self._timed = self.latencies.take(timed, tick, self.open)
        self.retries.see(retries)
        self._closings = close_due(
            rows, self.open, self.streams, tick=tick, kind_of=self.rules.kind_of, case_of=self.case_of
        )
        for closing in self._closings:
            key = closing.ended.key
            item = self.open.pop(key)
            jobs[key] = item.job
            self.latencies.ended(key)
            self.view.move(item.cells, counted(item), closing.counts_as)
            self.corrections.charge(closing, item, tick, waits=self.rules.waits)
            self.cadence.touch(key.owner)
            if closing.ended.end == "stale":
                self.warnings["job.stale"] += 1
            else:
                self._count_losses(closing.ended.effects)
                self.rater.learn(self.streams, closing.ended.effects)
            self._learn_usage(closing.note, item)
            if closing.ended.reason == "late" and self.due.follows(key.kind, item.job.model):
                self.latencies.overdue(key, item.job.model, item.job.ahead, tick)
            if closing.note.refusal:
                self.warnings["job.effects_refused"] += 1
            elif closing.ended.reason != "none" and not closing.ended.effects:
                self.warnings["job.nothing_recorded"] += 1
        self._late = self.late.take(offers, self.streams, tick, minute)
        late = [closing.note for closing in self._late]
        self.retries.see_late(late, self.corrections.charged, {known.key for known in learned})
        for closing in self._late:
            self.cadence.touch(closing.ended.key.owner)
            if closing.ended.end != "applied":
                self.warnings["job.late_answer_unused"] += 1
        self.late.expect(self._closings, jobs, self.streams, minute)
        self._corrected = self.corrections.take(learned, self.view)
        self._count_answers()
        return [change for closing in (*self._closings, *self._late) for change in closing.changes]

    def end(self, tick: int, turn: WorldTurn) -> FinishedTick:
        """The rest of the tick: what the world did is written, limits are made to hold, new jobs are admitted."""
        minute = self.facts.minute(tick)
        joins, leaves = dict(sorted(turn.joins.items())), sorted(turn.leaves)
        changed_facts = self._join(tick, joins)
        gone = self._leave(leaves, tick)
        asked = self._ask(tick, turn.world_effects)
        remembered = self._remembering.take_in(self.streams, turn.observed, tick, self.facts.limits)
        changed = {effect.owner for one in (*self._closings, *self._late) for effect in one.ended.effects}
        changed |= {effect.owner for effect in asked} | {owner for owner, _ in turn.observed}
        here = sorted(changed & self.streams.keys())
        rated = self.rater.rate(self.streams, here, tick)
        names = self.display_names()
        cuts = upkeep.cut(self.streams, here, self.facts.limits, tick=tick, minute=minute, names=names)
        self._count_losses(cuts)
        deleted = upkeep.forget(self.streams, self.facts, self.open.values(), tick)
        for owner in here:
            self.cadence.touch(owner)
        for owner in leaves:
            self.cadence.forget(owner)
            self._remembering.forget(owner)
            self.steering.throttle.postponing.forget(owner)
        steered = self._steer(turn.controls, tick, minute)
        gone += steered.cancelled
        requests = [request for request in turn.requests if request.owner not in leaves]
        decided, postponed = self._decide(tick, minute, [*requests, *self._recounts(turn.triggers)])
        opened = self._open(minute, decided)
        if postponed:
            self.warnings["reflect.postponed"] += len(postponed)
        self.late.forget(self.streams, leaves, minute)
        self.corrections.forget(tick)
        self.steering.settle(any(item.admitted for item in self.open.values()))
        closings, self._closings = self._closings + gone, []
        late, self._late = self._late, []
        corrected, self._corrected = self._corrected, ()
        core = Core(
            tick=tick,
            minute=minute,
            unread=self._leave_out(),
            joined=tuple(joins.items()),
            left=tuple(leaves),
            facts=self.facts if changed_facts else None,
            ended=tuple(closing.ended for closing in closings),
            late=tuple(closing.ended for closing in late),
            world_effects=tuple(asked),
            observed=remembered.observed,
            waiting=remembered.waiting,
            repeated=remembered.repeated,
            rated=rated,
            cuts=cuts,
            deleted=deleted,
            controls=steered.controls,
            stepped=steered.stepped,
            postponed=postponed,
            decided=tuple(line_of(d) for d in decided),
        )
        outcome = FinishedTick(
            core=core,
            notes=self.retries.close(closing.note for closing in closings),
            late=tuple(closing.note for closing in late),
            corrected=corrected,
            retried=self.retries.rest(self.open, {closing.ended.key for closing in closings}),
            timed=self._timed,
            closed=tuple(closing.ended.key for closing in closings),
            opened=tuple(opened),
            streams=tuple(self.streams[owner] for owner in sorted(self.streams) if self.streams[owner].changes),
        )
        for owner in leaves:
            del self.streams[owner], self.profiles[owner]
        return outcome

    def _leave_out(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Say with the first tick of a resumed run what it was resumed without."""
        gone: dict[str, list[int]] = {}
        for one in self.left_out:
            gone.setdefault(one.owner, []).append(one.number)
            self.warnings["memory.unreadable"] += 1
        self.left_out = []
        return tuple((owner, tuple(sorted(numbers))) for owner, numbers in sorted(gone.items()))

    # -- its parts ---------------------------------------------------------------------------------

    def _join(self, tick: int, joins: Mapping[str, Profile]) -> bool:
        if not joins and self.facts_at.get(self.facts_version) is self.facts:
            return False
        for owner, profile in joins.items():
            self.streams[owner] = Stream(owner)
            self.profiles[owner] = profile
            self.cadence.touch(owner)
        names = {owner: self.profiles[owner].name for owner in sorted(self.profiles) if owner.startswith("agent:")}
        self.facts = msgspec.structs.replace(self.facts, names=names)
        self.facts_version = tick
        self.facts_at[tick] = self.facts
        return True

    def _leave(self, leaves: Iterable[str], tick: int) -> list[Closing]:
        gone: list[Closing] = []
        for owner in leaves:
            read = [k for k, item in self.open.items() if any(r.owner == owner for r in item.job.reads)]
            gone += self._cancel(read, tick)
            self.deferred = [waiting for waiting in self.deferred if waiting.request.owner != owner]
            self.retired.add(owner)
        return gone

    def _cancel(self, keys: Iterable[JobKey], tick: int) -> list[Closing]:
        closings = [cancelled(self.open[key]) for key in sorted(keys)]
        for closing in closings:
            item = self.open.pop(closing.ended.key)
            self.view.move(item.cells, counted(item), closing.counts_as)
            self.corrections.charge(closing, item, tick, waits=self.rules.waits)
            self.latencies.ended(closing.ended.key)
            self.cadence.touch(closing.ended.key.owner)
        return closings

    def _steer(self, asked: Sequence[ControlRequest | None], tick: int, minute: int) -> Steered:
        """Apply what operators ask for, and let the controller of the cadence take its step."""
        before = self.steering.mode
        self.steering.throttle.see((closing.ended for closing in self._closings), tick)
        controls = self.steering.take(asked, tick, minute)
        stepped = self.steering.throttle.step(self.view, minute, self.facts.minute(tick - 1))
        if before == "draining" and self.steering.mode in ("running", "paused"):
            self.touch_all()
        gone: list[Closing] = []
        if self.steering.mode == "cancelled":
            gone, self.deferred = self._cancel(self.open, tick), []
        return Steered(controls, stepped, gone)

    def _count_answers(self) -> None:
        """Count jobs whose answers wait for their due ticks as what these used."""
        for fact in self._timed:
            item = self.open.get(fact.key)
            if item is not None and item.admitted and fact.used != Cost():
                self.view.move(item.cells, counted(item), fact.used)
                self.open[fact.key] = msgspec.structs.replace(item, answered=fact.used)

    def answered_now(self) -> list[OpenJob]:
        """Return the open jobs of which this tick's boundary has learned what their calls used."""
        found = {fact.key: self.open[fact.key] for fact in self._timed if fact.key in self.open}
        return [item for item in found.values() if item.answered is not None]

    def _learn_usage(self, note: EndNote, item: OpenJob) -> None:
        if note.count is not None:
            self.estimates.learn(note.model, note.count)
        if note.saved:
            return
        if note.unreported:
            self.warnings["job.usage_unreported"] += 1
        if note.usage.tokens > item.job.reserved.tokens and note.model:
            self.warnings["job.overrun"] += 1

    def _ask(self, tick: int, effects: Iterable[Effect]) -> list[Effect]:
        asked = []
        for effect in effects:
            if unmet(self.streams, (effect,)) is not None:
                self.warnings["world.effect_refused"] += 1
                continue
            apply(self.streams, (effect,), tick)
            asked.append(effect)
        return asked

    def _count_losses(self, effects: Iterable[Effect]) -> None:
        for loss in losses(effects):
            self.warnings[loss.name] += loss.amount

    def _recounts(self, new: Iterable[ScopeTrigger]) -> list[Request]:
        """What scopes have to tell now; one that is busy tells it later."""
        if Recount.name in self.rules.disabled:
            self.triggers = []
            return []
        if not new and not self.triggers:
            return []
        requests, self.triggers = recounts([*self.triggers, *new], self._staying(), self.profiles, self.busy(()))
        return requests

    def _staying(self) -> Mapping[str, Stream]:
        """The streams of those who do not leave with this tick: no job may be opened for the others."""
        return {owner: stream for owner, stream in self.streams.items() if owner not in self.retired}

    def _decide(
        self, tick: int, minute: int, requests: Sequence[Request]
    ) -> tuple[list[Decided], tuple[Postponed, ...]]:
        again = [waiting.request for waiting in self.deferred if waiting.at <= tick]
        self.deferred = [waiting for waiting in self.deferred if waiting.at > tick]
        due, postponed = self._due(tick, minute, again) if self.steering.admits else ([], ())
        if self.steering.mode == "cancelled":
            return [], ()

        def offers_of(request: Request) -> Sequence[ModelOption]:
            return self.rules.offers(request, lambda owner: self.moment(owner, tick, minute))

        decided = admit(
            [*again, *requests, *due],
            tick=tick,
            minute=minute,
            view=self.view,
            kind_of=self.rules.kind_of,
            offers_of=offers_of,
            last_served=self.last_served,
            due=self.due,
            closed="away" if self.away else "" if self.steering.admits else self.steering.mode,
        )
        busy = self.busy(d.request for d in decided)
        decided += self.steering.retry(
            self._staying(), tick=tick, minute=minute, offers_of=offers_of, busy=busy, due=self.due
        )
        admits = self.steering.admits and not self.away
        if admits and is_time(minute, self.facts.minute(tick - 1), self.rules.repair_from):
            busy = self.busy(d.request for d in decided)
            decided += admit_repairs(
                self._staying(),
                tick=tick,
                minute=minute,
                view=self.view,
                rules=self.rules,
                offers_of=offers_of,
                busy=busy,
                due=self.due,
            )
        for d in decided:
            if d.successor is not None:
                within = d.request.within and d.request.within - DEFER_TICKS
                request = msgspec.structs.replace(d.request, trial=d.successor.trial, within=within)
                self.deferred.append(Deferred(d.successor.tick, request))
            elif d.decision == "admitted":
                note_served(self.streams, d.key)
        return decided, postponed

    def _due(self, tick: int, minute: int, again: Iterable[Request]) -> tuple[list[Request], tuple[Postponed, ...]]:
        """What is due by cadence, less what is throttled."""
        busy = self.busy(again)
        found = self.cadence.due(tick, lambda owner: self.moment(owner, tick, minute), busy)

        def again_due(kind: str, owner: str) -> Iterable[Request]:
            return () if busy(kind, owner) else due_now(self.rules.kind_of(kind), self.moment(owner, tick, minute))

        limits = self.facts.limits
        return self.steering.throttle.sift(
            found, self.streams, minute=minute, interval=limits.reflection_interval, again=again_due,
            enough=None if limits.reflection_trigger == "interval" else limits.reflection_trigger_max,
        )  # fmt: skip

    def _open(self, minute: int, decided: Iterable[Decided]) -> list[OpenJob]:
        opened = []
        for d in decided:
            if d.decision in ("admitted", "heuristic"):
                job = job_of(
                    d,
                    run=self.run,
                    minute=minute,
                    rules=self.rules,
                    streams=self.streams,
                    retired=self.retired,
                    facts=self.facts_version,
                    correction=self.estimates.correction(d.model),
                )
                opened.append(open_job(d, job))
                self.open[d.key] = opened[-1]
        return opened
