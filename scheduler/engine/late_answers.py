"""Apply answers that arrive after their job's end. They were paid for, so each serves as a repair at the next boundary.

The run awaits the answer of a claimed job that ended late or dead as long as all entries that its heuristic made in
place of the answer (or that the job should have repaired) are live and provisional, and their owners have not left. It
waits for at most one game day and for at most `MOST` jobs, the newest ones. The ledger keeps the first answer of a
model to an awaited job (`lua/late.lua`) and reports it in its replies to the host's ordinary steps. The next boundary
applies it, or finds it unusable, after the ends of the due jobs; the step that commits that tick removes it. The job's
end and admission's view do not change.

Keys under the run's prefix:
    awaited  hash  job key -> `Awaited`, JSON
    offered  hash  job key -> result, JSON; only of awaited jobs
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Effect, MarkAccessed, SetCounter, Tell
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.boundary import Closing, close, note_of
from cogitate.scheduler.engine.part import LONGEST_AFTER_END, AuditedRun, Figure, JobRecords, Part, TickState
from cogitate.scheduler.engine.run_data import RunData
from cogitate.scheduler.journal.lines import Ended
from cogitate.scheduler.ledger.claims import Reason, Result
from cogitate.scheduler.ledger.ledger import Records, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Unreadable, read_result
from cogitate.scheduler.ledger.streams import chunked
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.recall import replaced_entry
from cogitate.tasks.shown import part_counter

AWAITED: frozenset[Reason] = frozenset({"late", "dead"})  # reasons of jobs whose answers may still arrive
MOST = 1_000  # jobs that a run awaits at most


class ProvisionalEntry(NamedTuple):
    """An entry that a late answer may replace."""

    owner: str
    number: int


class Awaited(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entries that stand in for a job's answer."""

    minute: int  # game time of the job's end, total minutes
    made: tuple[ProvisionalEntry, ...]
    message_sent: bool = msgspec.field(name="told", default=False)  # whether its heuristic sent the world a message

    def is_replaceable(self, streams: Mapping[str, Stream]) -> bool:
        """Return whether an answer may still replace all the entries."""
        return all(made.owner in streams and streams[made.owner].is_provisional(made.number) for made in self.made)


class LateAnswer(NamedTuple):
    """An answer that arrived after its job's end."""

    key: JobKey
    result: Result | None  # None: unreadable


class LateAnswers(Part):
    """Awaits the answers of ended jobs, and applies those that arrive.

    The awaited jobs are in the order of their ends; those of one boundary are in the order of their keys.
    """

    hashes = ("awaited", "offered")
    figures = (Figure("late_answers", "applied", "Results of heuristics that a late answer replaced: {}."),)

    def __init__(self, run: RunData) -> None:
        self._run = run
        self._jobs = JobRecords[Awaited]()

    @property
    def awaited(self) -> Mapping[JobKey, Awaited]:
        """Return the jobs whose answers may still arrive."""
        return self._jobs.records

    # -- a tick --------------------------------------------------------------------------------------

    def begin(self, tick: TickState) -> None:
        """Apply the answers that have arrived, and await those of jobs that ended at this boundary without one."""
        streams = tick.run.streams
        offers = read_offers(tick.boundary.shown.get("offered", ()), tick.run.unreadable)
        late = self.take(offers, streams, tick.number, tick.minute)
        for closing in late:
            tick.apply(closing)
            if closing.ended.end != "applied":
                tick.run.warnings["job.late_answer_unused"] += 1
        self.expect(tick.closings, {key: item.job for key, item in tick.closed.items()}, streams, tick.minute)
        tick.core["late"] = tuple(closing.ended for closing in late)
        tick.notes["late"] = tuple(closing.note for closing in late)

    def end(self, tick: TickState) -> None:
        """Stop awaiting answers that have nothing left to replace."""
        self.forget(tick.run.streams, tick.turn.leaves, tick.minute)

    def expect(
        self, closings: Iterable[Closing], jobs: Mapping[JobKey, Job], streams: Mapping[str, Stream], minute: int
    ) -> None:
        """Await the answers of jobs that have just ended, if they may still arrive."""
        for closing in sorted(closings, key=lambda closing: closing.ended.key):
            ended, job = closing.ended, jobs[closing.ended.key]
            if ended.reason not in AWAITED or not closing.note.attempts or not job.model:
                continue
            made = [
                ProvisionalEntry(change.owner, change.entry.number)
                for change in closing.changes
                if change.entry is not None
            ]
            if replaced_entry(job):  # a failed repair changed nothing, so its entry is still to be replaced
                made.append(ProvisionalEntry(job.key.owner, replaced_entry(job)))
            awaited = Awaited(minute, tuple(made), any(isinstance(effect, Tell) for effect in ended.effects))
            if made and awaited.is_replaceable(streams):
                self._jobs.remember(ended.key, awaited)

    def take(
        self, offers: Iterable[LateAnswer], streams: Mapping[str, Stream], tick: int, minute: int
    ) -> list[Closing]:
        """Apply the answers that have arrived, in the order of their jobs' keys, and stop awaiting them."""
        taken = []
        for offer in sorted(offers, key=lambda offer: offer.key):
            if offer.result is not None and offer.result.late > tick:
                continue  # in a fork: its source got the answer at a later tick
            awaited = self.awaited.get(offer.key)
            self._jobs.drop(offer.key)
            if awaited is None or offer.result is None:
                continue
            made = [(entry.owner, streams[entry.owner].entries[entry.number]) for entry in awaited.made]
            effects = as_repair(offer.key, offer.result.effects, made, message_sent=awaited.message_sent, minute=minute)
            taken.append(apply_late(offer.key, offer.result, effects, streams, tick))
        return taken

    def forget(self, streams: Mapping[str, Stream], left: Collection[str], minute: int) -> None:
        """Stop awaiting jobs whose entries were replaced or archived, and the oldest ones beyond age and number."""
        if not self.awaited:
            return
        archived = {
            ProvisionalEntry(owner, number) for owner, stream in streams.items() for number in stream.newly_archived
        }
        for key, awaited in list(self.awaited.items()):
            if not archived.isdisjoint(awaited.made) or any(made.owner in left for made in awaited.made):
                self._jobs.drop(key)
        for key, awaited in list(self.awaited.items()):
            if len(self.awaited) <= MOST and minute - awaited.minute < LONGEST_AFTER_END:
                break
            self._jobs.drop(key)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_records(self) -> Records:
        """Return the jobs awaited since the last call, in the form that the ledger stores."""
        return Records("awaited", self._jobs.take_records())

    def take_writes(self) -> list[Write]:
        """Return the commands that remove jobs no longer awaited, and their answers."""
        gone = self._jobs.take_gone()
        return [*chunked("HDEL", "awaited", gone), *chunked("HDEL", "offered", gone)]

    def load(self, store: RunStore) -> None:
        """Read back the awaited jobs, except those with an entry that could not be read.

        Raises:
            ValueError: if their entries are not provisional entries of this run.
        """
        streams, left_out = self._run.streams, {(entry.owner, entry.number) for entry in self._run.left_out}
        stored = {
            JobKey.parse(key.decode()): typed_json.decode(raw, Awaited) for key, raw in store.mapping("awaited").items()
        }
        for key, awaited in sorted(stored.items(), key=lambda item: (item[1].minute, item[0])):
            if not {*awaited.made}.isdisjoint(left_out):
                self._jobs.drop(key)
                continue
            if not awaited.is_replaceable(streams):
                raise ValueError(f"job {key.text()} is awaited, but the entry in its place is not provisional")
            self._jobs.records[key] = awaited

    @classmethod
    def audit(cls, run: AuditedRun) -> list[str]:
        """Return awaited jobs without an end or a replaceable entry, and answers that no job awaits."""
        faults = []
        awaited, offered = run.hashes["awaited"], run.hashes["offered"]
        for text, raw in sorted(awaited.items()):
            key = JobKey.parse(text)
            if text in run.open or (key.tick > run.trimmed and key not in run.ended):
                faults.append(f"job {text}: its late answer is awaited, but the job has not ended")
            if not typed_json.decode(raw, Awaited).is_replaceable(run.streams):
                faults.append(f"job {text}: its late answer is awaited, but nothing is left for it to replace")
        if len(awaited) > MOST:
            faults.append(f"the answers of {len(awaited)} jobs are awaited, more than {MOST}")
        for text, raw in sorted(offered.items()):
            if text not in awaited:
                faults.append(f"job {text}: has a late answer that is not awaited")
            try:
                source = typed_json.decode(raw, Result).source
            except ValueError as error:
                faults.append(f"job {text}: its late answer cannot be read: {error}")
            else:
                if source not in ("llm", "cached"):
                    faults.append(f"job {text}: its late answer has the source {source}, not a model")
        return faults


def read_offers(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[LateAnswer]:
    """Return the late answers that the ledger reports. An answer whose job key is unreadable stays in the ledger.

    Args:
        raw: alternating job keys and results.
        unreadable: collects unreadable values.
    """
    answers = []
    for i in range(0, len(raw), 2):
        result = None
        try:
            key = JobKey.parse(raw[i].decode())
        except ValueError as error:
            unreadable.append(Unreadable.at("a late answer's job", raw[i], error))
            continue
        try:
            result = read_result(raw[i + 1])
        except (ValueError, RecursionError) as error:
            unreadable.append(Unreadable("a late answer", "job", key.text(), str(error)[:200]))
        answers.append(LateAnswer(key, result))
    return answers


def apply_late(
    key: JobKey, result: Result, effects: tuple[Effect, ...], streams: Mapping[str, Stream], tick: int
) -> Closing:
    """Apply the remaining effects of a late answer; without any, its end is `dropped`."""
    ended = Ended(key=key, end="applied" if effects else "dropped", effects=effects)
    return close(ended, note_of(key, result), Cost(), streams, tick)


def as_repair(
    key: JobKey, effects: Iterable[Effect], made: Iterable[tuple[str, Entry]], *, message_sent: bool, minute: int
) -> tuple[Effect, ...]:
    """Reduce a late answer's effects to a repair of the entries that the heuristic appended.

    Each entry of the answer replaces the first entry of its type that the heuristic appended for its owner. Other
    entries and expired plans are dropped. So is a summary that covers less than the heuristic read, because no summary
    would cover the rest. Cursors, counters and archives are dropped too, because the heuristic has set them. Access
    marks remain, and so do messages to the world unless the heuristic has sent one. An answer that replaces no entry
    has no effects.

    Args:
        key: key of the job.
        made: owners and entries that the heuristic appended.
        message_sent: whether the heuristic has sent a message to the world.
        minute: game time of the boundary, total minutes.
    """
    left = list(made)
    kept: list[Effect] = []
    effects = tuple(effects)
    in_part = any(isinstance(effect, SetCounter) and effect.name == part_counter(key.kind) for effect in effects)
    for effect in effects:
        match effect:
            case Append(entry=Entry(type="summary")) if in_part:
                pass
            case Append(owner=owner, entry=entry) if entry.type != "plan" or entry.valid_until > minute:
                old = next((item for item in left if (item[0], item[1].type) == (owner, entry.type)), None)
                if old is not None and covers(entry, old[1]):
                    left.remove(old)
                    entry = msgspec.structs.replace(entry, items=_remaining(key, entry.items, minute))
                    kept.append(msgspec.structs.replace(effect, entry=entry, replaces=old[1].number))
            case Tell() if message_sent:
                pass
            case MarkAccessed() | Tell():
                kept.append(effect)
    return tuple(kept) if any(isinstance(effect, Append) for effect in kept) else ()


def covers(summary: Entry, other: Entry) -> bool:
    """Return whether a summary covers every entry that another summary covers; True for entries of other types."""
    if summary.type != "summary":
        return True
    upto = summary.since_number or 0
    return set(other.evidence) <= set(summary.evidence) and (other.since_number or 0) <= upto


def _remaining(key: JobKey, items: Sequence[PlanItem], minute: int) -> tuple[PlanItem, ...]:
    """Return the items of a plan from the current one on, with ids that the replaced plan does not use."""
    begun = [index for index, item in enumerate(items) if item.minute is not None and item.minute <= minute]
    return tuple(
        msgspec.structs.replace(item, id=f"{key.tick}-late-{index}")
        for index, item in enumerate(items[begun[-1] if begun else 0 :])
    )
