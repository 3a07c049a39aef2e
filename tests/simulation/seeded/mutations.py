"""Planted bugs: for each rule of the protocol the natural alternative that breaks it. The simulator must find each.

One is a text that takes the place of another in a script, or a function that takes the place of another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import msgspec

import cogitate.memory.apply
import cogitate.scheduler.budget.admission
import cogitate.scheduler.engine.admitting
import cogitate.scheduler.engine.boundary
import cogitate.scheduler.engine.engine
import cogitate.scheduler.engine.open_jobs
import cogitate.scheduler.journal.history
import cogitate.scheduler.journal.lines
import cogitate.scheduler.ledger.claims
import cogitate.scheduler.tick.commit
import cogitate.scheduler.tick.following
import cogitate.scheduler.tick.restore
import cogitate.scheduler.tick.source_outcomes
import cogitate.tasks.kind
import cogitate.tasks.long_term
import cogitate.tasks.recount
import cogitate.workers.jobs.packs.request
from cogitate.memory import typed_json
from cogitate.memory.policies.window import buffer
from cogitate.memory.seal import Seal
from cogitate.scheduler.budget.admission import Decided
from cogitate.scheduler.config.endpoints import FLEX, Model
from cogitate.scheduler.engine.admitting import Admitting
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.retention import Retention
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.lines import Core, JournalLine, TickNotes, unpack_line
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.batches import Batch, Batches
from cogitate.scheduler.ledger.ledger import Commit, HostLedger
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Advanced
from cogitate.scheduler.tick.commit import Committer
from cogitate.scheduler.tick.result_collector import Hints
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case
from cogitate.tasks.shown import everything
from cogitate.tasks.summarise import Summarise
from cogitate.workers.jobs.batches.desk import BatchDesk
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.service_tiers import ServiceTiers
from tests.simulation.seeded.actors import current
from tests.simulation.seeded.altered import in_script
from tests.simulation.seeded.cluster import Cluster

Mutation = Callable[[], AbstractContextManager[Any]]

SHORT = 500  # tokens of a prompt that shows a part of a world's messages


@contextmanager
def usage_in_the_digest() -> Iterator[None]:
    """How many attempts there were is hashed, by whoever writes a line and by whoever reads it."""
    write, read = cogitate.scheduler.journal.lines.write_line, cogitate.scheduler.journal.lines.read_line
    digest = cogitate.scheduler.journal.lines.next_digest
    attempts = [0]

    def writing(core: Core, notes: TickNotes, *rest: Any) -> Any:
        attempts[0] = sum(note.attempts for note in notes.ended)
        return write(core, notes, *rest)

    def reading(stored: bytes, *rest: Any) -> Any:
        line = typed_json.decode(unpack_line(stored)[1], JournalLine)
        attempts[0] = sum(note.attempts for note in line.notes.ended)
        return read(stored, *rest)

    with (
        patch.object(cogitate.scheduler.tick.commit, "write_line", writing),
        patch.object(cogitate.scheduler.journal.history, "read_line", reading),
        patch.object(
            cogitate.scheduler.journal.lines, "next_digest", lambda before, core: digest(before, core + bytes(attempts))
        ),
    ):
        yield


def steps_by_two() -> AbstractContextManager[Any]:
    """A tick is written in two steps: first what it writes, then that it happened."""
    advance = HostLedger.advance

    def changed(self: HostLedger, commit: Commit, apply: Any, *before: Any) -> Advanced | None:
        with self.client.pipeline() as pipeline:
            for write in commit.writes:
                pipeline.execute_command(write.command, self.store.prefix + write.key, *write.args, *write.shared)
            pipeline.execute()
        return advance(self, replace(commit, writes=()), apply, *before)

    return patch.object(HostLedger, "advance", changed)


def preconditions_ignored() -> AbstractContextManager[Any]:
    """Effects are applied whatever they expect, as far as that can be done."""

    def apply(streams: Any, effects: Any, tick: int) -> Any:
        possible = [effect for effect in effects if cogitate.memory.apply.unmet(streams, (effect,)) is None]
        return cogitate.memory.apply.apply(streams, possible, tick)

    @contextmanager
    def changed() -> Iterator[None]:
        with (
            patch.object(cogitate.scheduler.engine.boundary, "unmet", lambda streams, effects: None),
            patch.object(cogitate.scheduler.engine.boundary, "apply", apply),
        ):
            yield

    return changed()


def deleted_early() -> AbstractContextManager[Any]:
    """Archived entries are deleted although open jobs may read them."""
    forget = Retention.forget
    return patch.object(
        Retention, "forget", lambda self, streams, facts, jobs, tick: forget(self, streams, facts, (), tick + 1)
    )


def retries_seen_by_admission() -> AbstractContextManager[Any]:
    """A job counts in admission's view with all of its attempts."""
    close = cogitate.scheduler.engine.boundary._close

    def changed(row: Any, *rest: Any) -> Closing:
        closing = close(row, *rest)
        one = closing.counts_as
        times = max(1, row.claims)
        return closing._replace(counts_as=Cost(one.calls * times, one.tokens * times, one.usd_micros * times))

    return patch.object(cogitate.scheduler.engine.boundary, "_close", changed)


def reservation_shrunk_at_settle() -> AbstractContextManager[Any]:
    """Admission sees what the ledger holds now, not what the journal says."""
    decide = Admitting._decide

    def changed(self: Admitting, *rest: Any, **more: Any) -> Any:
        actor = current()
        if actor is not None:
            client = actor.process._cluster.server.plain  # type: ignore[attr-defined]
            store = RunStore.open(client, self._state.run)
            for field in list(self._state.view.held):
                window, scope, unit = field.split("|")
                told = client.hmget(store.window_key(window), f"{scope}|{unit}|reserved", f"{scope}|{unit}|spent")
                self._state.view.held[field] = sum(int(amount or 0) for amount in told)
        return decide(self, *rest, **more)

    return patch.object(Admitting, "_decide", changed)


def leases_by_wall_clock() -> AbstractContextManager[Any]:
    """A lease is over when the machine's clock says so."""
    return patch.object(Cluster, "clock", Cluster.wall)


def hints_without_repeat() -> AbstractContextManager[Any]:
    """A hint counts as an attempt: after one of them nobody is told of the job again."""
    repeat = Hints.repeat

    def changed(self: Any, unclaimed: Any, now: float) -> Any:
        told = self.__dict__.setdefault("told", {})
        again = repeat(self, unclaimed, now)
        for key in again:
            told[key] = told.get(key, 0) + 1
        return [key for key in again if told[key] <= 1]

    return patch.object(Hints, "repeat", changed)


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


def latencies_forgotten() -> AbstractContextManager[Any]:
    """Who resumes a run knows nothing of its model's latencies."""
    return patch.object(Latencies, "load", lambda *known: None)


def guesses_unjournalled() -> AbstractContextManager[Any]:
    """A job that ends late counts as slow at once, and the journal has nothing of it."""
    learn = AnswerTimes._learn_overdue

    def changed(self: AnswerTimes, *facts: Any) -> tuple[()]:
        learn(self, *facts)
        return ()

    return patch.object(AnswerTimes, "_learn_overdue", changed)


def times_taken_again() -> AbstractContextManager[Any]:
    """What was learned of an answer's time stays in the ledger's list, and is learned at the next boundary too."""
    writes = Latencies.take_writes
    return patch.object(Latencies, "take_writes", lambda self: [one for one in writes(self) if one.command != "LTRIM"])


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


def replies_unread() -> AbstractContextManager[Any]:
    """A host takes a commit that is under way for one whose reply it has read."""

    def changed(self: Committer) -> tuple[()]:
        self._sent.clear()
        return ()

    return patch.object(Committer, "read_reply", changed)


@contextmanager
def unseen_entries_archived() -> Iterator[None]:
    """A summary's job archives all that it may read, whatever part of it the prompt showed.

    Prompts are short, since the world's few messages fit into a usual one.
    """
    talk, context = Summarise._passed, cogitate.tasks.long_term._passed
    with (
        patch.object(Summarise, "prompt_cap", SHORT),
        patch.object(Summarise, "_passed", lambda self, case, shown: talk(self, case, everything(self._group(case)))),
        patch.object(
            cogitate.tasks.long_term, "_passed", lambda case, shown: context(case, everything(buffer(case.entries)))
        ),
    ):
        yield


@contextmanager
def cursor_past_what_was_shown() -> Iterator[None]:
    """A scope's cursor passes every message of its job, whatever part of them the prompt showed.

    Prompts are short, since the world's few messages fit into a usual one.
    """
    recount = cogitate.tasks.recount
    passed = recount._passed

    def changed(case: Case, shown: Any) -> Any:
        return passed(case, everything(recount._told(case).messages))

    with patch.object(recount, "_passed", changed), patch.object(recount.Recount, "prompt_cap", SHORT):
        yield


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


def late_answers_not_repeated() -> AbstractContextManager[Any]:
    """A fork takes over no answer that came late in its source."""
    return patch.object(cogitate.scheduler.tick.following, "_offers", lambda line: iter(()))


def corrections_not_repeated() -> AbstractContextManager[Any]:
    """A fork counts jobs without a result in full, whatever its source has learned of their usage."""
    return patch.object(cogitate.scheduler.tick.following, "_corrections", lambda line: iter(()))


def fork_pays_again() -> AbstractContextManager[Any]:
    """A fork is charged for what its source paid."""
    result = cogitate.scheduler.tick.source_outcomes.result_of

    def changed(ended: Any, note: Any) -> Any:
        return msgspec.structs.replace(result(ended, note), saved=False)

    return patch.object(cogitate.scheduler.tick.source_outcomes, "result_of", changed)


def seals_that_only_grow() -> AbstractContextManager[Any]:
    """Marks that were replaced go on counting in the seal of their stream."""
    marks = Seal.marks
    return patch.object(Seal, "marks", lambda self, number, kept, sign: marks(self, number, kept, max(0, sign)))


def script(name: str, *changes: tuple[str, str]) -> Mutation:
    """Return a mutation of a script."""
    return functools.partial(in_script, name, *changes)


#: By name, what is planted; each breaks one rule of docs/reference/guarantees.md.
MUTATIONS: dict[str, Mutation] = {
    "host steps name no epoch": script(
        "*",
        ("if held_epoch ~= epoch or held_holder ~= holder then return {'fenced', held_epoch, held_seq} end", ""),
        ("  return {'fenced', held_epoch, held_seq}\nend", "  return nil\nend"),
        ("if at ~= tick - 1 then return", "if false then return"),
    ),
    "host steps have no sequence": script("*", ("  return {'fenced', held_epoch, held_seq}\nend", "  return nil\nend")),
    "a lost reply is answered by doing it again": script(
        "*",
        ("last_step == step then return {'already'} end", "last_step == step then return nil end"),
        ("if at ~= tick - 1 then return", "if at ~= tick - 1 and at ~= tick then return"),
    ),
    "any attempt may settle": script(
        "settle", ("if latest ~= token then return 'accounted' end", "if not latest then return 'accounted' end")
    ),
    "a claimed job is handed out again": script(
        "claim", ("if running ~= '' or held == '1' then return {'claimed'} end", "")
    ),
    "refused claims count as attempts": script(
        "claim",
        (
            "if running ~= '' or held == '1' then return {'claimed'} end",
            "if running ~= '' or held == '1' then redis.call('HINCRBY', name, 'claims', 1) return {'claimed'} end",
        ),
    ),
    "a repeated claim begins an attempt that is over": script(
        "claim",
        ("if earlier_tokens and earlier_tokens:find(' ' .. token .. ' ', 1, true) then return {'claimed'} end", ""),
    ),
    "hints are limited": hints_without_repeat,
    "a tick is written in two steps": steps_by_two,
    "what collect saw decides what attempts hold": script(
        "advance", ("if tonumber(claims) == 0 then  -- never claimed", "if state == 'open' then  -- never claimed")
    ),
    "a result after collect keeps its job open": late_staging_accepted,
    "a late answer is awaited for ever": late_answers_for_ever,
    "a correction is applied twice": corrections_taken_again,
    "corrections are forgotten on resume": corrections_forgotten_on_resume,
    "a correction is of the attempt before": corrections_of_the_attempt_before,
    "earlier attempts are not charged": script("claim", ("if settled then retried(run, latest, key, last) end", "")),
    "a correction does not wait for the usage": script(
        "advance", ("elseif redis.call('HEXISTS', run .. 'attempts', latest) == 1 or", "elseif false and")
    ),
    "a cancelled job is left open": cancelled_jobs_left_open,
    "a cancelled job's reservation is not returned": cancelled_jobs_hold_for_ever,
    "a cancelled job's answer is used": cancelled_answers_used,
    "latencies are forgotten on resume": latencies_forgotten,
    "an answer is timed again": times_taken_again,
    "a guess is not journalled": guesses_unjournalled,
    "an idle heuristic reads later entries": idle_heuristics_of_later_entries,
    "an idle heuristic replaces an answer": heuristics_before_answers,
    "an unread reply counts as read": replies_unread,
    "a seal is of more than there is": seals_that_only_grow,
    "what was not shown is archived": unseen_entries_archived,
    "a cursor passes what was not shown": cursor_past_what_was_shown,
    "preconditions are ignored": preconditions_ignored,
    "entries are deleted early": deleted_early,
    "usage is part of the digest": usage_in_the_digest,
    "admission sees settlements at once": reservation_shrunk_at_settle,
    "admission sees further attempts": retries_seen_by_admission,
    "further attempts are free": script("claim", ("book(run, cells, 'reserved', reserved)", "")),
    "further attempts have no pool": script(
        "claim", ("local pooled = held('pool') + last[unit] <= limit", "local pooled = true")
    ),
    "leases follow the wall clock": leases_by_wall_clock,
    "a fenced host sends heartbeats": script("present", ("held_epoch ~= epoch or held_holder ~= holder or ", "")),
    "a host that is gone sends heartbeats": script("present", (" or (status ~= 'running' and status ~= 'paused')", "")),
    "a pack's answers go by their place": answers_by_place,
    "shares of a pack do not add up": shares_rounded_down,
    "an answer is charged as it was asked": flex_price_for_any_tier,
    "an attempt pays for flex and falls back": two_requests_of_one_attempt,
    "a batch is recorded after it was sent": batches_recorded_late,
    "a batch's answer to an ended job is free": ended_jobs_not_charged,
    "a fork forgets late answers": late_answers_not_repeated,
    "a fork forgets corrections": corrections_not_repeated,
    "a fork pays again": fork_pays_again,
    "a lost attempt is free": script("collect", ("book(run, attempt.cells, 'spent', attempt.reserved)", "")),
}
