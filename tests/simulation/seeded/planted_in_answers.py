"""Planted bugs in what becomes of answers: corrections, cancelled jobs, heuristics, packs, batches and tiers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import msgspec

import cogitate.scheduler.budget.admission
import cogitate.scheduler.engine.admitting
import cogitate.scheduler.engine.boundary
import cogitate.scheduler.engine.engine
import cogitate.workers.jobs.packs.request
from cogitate.memory import typed_json
from cogitate.scheduler.budget.admission import Decided
from cogitate.scheduler.config.endpoints import FLEX, Model
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.lines import Core, JournalLine, unpack_line
from cogitate.scheduler.ledger.batches import Batch, Batches
from cogitate.scheduler.ledger.ledger import Commit, HostLedger
from cogitate.scheduler.ledger.step_replies import Advanced
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.jobs.batches.desk import BatchDesk
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.service_tiers import ServiceTiers
from tests.simulation.seeded.altered import in_script


def late_staging_accepted() -> AbstractContextManager[Any]:
    """A job whose result arrives after the host has looked is not closed with its tick."""
    advance = HostLedger.advance

    def changed(self: HostLedger, commit: Commit, apply: Any) -> Advanced | None:
        line = typed_json.decode(unpack_line(commit.line)[1], JournalLine)
        late = {end.key for end in typed_json.decode(line.core, Core).ended if end.reason == "late"}
        staged = {key for key in late if self.client.hget(self.store.job_key(key.text()), "state") == b"staged"}
        return advance(self, replace(commit, closed=[key for key in commit.closed if key not in staged]), apply)

    return patch.object(HostLedger, "advance", changed)


def late_answers_for_ever() -> AbstractContextManager[Any]:
    """A late answer is awaited although what stands in its place was replaced, archived, or is gone with its owner."""
    return patch.object(LateAnswers, "forget", lambda *known: None)


def corrections_taken_again() -> AbstractContextManager[Any]:
    """What a job came to is taken from the view whenever it is seen, and it is seen once more than it should be."""
    take = Corrections.take

    def changed(self: Corrections, learned: Any, view: Any) -> Any:
        before = dict(self.charged)
        corrections = take(self, learned, view)
        again = [c for c in corrections if not c.kept]
        for correction in again:
            job = before[correction.key]
            view.correct(job.cells, job.reserved, correction.usage)
        return corrections

    return patch.object(Corrections, "take", changed)


def corrections_forgotten_on_resume() -> AbstractContextManager[Any]:
    """A host that resumes a run does not know which ended jobs count in full."""
    return patch.object(Corrections, "load", lambda *known: None)


@contextmanager
def corrections_of_the_attempt_before() -> Iterator[None]:
    """Of a job whose further attempt is not over, the usage of the one before is taken for what it came to."""
    with (
        in_script(
            "claim",
            (
                "'claims', claims, 'last', cjson.encode(reserved),",
                "'claims', claims, 'last', claims > 1 and usage or cjson.encode(reserved),",
            ),
        ),
        in_script(
            "advance",
            (
                "elseif redis.call('HEXISTS', run .. 'attempts', latest) == 1 or",
                "elseif claims == '1' and redis.call('HEXISTS', run .. 'attempts', latest) == 1 or",
            ),
        ),
    ):
        yield


def cancelled_jobs_left_open() -> AbstractContextManager[Any]:
    """A cancelled job is not closed with the tick that cancels it."""
    advance = HostLedger.advance

    def changed(self: HostLedger, commit: Commit, apply: Any) -> Advanced | None:
        line = typed_json.decode(unpack_line(commit.line)[1], JournalLine)
        cancelled = {end.key for end in typed_json.decode(line.core, Core).ended if end.end == "cancelled"}
        return advance(self, replace(commit, closed=[key for key in commit.closed if key not in cancelled]), apply)

    return patch.object(HostLedger, "advance", changed)


def cancelled_jobs_hold_for_ever() -> AbstractContextManager[Any]:
    """What a cancelled job has reserved counts for ever, whatever its attempt comes to."""
    charge = Corrections.charge

    def changed(self: Corrections, closing: Closing, *rest: Any, **more: Any) -> None:
        if closing.ended.end != "cancelled":
            charge(self, closing, *rest, **more)

    return patch.object(Corrections, "charge", changed)


@contextmanager
def cancelled_answers_used() -> Iterator[None]:
    """The answer of a cancelled job replaces its heuristic, as a late one does."""
    replacement, expect = cogitate.scheduler.budget.admission.replacement, LateAnswers.expect
    replaced: dict[JobKey, Job] = {}

    def replacing(job: Job, *rest: Any) -> Decided:
        decided = replacement(job, *rest)
        replaced[decided.line.key] = job
        return decided

    def expecting(self: LateAnswers, closings: Any, jobs: Any, *rest: Any) -> None:
        expect(self, closings, jobs, *rest)
        for one in closings:
            if (job := replaced.get(one.ended.key)) is not None:
                ended = msgspec.structs.replace(one.ended, key=job.key, reason="late")
                note = msgspec.structs.replace(one.note, attempts=1)
                expect(self, [one._replace(ended=ended, note=note)], {job.key: job}, *rest)

    with (
        patch.object(cogitate.scheduler.engine.admitting, "replacement", replacing),
        patch.object(LateAnswers, "expect", expecting),
    ):
        yield


def idle_heuristics_of_later_entries() -> AbstractContextManager[Any]:
    """A heuristic that is computed in idle time reads what is there then, not what its job read at admission."""
    make = RunState.without_model

    def changed(self: RunState, item: OpenJob) -> Any:
        reads = tuple(
            msgspec.structs.replace(one, upto=self.streams[one.owner].head.last_number) for one in item.job.reads
        )
        return make(self, msgspec.structs.replace(item, job=msgspec.structs.replace(item.job, reads=reads)))

    return patch.object(RunState, "without_model", changed)


def heuristics_before_answers() -> AbstractContextManager[Any]:
    """A heuristic that was computed in idle time is applied although an answer has come since."""
    close = cogitate.scheduler.engine.boundary.close_due

    def changed(rows: Any, *rest: Any, made_ahead: Any, **more: Any) -> Any:
        chosen = [
            row._replace(state="open", result=None) if row.state == "staged" and made_ahead(row) else row
            for row in rows
        ]
        return close(chosen, *rest, made_ahead=made_ahead, **more)

    return patch.object(cogitate.scheduler.engine.engine, "close_due", changed)


def answers_by_place() -> AbstractContextManager[Any]:
    """The items of a pack's answer are taken in their order, whatever case they name."""

    def changed(value: Any, cases: int) -> Any:
        return {place: answer for place, (_, answer) in enumerate(value.answers[:cases], 1)}

    return patch.object(cogitate.workers.jobs.packs.request, "answers_by_case", changed)


def shares_rounded_down() -> AbstractContextManager[Any]:
    """Each job of a pack pays its share rounded down, so the remainder is never charged."""

    def changed(total: int, weights: Any, caps: Any) -> list[int]:
        whole = sum(weights) or 1
        return [min(cap, total * weight // whole) for weight, cap in zip(weights, caps, strict=True)]

    return patch.object(cogitate.workers.jobs.packs.request, "shares_of", changed)


def flex_price_for_any_tier() -> AbstractContextManager[Any]:
    """Charge calls at the price of the tier that was asked, whichever tier answered."""
    return patch.object(Model, "percent_of", lambda self, tier: self.service_tiers.get(FLEX, 100))


def two_requests_of_one_attempt() -> AbstractContextManager[Any]:
    """After a flex request that ran out of its time, the same attempt asks in the standard tier."""
    ask = ServiceTiers.ask

    def changed(self: ServiceTiers, call: Call, following: Ask) -> Any:
        answer = ask(self, call, following)
        failure = getattr(answer, "failure", None)
        return following(call) if failure is not None and failure.of_tier else answer

    return patch.object(ServiceTiers, "ask", changed)


def batches_recorded_late() -> AbstractContextManager[Any]:
    """A batch is recorded once its endpoint has taken it."""
    record = Batches.record

    def changed(self: Batches, run: str, incarnation: str, tag: str, batch: Batch, hold: float) -> bool:
        return not batch.id or record(self, run, incarnation, tag, batch, hold)

    return patch.object(Batches, "record", changed)


def ended_jobs_not_charged() -> AbstractContextManager[Any]:
    """The answer of a batch to a job that has ended is dropped."""
    return patch.object(BatchDesk, "_charge", lambda *answer: None)
