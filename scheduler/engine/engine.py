"""The steps of one tick: the boundary, and the end after the world's turn. No I/O, no clock, no randomness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Effect, losses
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import DEFER_TICKS, Decided, DecidedLine, admit
from cogitate.scheduler.budget.repairs import admit_repairs, is_time
from cogitate.scheduler.config.controls import Control, ControlRequest
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.engine.boundary import Closing, cancelled, close_due
from cogitate.scheduler.engine.heuristics_ahead import HeuristicsAhead
from cogitate.scheduler.engine.job_factory import open_job
from cogitate.scheduler.engine.open_jobs import OpenJob, counted
from cogitate.scheduler.engine.remembering import Remembering
from cogitate.scheduler.engine.retention import Retention, cut
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.triggers import ScopeTrigger, recounts
from cogitate.scheduler.engine.turn import Deferred, FinishedTick, WorldTurn
from cogitate.scheduler.intake.fallbacks import Fallbacks
from cogitate.scheduler.intake.kind_effects import PROMPT_FAILED, KindEffects
from cogitate.scheduler.journal.ends import LEFT, JobEnd, ends_at_boundary
from cogitate.scheduler.journal.history import Change, note_served
from cogitate.scheduler.journal.lines import Core, Correction, EndNote, Postponed, Stepped
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.answers import BoundaryInput, DueJob
from cogitate.tasks.job import Cost, Job, JobKey, Request
from cogitate.tasks.recount import Recount


class Steered(NamedTuple):
    """The changes of operators and of the controller at a tick."""

    controls: tuple[Control, ...]
    stepped: Stepped | None
    cancelled: list[Closing]


class BegunTick(NamedTuple):
    """The results of a boundary that the end of its tick journals."""

    closings: tuple[Closing, ...] = ()
    late: tuple[Closing, ...] = ()
    corrected: tuple[Correction, ...] = ()
    timed: tuple[Timed, ...] = ()
    overdue: tuple[Overdue, ...] = ()


class RunEngine:
    """The steps of a tick on the state of a run: its boundary, `begin`, and what follows the world's turn, `end`.

    Args:
        fallbacks: reads those that workers have staged.
    """

    def __init__(self, state: RunState, fallbacks: Fallbacks) -> None:
        self.state = state
        self._fallbacks = fallbacks
        self._remembering = Remembering(coalesce=state.rules.coalesce)
        self._retention = Retention()
        self._begun = BegunTick()
        self._ahead: HeuristicsAhead | None = None  # of a paced run

    def work_ahead(self, tick: int, left: Callable[[], float], horizon: int) -> None:
        """Compute heuristics that the next boundaries may need, until the time is over; it changes no result.

        Args:
            tick: the last committed one.
            left: returns the seconds until the next tick is due.
            horizon: in ticks; jobs that are due later are left alone for now.
        """
        state = self.state
        if self._ahead is None:
            self._ahead = HeuristicsAhead(state.open, state.without_model, state.latencies.is_answered, horizon)
        self._ahead.work(tick, left)

    # -- a tick ------------------------------------------------------------------------------------

    def begin(self, tick: int, boundary: BoundaryInput) -> list[Change]:
        """Pass the boundary: end the jobs that are due, apply their effects, then those of late answers.

        Returns:
            The changes for the world, in order.
        """
        state = self.state
        minute, jobs = state.facts.minute(tick), {}
        timed = state.latencies.take(boundary.timed, tick, state.open)
        state.retries.see(boundary.retries)
        closings = close_due(
            boundary.rows,
            state.open,
            state.streams,
            tick=tick,
            kind_of=state.rules.kind_of,
            case_of=state.case_of,
            made_ahead=self._made_ahead,
            retired=state.retired,
        )
        for closing in closings:
            key = closing.ended.key
            item = self._closed(key)
            jobs[key] = item.job
            state.latencies.ended(key)
            state.view.move(item.cells, counted(item), closing.counts_as)
            state.corrections.charge(closing, item, tick, waits=state.rules.waits)
            state.cadence.touch(key.owner)
            if closing.ended.end == "stale":
                state.warnings["job.stale"] += 1
            else:
                self._count_losses(closing.ended.effects)
                state.rater.learn(state.streams, closing.ended.effects)
            self._learn_usage(closing.note, item)
            if closing.note.failure == PROMPT_FAILED:
                state.warnings["job.prompt_failed"] += 1
            elif closing.note.refusal:
                state.warnings["job.effects_refused"] += 1
            elif closing.ended.reason != "none" and not closing.ended.effects:
                state.warnings["job.nothing_recorded"] += 1
        late = state.late.take(boundary.late_answers, state.streams, tick, minute)
        for closing in late:
            state.cadence.touch(closing.ended.key.owner)
            if closing.ended.end != "applied":
                state.warnings["job.late_answer_unused"] += 1
        state.late.expect(closings, jobs, state.streams, minute)
        corrected = state.corrections.take(boundary.learned, state.view)
        self._count_answers(timed)
        overdue = self._learn_overdue(boundary.overdue, {key: jobs[key] for key in _late(closings)}, tick)
        self._begun = BegunTick(tuple(closings), tuple(late), corrected, timed, overdue)
        return [change for closing in (*closings, *late) for change in closing.changes]

    def ends(self) -> list[JobEnd]:
        """Return the ends of the jobs that were due at the boundary that was passed last."""
        closings = self._begun.closings
        ended, notes = (closing.ended for closing in closings), (closing.note for closing in closings)
        return list(ends_at_boundary(self.state.run, ended, notes))

    def end(
        self, tick: int, turn: WorldTurn, controls: Sequence[ControlRequest | None] = (), *, away: bool = False
    ) -> FinishedTick:
        """End the tick: remember what the world did in its turn, enforce the limits of memory, and admit new jobs.

        Args:
            controls: requests of operators.
            away: whether the ledger is away, so that no job can be admitted.
        """
        state = self.state
        begun, self._begun = self._begun, BegunTick()
        minute = state.facts.minute(tick)
        joins, leaves = dict(sorted(turn.joins.items())), sorted(turn.leaves)
        changed_facts = self._join(tick, joins)
        gone = self._leave(leaves, tick)
        world_effects = self._apply_of_world(tick, turn.world_effects)
        touched = {effect.owner for one in (*begun.closings, *begun.late) for effect in one.ended.effects}
        touched |= {effect.owner for effect in world_effects}
        touched |= {owner for owner, _ in turn.observed if not state.streams[owner].entries}
        remembered = self._remembering.take_in(state.streams, turn.observed, tick, state.facts.limits)
        here = sorted((touched | {owner for owner, _ in turn.observed}) & state.streams.keys())
        rated = state.rater.rate(state.streams, here, tick)
        names = state.world().display_names
        cuts = cut(state.streams, here, state.facts.limits, tick=tick, minute=minute, names=names)
        self._count_losses(cuts)
        deleted = self._retention.forget(state.streams, state.facts, state.open.values(), tick)
        touched |= {effect.owner for effect in cuts}
        for owner in sorted(touched & state.streams.keys()):
            state.cadence.touch(owner)
        observed = ((owner, entry) for owner, entry in turn.observed if owner not in touched)
        state.cadence.observed(observed, state.streams, state.world(), minute)
        for owner in leaves:
            state.cadence.forget(owner)
            self._remembering.forget(owner)
            state.steering.throttle.postponing.forget(owner)
        steered = self._steer(controls, begun.closings, tick, minute)
        called = [request for request in turn.requests if request.owner not in leaves]
        # No job may be opened for an owner that leaves with this tick.
        staying = {o: s for o, s in state.streams.items() if o not in state.retired} if leaves else state.streams
        requests = [*called, *self._recounts(turn.triggers, staying)]
        decided, postponed = self._decide(tick, minute, requests, called, staying, away=away)
        decided += self._of_leavers(tick, turn.requests, leaves)
        opened = self._open(minute, decided)
        if postponed:
            state.warnings["reflect.postponed"] += len(postponed)
        faults = state.cadence.take_faults()
        if faults:
            state.warnings["kind.failed"] += len(faults)
        state.late.forget(state.streams, leaves, minute)
        state.corrections.forget(tick)
        state.steering.settle(any(item.admitted for item in state.open.values()))
        closings = [*begun.closings, *gone, *steered.cancelled]
        core = Core(
            tick=tick,
            minute=minute,
            unread=self._leave_out(),
            joined=tuple(joins.items()),
            left=tuple(leaves),
            facts=state.facts if changed_facts else None,
            ended=tuple(closing.ended for closing in closings),
            late=tuple(closing.ended for closing in begun.late),
            world_effects=tuple(world_effects),
            observed=remembered.observed,
            waiting=remembered.waiting,
            repeated=remembered.repeated,
            rated=rated,
            cuts=cuts,
            deleted=deleted,
            controls=steered.controls,
            stepped=steered.stepped,
            postponed=postponed,
            decided=tuple(d.line for d in decided),
        )
        outcome = FinishedTick(
            core=core,
            notes=state.retries.close(closing.note for closing in closings),
            late=tuple(closing.note for closing in begun.late),
            corrected=begun.corrected,
            retried=state.retries.rest(state.open, {closing.ended.key for closing in closings}),
            timed=begun.timed,
            overdue=begun.overdue,
            answered=self._answered(begun.timed),
            opened=tuple(opened),
            streams=state.streams.take_changed(),
            faults=faults,
        )
        for owner in leaves:
            del state.streams[owner], state.profiles[owner]
        return outcome

    def _leave_out(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the entries that a resumed run lacks, once, for the journal of its first tick."""
        state = self.state
        gone: dict[str, list[int]] = {}
        for one in state.left_out:
            gone.setdefault(one.owner, []).append(one.number)
            state.warnings["memory.unreadable"] += 1
        state.left_out = []
        return tuple((owner, tuple(sorted(numbers))) for owner, numbers in sorted(gone.items()))

    # -- its parts ---------------------------------------------------------------------------------

    def _join(self, tick: int, joins: Mapping[str, Profile]) -> bool:
        state = self.state
        if not joins and state.facts_at.get(state.facts_version) is state.facts:
            return False
        for owner, profile in joins.items():
            state.streams[owner] = Stream(owner)
            state.profiles[owner] = profile
            state.cadence.touch(owner)
        named = {owner: state.profiles[owner].name for owner in sorted(state.profiles)}
        agents = {owner: name for owner, name in named.items() if owner.startswith("agent:")}
        others = {owner: name for owner, name in named.items() if owner not in agents}
        state.facts = msgspec.structs.replace(state.facts, names=agents, scope_names=others)
        state.facts_version = tick
        state.facts_at[tick] = state.facts
        return True

    def _leave(self, leaves: Iterable[str], tick: int) -> list[Closing]:
        state = self.state
        gone: list[Closing] = []
        for owner in leaves:
            read = [k for k, item in state.open.items() if any(r.owner == owner for r in item.job.reads)]
            gone += self._cancel(read, tick)
            state.deferred = [waiting for waiting in state.deferred if waiting.request.owner != owner]
            state.retired.add(owner)
        return gone

    def _cancel(self, keys: Iterable[JobKey], tick: int) -> list[Closing]:
        state = self.state
        closings = [cancelled(state.open[key]) for key in sorted(keys)]
        for closing in closings:
            item = self._closed(closing.ended.key)
            state.view.move(item.cells, counted(item), closing.counts_as)
            state.corrections.charge(closing, item, tick, waits=state.rules.waits)
            state.latencies.ended(closing.ended.key)
            state.cadence.touch(closing.ended.key.owner)
        return closings

    def _made_ahead(self, row: DueJob) -> KindEffects | None:
        """Return what the heuristic of a job gives, if this host has computed it in idle time or a worker staged it."""
        made = self._ahead.made(row.key) if self._ahead is not None else None
        return made if made is not None else self._fallbacks.read(row.key, row.fallback)

    def _closed(self, key: JobKey) -> OpenJob:
        """Take a job that has its end out of the open ones, and return it."""
        if self._ahead is not None:
            self._ahead.forget(key)
        return self.state.open.close(key)

    def _steer(
        self, requested: Sequence[ControlRequest | None], closings: Sequence[Closing], tick: int, minute: int
    ) -> Steered:
        """Apply the requests of operators, and let the controller of the cadence take its step."""
        state = self.state
        before = state.steering.mode
        state.steering.throttle.see((closing.ended for closing in closings), tick)
        controls = state.steering.take(requested, tick, minute)
        stepped = state.steering.throttle.step(state.view, minute, state.facts.minute(tick - 1))
        if before == "draining" and state.steering.mode in ("running", "paused"):
            state.touch_all()
        gone: list[Closing] = []
        if state.steering.mode == "cancelled":
            gone, state.deferred = self._cancel(state.open, tick), []
        return Steered(controls, stepped, gone)

    def _count_answers(self, timed: Iterable[Timed]) -> None:
        """Count a job whose answer waits for its due tick as what its call used."""
        state = self.state
        for fact in timed:
            item = state.open.get(fact.key)
            if item is not None and item.admitted and fact.used != Cost():
                state.view.move(item.cells, counted(item), fact.used)
                state.open[fact.key] = msgspec.structs.replace(item, answered=fact.used)

    def _answered(self, timed: Iterable[Timed]) -> tuple[OpenJob, ...]:
        """Return the open jobs of which this tick's boundary has learned what their calls used."""
        found = {fact.key: self.state.open[fact.key] for fact in timed if fact.key in self.state.open}
        return tuple(item for item in found.values() if item.answered is not None)

    def _learn_overdue(self, facts: Iterable[Overdue], late: Mapping[JobKey, Job], tick: int) -> tuple[Overdue, ...]:
        """Learn from jobs that ended late while a worker had them, and return what was new."""
        state, new = self.state, []
        for fact in facts:
            job = late.get(fact.key)
            if not fact.ticks:
                learned = state.latencies.give_up(fact.key)
            elif learned := job is not None and state.due.follows(fact.key.kind, job.model):
                state.latencies.overdue(fact, job.model, job.ahead, tick)
            new += [fact] if learned else []
        return tuple(new)

    def _learn_usage(self, note: EndNote, item: OpenJob) -> None:
        state = self.state
        if note.count is not None:
            state.estimates.learn(note.model, note.count)
        if note.saved:
            return
        if note.unreported:
            state.warnings["job.usage_unreported"] += 1
        if note.usage.tokens > item.job.reserved.tokens and note.model:
            state.warnings["job.overrun"] += 1

    def _apply_of_world(self, tick: int, effects: Iterable[Effect]) -> list[Effect]:
        """Apply the effects that the world requested, and return those whose preconditions hold."""
        state = self.state
        applied = []
        for effect in effects:
            if unmet(state.streams, (effect,)) is not None:
                state.warnings["world.effect_refused"] += 1
                continue
            apply(state.streams, (effect,), tick)
            applied.append(effect)
        return applied

    def _count_losses(self, effects: Iterable[Effect]) -> None:
        for loss in losses(effects):
            self.state.warnings[loss.name] += loss.amount

    def _recounts(self, new: Iterable[ScopeTrigger], staying: Mapping[str, Stream]) -> list[Request]:
        """Return requests for the scopes that have something to recount; the trigger of a busy one waits."""
        state = self.state
        if Recount.name in state.rules.disabled:
            state.triggers = []
            return []
        if not new and not state.triggers:
            return []
        requests, state.triggers = recounts([*state.triggers, *new], staying, state.profiles, state.busy(()))
        return requests

    def _decide(
        self,
        tick: int,
        minute: int,
        requests: Sequence[Request],
        called: Sequence[Request],
        staying: Mapping[str, Stream],
        *,
        away: bool,
    ) -> tuple[list[Decided], tuple[Postponed, ...]]:
        state = self.state
        again = [waiting.request for waiting in state.deferred if waiting.at <= tick]
        state.deferred = [waiting for waiting in state.deferred if waiting.at > tick]
        due, postponed = self._due(tick, minute, again) if state.steering.admits else ([], ())
        if state.steering.mode == "cancelled":
            return [], ()

        def offers_of(request: Request) -> Sequence[ModelOption]:
            return state.rules.offers(request, lambda owner: state.moment(owner, tick, minute))

        decided = admit(
            [*again, *requests, *due],
            tick=tick,
            minute=minute,
            view=state.view,
            kind_of=state.rules.kind_of,
            offers_of=offers_of,
            last_served=state.last_served,
            due=state.due,
            closed="away" if away else "" if state.steering.admits else state.steering.mode,
            called=called,
        )
        busy = state.busy(d.request for d in decided)
        decided += state.steering.retry(
            staying, tick=tick, minute=minute, offers_of=offers_of, busy=busy, due=state.due
        )
        admits = state.steering.admits and not away
        if admits and is_time(minute, state.facts.minute(tick - 1), state.rules.repair_from):
            busy = state.busy(d.request for d in decided)
            decided += admit_repairs(
                staying,
                tick=tick,
                minute=minute,
                view=state.view,
                rules=state.rules,
                offers_of=offers_of,
                busy=busy,
                due=state.due,
            )
        for d in decided:
            successor = d.line.successor
            if successor is not None:
                within = d.request.within and d.request.within - DEFER_TICKS
                request = msgspec.structs.replace(d.request, trial=successor.trial, within=within)
                state.deferred.append(Deferred(successor.tick, request))
            elif d.grant is not None:
                note_served(state.streams, d.line.key)
        return decided, postponed

    def _of_leavers(self, tick: int, requests: Iterable[Request], leaves: Collection[str]) -> list[Decided]:
        """Return the decisions on requests of the host for owners that leave with the tick: they are dropped."""
        dropped: list[Decided] = []
        ordinals: Counter[tuple[str, str]] = Counter()
        for request in requests if self.state.steering.mode != "cancelled" else ():
            if request.owner in leaves:
                key = JobKey(tick, request.kind, request.owner, ordinals[request.kind, request.owner], request.trial)
                ordinals[request.kind, request.owner] += 1
                offer = self.state.rules.offers_of(self.state.rules.kind_of(request.kind), "routine")[-1]
                line = DecidedLine(key=key, decision="dropped", refused=LEFT)
                dropped.append(Decided(line, request, offer))
        return dropped

    def _due(self, tick: int, minute: int, again: Iterable[Request]) -> tuple[list[Request], tuple[Postponed, ...]]:
        """Return the requests that are due by cadence, and those of them that the throttle postpones."""
        state = self.state
        busy = state.busy(again)
        found = state.cadence.due(tick, lambda owner: state.moment(owner, tick, minute), busy)

        def again_due(kind: str, owner: str) -> Iterable[Request]:
            if busy(kind, owner):
                return ()
            return state.cadence.due_now(state.rules.kind_of(kind), state.moment(owner, tick, minute))

        limits = state.facts.limits
        return state.steering.throttle.sift(
            found,
            state.streams,
            minute=minute,
            interval=limits.reflection_interval,
            again=again_due,
            enough=None if limits.reflection_trigger == "interval" else limits.reflection_trigger_max,
        )

    def _open(self, minute: int, decided: Iterable[Decided]) -> list[OpenJob]:
        state = self.state
        opened = []
        for d in decided:
            if d.line.decision in ("admitted", "heuristic"):
                item = open_job(
                    d,
                    run=state.run,
                    minute=minute,
                    rules=state.rules,
                    streams=state.streams,
                    retired=state.retired,
                    facts=state.facts_version,
                    correction=state.estimates.correction(d.offer.model),
                )
                opened.append(item)
                state.open[item.job.key] = item
        if self._ahead is not None:
            self._ahead.add(opened)
        return opened


def _late(closings: Iterable[Closing]) -> Iterable[JobKey]:
    return (closing.ended.key for closing in closings if closing.ended.reason == "late")
