"""The state of a run in the host's memory, and what one tick does to it. No I/O, no clock, no randomness.

Everything here can be dropped and read back from the ledger; the tick loop does that on resume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from memory.apply import apply, unmet
from memory.effects import Effect, losses
from memory.entry import as_known
from memory.profile import Profile
from memory.stream import Stream
from scheduler import upkeep
from scheduler.admission import Decided, admit
from scheduler.boundary import Change, Closing, close_due
from scheduler.budget import BudgetView
from scheduler.cadence import Cadence
from scheduler.facts import Facts
from scheduler.journal import Core, DecidedLine, Ended, EndNote
from scheduler.ledger import Row
from scheduler.open_jobs import OpenJob, open_job, read_numbers, whole
from scheduler.opening import job_of
from scheduler.rating import Rater
from scheduler.remembering import Remembering
from scheduler.repairs import admit_repairs, is_time
from scheduler.triggers import Trigger, recounts
from scheduler.turn import Deferred, Outcome, Rules, WorldTurn
from tasks.job import JobKey, Request
from tasks.kind import Case, Moment
from tasks.recall import display_names


class Mind:
    """Streams, open jobs, admission's view and cadence of one run."""

    def __init__(self, *, run: str, rules: Rules, facts: Facts, view: BudgetView) -> None:
        self.run = run
        self.rules = rules
        self.facts = facts
        self.facts_version = 0
        self.facts_at: dict[int, Facts] = {}  # by version, as far as open jobs were made with them
        self.view = view
        self.profiles: dict[str, Profile] = {}
        self.streams: dict[str, Stream] = {}
        self.retired: set[str] = set()
        self.open: dict[JobKey, OpenJob] = {}
        self.deferred: list[Deferred] = []
        self.triggers: list[Trigger] = []  # of scopes that recount already
        self.warnings: Counter[str] = Counter()
        self.cadence = Cadence(rules.kinds)
        self.rater = Rater(share=rules.rate_share)
        self._remembering = Remembering(coalesce=rules.coalesce)
        self._names: tuple[int, Mapping[str, str]] = (-1, {})  # what owners and places are called, by facts' version
        self._closings: list[Closing] = []

    # -- a tick ------------------------------------------------------------------------------------

    def begin(self, tick: int, rows: Sequence[Row]) -> list[Change]:
        """The boundary: end what is due and apply it. Returns the changes for the world, in order."""
        self._closings = close_due(
            rows, self.open, self.streams, tick=tick, kind_of=self.rules.kind_of, case_of=self.case_of
        )
        for closing in self._closings:
            key = closing.ended.key
            item = self.open.pop(key)
            self.view.move(item.cells, whole(item), closing.counts_as)
            self.cadence.touch(key.owner)
            if closing.ended.end == "stale":
                self.warnings["job.stale"] += 1
            else:
                self._count_losses(closing.ended.effects)
                self.rater.learn(self.streams, closing.ended.effects)
            if closing.ended.reason != "none" and not closing.ended.effects:
                self.warnings["job.nothing_recorded"] += 1
        return [change for closing in self._closings for change in closing.changes]

    def end(self, tick: int, turn: WorldTurn) -> Outcome:
        """The rest of the tick: what the world did is written, limits are made to hold, new jobs are admitted."""
        minute = self.facts.minute(tick)
        joins, leaves = dict(sorted(turn.joins.items())), sorted(turn.leaves)
        changed_facts = self._join(tick, joins)
        cancelled = self._leave(leaves)
        asked = self._ask(tick, turn.asked)
        remembered = self._remembering.take_in(self.streams, turn.observed, tick, self.facts.limits)
        changed = {effect.owner for closing in self._closings for effect in closing.ended.effects}
        changed |= {effect.owner for effect in asked} | {owner for owner, _ in turn.observed}
        here = sorted(changed & self.streams.keys())
        rated = self.rater.rate(self.streams, here, tick)
        names = self._display_names()
        cuts = upkeep.cut(self.streams, here, self.facts.limits, tick=tick, minute=minute, names=names)
        self._count_losses(cuts)
        deleted = upkeep.forget(self.streams, self.facts, self.open.values(), tick)
        for owner in here:
            self.cadence.touch(owner)
        for owner in leaves:
            self.cadence.forget(owner)
            self._remembering.forget(owner)
        requests = [request for request in turn.requests if request.owner not in leaves]
        decided = self._decide(tick, minute, [*requests, *self._recounts(turn.triggers)])
        opened = self._open(minute, decided)
        closings, self._closings = self._closings + cancelled, []
        core = Core(
            tick=tick,
            minute=minute,
            joined=tuple(joins.items()),
            left=tuple(leaves),
            facts=self.facts if changed_facts else None,
            ended=tuple(closing.ended for closing in closings),
            asked=tuple(asked),
            observed=remembered.observed,
            waiting=remembered.waiting,
            repeated=remembered.repeated,
            rated=rated,
            cuts=cuts,
            deleted=deleted,
            decided=tuple(
                DecidedLine(
                    key=d.key,
                    decision=d.decision,
                    due=tick + self.rules.latency(d.key.kind) if d.decision in ("admitted", "heuristic") else 0,
                    refused=d.refused,
                    successor=d.successor,
                )
                for d in decided
            ),
        )
        outcome = Outcome(
            core=core,
            notes=tuple(closing.note for closing in closings),
            closed=tuple(closing.ended.key for closing in closings),
            opened=tuple(opened),
            streams=tuple(self.streams[owner] for owner in sorted(self.streams) if self.streams[owner].changes),
        )
        for owner in leaves:
            del self.streams[owner], self.profiles[owner]
        return outcome

    def case_of(self, item: OpenJob) -> Case:
        """What an open job works from: the same that a worker would be given."""
        job = item.job
        memories = {}
        for reads in job.reads:
            stream = self.streams[reads.owner]
            if reads.numbers is None:
                memories[reads.owner] = stream.as_of(reads.upto, job.key.tick)
            else:
                wanted = sorted(n for n in {*reads.numbers} if n <= reads.upto)
                found = (stream.entries[n] for n in wanted if n in stream.entries)
                memories[reads.owner] = [as_known(entry, job.key.tick) for entry in found]
        profile = self.profiles[job.key.owner]
        return Case(job=job, profile=profile, world=self.facts_at[job.facts].world(), memories=memories)

    def rewake(self, tick: int) -> None:
        """After a restore: find out anew when each kind wants to be asked about each owner."""
        minute = self.facts.minute(tick)
        moments = (self._moment(owner, tick, minute) for owner in sorted(self.streams))
        self.cadence.rewake(moments, self._busy(()))

    # -- its parts ---------------------------------------------------------------------------------

    def _join(self, tick: int, joins: Mapping[str, Profile]) -> bool:
        if not joins and self.facts_version:
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

    def take_stale_facts(self) -> list[int]:
        """Versions of the facts that no open job was made with; they are forgotten."""
        used = {item.job.facts for item in self.open.values()} | {self.facts_version}
        stale = sorted(self.facts_at.keys() - used)
        for version in stale:
            del self.facts_at[version]
        return stale

    def _leave(self, leaves: Iterable[str]) -> list[Closing]:
        cancelled = []
        for owner in leaves:
            for key in sorted(key for key, item in self.open.items() if any(r.owner == owner for r in item.job.reads)):
                item = self.open.pop(key)
                ended = Ended(key=key, end="cancelled", reason="cancelled")
                # It keeps its whole reservation: what its attempts cost may not be known yet.
                cancelled.append(Closing(ended, EndNote(key=key, source="none"), whole(item), ()))
                self.cadence.touch(key.owner)
            self.deferred = [waiting for waiting in self.deferred if waiting.request.owner != owner]
            self.retired.add(owner)
        return cancelled

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

    def _display_names(self) -> Mapping[str, str]:
        """What owners and places are called."""
        if self._names[0] != self.facts_version:
            self._names = (self.facts_version, display_names(self.facts.world()))
        return self._names[1]

    def _recounts(self, new: Iterable[Trigger]) -> list[Request]:
        """What scopes have to tell now; one that is busy tells it later."""
        if not new and not self.triggers:
            return []
        here = {owner: stream for owner, stream in self.streams.items() if owner not in self.retired}
        requests, self.triggers = recounts([*self.triggers, *new], here, self.profiles, self._busy(()))
        return requests

    def _decide(self, tick: int, minute: int, requests: Sequence[Request]) -> list[Decided]:
        again = [waiting.request for waiting in self.deferred if waiting.at <= tick]
        self.deferred = [waiting for waiting in self.deferred if waiting.at > tick]
        due = self.cadence.due(tick, lambda owner: self._moment(owner, tick, minute), self._busy(again))
        decided = admit(
            [*again, *requests, *due],
            tick=tick,
            minute=minute,
            view=self.view,
            kind_of=self.rules.kind_of,
            cost_of=self.rules.cost_of,
            last_served=self._last_served,
        )
        if is_time(minute, self.facts.minute(tick - 1), self.rules.repair_from):
            busy = self._busy(d.request for d in decided)
            decided += admit_repairs(
                self.streams, tick=tick, minute=minute, view=self.view, rules=self.rules, busy=busy
            )
        for d in decided:
            if d.successor is not None:
                request = msgspec.structs.replace(d.request, trial=d.successor.trial)
                self.deferred.append(Deferred(d.successor.tick, request))
            elif d.decision == "admitted":
                note_served(self.streams, d.key)
        return decided

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
                )
                opened.append(open_job(d, job))
                self.open[d.key] = opened[-1]
        return opened

    def _busy(self, again: Iterable[Request]) -> Callable[[str, str], bool]:
        taken = {(key.kind, key.owner) for key in self.open}
        taken |= {(request.kind, request.owner) for request in again}
        taken |= {(waiting.request.kind, waiting.request.owner) for waiting in self.deferred}
        return lambda kind, owner: (kind, owner) in taken

    def _moment(self, owner: str, tick: int, minute: int) -> Moment:
        brief = dict(self.rules.brief(owner))
        brief["open_numbers"] = read_numbers((j for k, j in self.open.items() if k.owner == owner), owner)
        return Moment(
            owner=owner,
            stream=self.streams[owner],
            profile=self.profiles[owner],
            tick=tick,
            minute=minute,
            world=self.facts.world(),
            brief=brief,
            estimate=partial(self.rater.estimate, owner),
        )

    def _last_served(self, kind: str, owner: str) -> int:
        return self.streams[owner].head.counters.get(f"served:{kind}", -1)


def note_served(streams: Mapping[str, Stream], key: JobKey) -> None:
    """Remember when an owner was last served, for the order in which scarce budget is given out."""
    streams[key.owner].set_counter(f"served:{key.kind}", key.tick)
