"""The part that decides the requests of the host, of triggers and of the cadence at the end of a tick, and opens jobs.

A request that is admitted or left to its heuristic becomes a job; a deferred one is tried again at a later tick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby

import msgspec

from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import (
    AWAY,
    DEFER_TICKS,
    AdmissionRound,
    Decided,
    DecidedLine,
    admit,
    replacement,
)
from cogitate.scheduler.budget.budget import NOTHING
from cogitate.scheduler.budget.repairs import admit_repairs, is_time
from cogitate.scheduler.config.tiers import ModelOption, Tier
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob, job_writes
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_data import Deferred
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.triggers import ScopeTrigger, recounts
from cogitate.scheduler.engine.valuing import value_round
from cogitate.scheduler.journal.ends import LEFT
from cogitate.scheduler.journal.lines import Postponed
from cogitate.scheduler.journal.rebuilt_streams import note_served
from cogitate.scheduler.ledger.ledger import Write
from cogitate.tasks.job import Correction, Job, JobKey, Reads, Request
from cogitate.tasks.kind import Kind
from cogitate.tasks.recount import Recount


class Admitting(Part):
    """Decides a tick's requests, and opens their jobs."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._opened: list[OpenJob] = []  # by this tick

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Have the cadence check the owner of a job that has ended."""
        self._state.cadence.touch(closing.ended.key.owner)

    def end(self, tick: TickState) -> None:
        """Ask the cadence which kinds are due, decide all requests, and open the jobs."""
        state, turn = self._state, tick.turn
        self._touch(tick)
        called = [self._completed(request, tick) for request in turn.requests if request.owner not in turn.leaves]
        replaced = {(item.job.key.kind, item.job.key.owner) for item in tick.called_off}
        # No job may be opened for an owner that leaves with this tick.
        staying = {o: s for o, s in state.streams.items() if o not in state.retired} if turn.leaves else state.streams
        requests = [*called, *self._recounts(turn.triggers, staying, replaced)]
        decided, postponed = self._decide(tick, requests, called, staying, replaced)
        decided += self._of_leavers(tick)
        tick.opened = self._opened = self._open(tick.minute, decided)
        state.cadence.decided(state.busy(()))
        if postponed:
            state.warnings["reflect.postponed"] += len(postponed)
        tick.faults = state.cadence.take_faults()
        if tick.faults:
            state.warnings["kind.failed"] += len(tick.faults)
        state.steering.settle(any(item.admitted for item in state.open.values()))
        tick.core["postponed"] = postponed
        tick.core["decided"] = tuple(d.line for d in decided)

    def _completed(self, request: Request, tick: TickState) -> Request:
        """Return a host's request, with parameters that the host did not give completed by the kind."""
        kind = self._state.rules.kind_of(request.kind)
        if type(kind).known_params is Kind.known_params:
            return request
        known = kind.known_params(self._state.moments(tick.number, tick.minute)(request.owner))
        return msgspec.structs.replace(request, params={**known, **request.params})

    def _touch(self, tick: TickState) -> None:
        """Tell the cadence which owners' memories have changed."""
        state, touched = self._state, tick.touched | tick.cut
        for closing in tick.applied:
            state.cadence.touch(closing.ended.key.owner)
        for owner in sorted(touched & state.streams.keys()):
            state.cadence.touch(owner)
        observed = ((owner, entry) for owner, entry in tick.turn.observed if owner not in touched)
        state.cadence.observed(observed, state.streams, state.world(), tick.minute)
        for owner in tick.turn.leaves:
            state.cadence.forget(owner)

    def _recounts(
        self, new: Iterable[ScopeTrigger], staying: Mapping[str, Stream], replaced: Collection[tuple[str, str]]
    ) -> list[Request]:
        """Return requests for the scopes that have messages to recount; a busy scope's trigger waits."""
        state = self._state
        if Recount.name in state.rules.disabled:
            state.triggers = []
            return []
        if not new and not state.triggers:
            return []
        requests, state.triggers = recounts([*state.triggers, *new], staying, state.profiles, state.busy(replaced))
        return requests

    def _decide(
        self,
        now: TickState,
        requests: Sequence[Request],
        called: Sequence[Request],
        staying: Mapping[str, Stream],
        replaced: Collection[tuple[str, str]],
    ) -> tuple[list[Decided], tuple[Postponed, ...]]:
        state, tick, minute, away = self._state, now.number, now.minute, now.away
        again = [waiting.request for waiting in state.deferred if waiting.at <= tick]
        state.deferred = [waiting for waiting in state.deferred if waiting.at > tick]
        taken = {*replaced, *((request.kind, request.owner) for request in again)}
        due, postponed = self._due(tick, minute, taken) if state.steering.admits else ([], ())
        if state.steering.mode == "cancelled":
            return [], ()

        options: dict[tuple[str, Tier], Sequence[ModelOption]] = {}  # of this tick
        moment_of = state.moments(tick, minute)

        def offers_of(request: Request) -> Sequence[ModelOption]:
            tier = state.rules.tier(request, moment_of)
            offers = options.get((request.kind, tier))
            if offers is None:
                kind = state.rules.kind_of(request.kind)
                offers = options[request.kind, tier] = [
                    state.rules.with_headroom(kind, option, state.estimates.headroom(option.model))
                    for option in state.rules.offers_of(kind, tier)
                ]
            return offers

        values = value_round(state, minute)
        at = AdmissionRound(tick, minute, state.view, state.rules, offers_of, state.due, values)
        decided = admit(
            [*again, *requests, *due],
            at,
            last_served=state.last_served,
            closed=AWAY if away else "" if state.steering.admits else state.steering.mode,
            called=called,
        )
        for item in now.called_off:
            decided.append(replacement(item.job, {d.line.key for d in decided}, at))

        def busy() -> Callable[[str, str], bool]:
            return state.busy((d.request.kind, d.request.owner) for d in decided)

        if state.steering.retries:
            decided += state.steering.retry(staying, at, busy())
        admits = state.steering.admits and not away
        if admits and is_time(minute, state.facts.minute(tick - 1), state.rules.repair_from):
            decided += admit_repairs(staying, at, busy())
        for d in decided:
            successor = d.line.successor
            if successor is not None:
                within = d.request.within and d.request.within - DEFER_TICKS
                request = msgspec.structs.replace(d.request, trial=successor.trial, within=within)
                state.deferred.append(Deferred(successor.tick, request))
            elif d.grant is not None:
                note_served(state.streams, d.line.key)
        return decided, postponed

    def _of_leavers(self, tick: TickState) -> list[Decided]:
        """Return decisions that drop the host's requests for owners that leave with the tick."""
        dropped: list[Decided] = []
        ordinals: Counter[tuple[str, str]] = Counter()
        rules = self._state.rules
        for request in tick.turn.requests if self._state.steering.mode != "cancelled" else ():
            if request.owner in tick.turn.leaves:
                ordinal = ordinals[request.kind, request.owner]
                ordinals[request.kind, request.owner] += 1
                key = JobKey(tick.number, request.kind, request.owner, ordinal, request.trial)
                line = DecidedLine(key=key, decision="dropped", refused=LEFT)
                dropped.append(Decided(line, request, rules.offers_of(rules.kind_of(request.kind), "routine")[-1]))
        return dropped

    def _due(
        self, tick: int, minute: int, taken: Iterable[tuple[str, str]]
    ) -> tuple[list[Request], tuple[Postponed, ...]]:
        """Return the requests that are due by cadence, and those that the throttle postpones.

        Args:
            taken: kinds and owners that already get a job at this tick; the cadence does not ask about them.
        """
        state = self._state
        busy, moment_of = state.busy(taken), state.moments(tick, minute)
        due = state.cadence.due(tick, moment_of, busy, state.streams)

        def still_due(kind: str, owner: str) -> Iterable[Request]:
            if busy(kind, owner):
                return ()
            return state.cadence.due_now(state.rules.kind_of(kind), moment_of(owner))

        limits = state.facts.limits
        return state.steering.throttle.sift(
            due,
            state.streams,
            minute=minute,
            before=state.facts.minute(tick - 1),
            interval=limits.reflection_interval,
            again=still_due,
            enough=None if limits.reflection_trigger == "interval" else limits.reflection_trigger_max,
        )

    def _open(self, minute: int, decided: Iterable[Decided]) -> list[OpenJob]:
        state = self._state
        opened = []
        wanted = (d for d in decided if d.line.decision in ("admitted", "heuristic"))
        correction = cache(state.estimates.correction)
        for _, alike in groupby(wanted, lambda d: (d.request.kind, d.offer)):
            like: Job | None = None
            for d in alike:
                like = like or first_alike(d, state, minute, correction(d.offer.model))
                item = open_job(d, state, like)
                opened.append(item)
                state.open[item.job.key] = item
        return opened

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        opened, self._opened = self._opened, []
        return job_writes(opened, self._state.view)


def first_alike(decided: Decided, state: RunState, minute: int, correction: Correction) -> Job:
    """Return a job with the fields that all jobs of its kind and option share at a tick.

    Args:
        correction: of token estimates for its model.
    """
    kind, offer = state.rules.kind_of(decided.request.kind), decided.offer
    return Job(
        run=state.run,
        key=decided.line.key,
        minute=minute,
        due=decided.line.due,
        reads=(),
        model=offer.model,
        prompt_cap=offer.prompt_cap,
        output_cap=kind.output_cap + offer.headroom,
        facts=state.facts_version,
        correction=correction.plain,
        correction_others=correction.others,
    )


def open_job(decided: Decided, state: RunState, like: Job) -> OpenJob:
    """Return the job of a request that was admitted or left to its heuristic.

    Args:
        like: the first job of its kind and option (`first_alike`). Replacing the few fields that differ takes a fifth
            of the time of naming all fields, which counts in a crowd.
    """
    line, request, grant = decided.line, decided.request, decided.grant
    head = state.streams[request.owner].head
    job = msgspec.structs.replace(
        like,
        key=line.key,
        due=line.due,
        reads=_reads(request, state.streams, state.retired),
        params=request.params,
        priority=request.priority,
        summary=head.summary,
        summary_version=head.summary_version,
        character=head.character,
        reserved=grant.reserved if grant is not None else NOTHING,
        ahead=decided.ahead,
        at=request.at,
        refused=line.refused,
        valued=decided.valued,
    )
    return OpenJob(job=job, grant=grant)


def _reads(request: Request, streams: Mapping[str, Stream], retired: Collection[str]) -> tuple[Reads, ...]:
    """Return the parts of streams that a job reads, up to their present ends; leavers' streams are left out."""
    own = Reads(request.owner, streams[request.owner].head.last_number, request.numbers)
    if not request.reads and not retired:
        return (own,)
    parts = [own] if request.owner not in retired else []
    for reads in request.reads:
        if reads.owner in streams and reads.owner not in retired:
            newest = streams[reads.owner].head.last_number
            parts.append(Reads(reads.owner, min(reads.upto or newest, newest), reads.numbers))
    return tuple(parts)
