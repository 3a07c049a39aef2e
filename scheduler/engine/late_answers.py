"""Answers that come after their job's end. They were paid for, so each is offered as a repair at the next boundary.

A claimed job that ended late or dead is awaited while all that its heuristic produced in the
place of the answer (or that the job was to repair) is live, provisional and of owners that are here; but for no longer
than a game day, and of too many jobs only the newest. The ledger keeps the first answer of a model to an awaited job
(`lua/late.lua`) and shows it with the steps that a host takes anyway. At the next boundary it is applied, or found to
be of no use, behind the ends of what is due; the step that commits that tick removes it. The job's end and admission's
view stay what they were.

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

AWAITED: frozenset[Reason] = frozenset({"late", "dead"})  # reasons of jobs whose answers may still come
MOST = 1_000  # jobs of a run that are awaited


class ProvisionalEntry(NamedTuple):
    """An entry that holds the place of an answer."""

    owner: str
    number: int


class Awaited(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entries in the place of a job's answer."""

    minute: int  # game time of the job's end, total minutes
    made: tuple[ProvisionalEntry, ...]
    message_sent: bool = msgspec.field(name="told", default=False)  # by its heuristic, to the world

    def stands(self, streams: Mapping[str, Stream]) -> bool:
        """Whether all of it may still be replaced."""
        return all(one.owner in streams and streams[one.owner].is_provisional(one.number) for one in self.made)


class LateAnswer(NamedTuple):
    """An answer that came after its job's end."""

    key: JobKey
    result: Result | None  # None: it cannot be read


class LateAnswers(Part):
    """The jobs of a run whose answers may still come, the oldest first, of one boundary in the order of their keys."""

    hashes = ("awaited", "offered")
    figures = (Figure("late_answers", "applied", "Results of heuristics that a late answer replaced: {}."),)

    def __init__(self, run: RunData) -> None:
        self._run = run
        self._jobs = JobRecords[Awaited]()

    @property
    def awaited(self) -> Mapping[JobKey, Awaited]:
        """The jobs whose answers may still come."""
        return self._jobs.records

    # -- a tick --------------------------------------------------------------------------------------

    def begin(self, tick: TickState) -> None:
        """Apply the answers that have come, and await those of jobs that have ended at this boundary without one."""
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
        """Await the jobs that have just ended and whose answers may still come."""
        for closing in sorted(closings, key=lambda closing: closing.ended.key):
            ended, job = closing.ended, jobs[closing.ended.key]
            if ended.reason not in AWAITED or not closing.note.attempts or not job.model:
                continue
            made = [
                ProvisionalEntry(change.owner, change.entry.number)
                for change in closing.changes
                if change.entry is not None
            ]
            if replaced_entry(job):  # a repair, which has left everything as it was
                made.append(ProvisionalEntry(job.key.owner, replaced_entry(job)))
            awaited = Awaited(minute, tuple(made), any(isinstance(effect, Tell) for effect in ended.effects))
            if made and awaited.stands(streams):
                self._jobs.remember(ended.key, awaited)

    def take(
        self, offers: Iterable[LateAnswer], streams: Mapping[str, Stream], tick: int, minute: int
    ) -> list[Closing]:
        """Apply the answers that have come, in the order of their jobs' keys, and stop awaiting them."""
        taken = []
        for offer in sorted(offers, key=lambda offer: offer.key):
            if offer.result is not None and offer.result.late > tick:
                continue  # of a fork, whose source had it later
            awaited = self.awaited.get(offer.key)
            self._jobs.drop(offer.key)
            if awaited is None or offer.result is None:
                continue
            made = [(one.owner, streams[one.owner].entries[one.number]) for one in awaited.made]
            effects = as_repair(offer.key, offer.result.effects, made, message_sent=awaited.message_sent, minute=minute)
            taken.append(apply_late(offer.key, offer.result, effects, streams, tick))
        return taken

    def forget(self, streams: Mapping[str, Stream], left: Collection[str], minute: int) -> None:
        """Stop awaiting jobs whose entries were replaced or archived, that are too old, or too many."""
        if not self.awaited:
            return
        archived = {
            ProvisionalEntry(owner, number) for owner, stream in streams.items() for number in stream.newly_archived
        }
        for key, awaited in list(self.awaited.items()):
            if not archived.isdisjoint(awaited.made) or any(one.owner in left for one in awaited.made):
                self._jobs.drop(key)
        for key, awaited in list(self.awaited.items()):
            if len(self.awaited) <= MOST and minute - awaited.minute < LONGEST_AFTER_END:
                break
            self._jobs.drop(key)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_records(self) -> Records:
        """Return the jobs that are awaited since the last call, as the ledger keeps them."""
        return Records("awaited", self._jobs.take_records())

    def take_writes(self) -> list[Write]:
        """Return the commands that remove jobs that are no longer awaited, and their answers."""
        gone = self._jobs.take_gone()
        return [*chunked("HDEL", "awaited", gone), *chunked("HDEL", "offered", gone)]

    def load(self, store: RunStore) -> None:
        """Read back the awaited jobs, except those with an entry that was left out.

        Raises:
            ValueError: when the entries are not provisional ones of this run.
        """
        streams, left_out = self._run.streams, {(one.owner, one.number) for one in self._run.left_out}
        kept = store.mapping("awaited")
        found = {JobKey.parse(key.decode()): typed_json.decode(raw, Awaited) for key, raw in kept.items()}
        for key, awaited in sorted(found.items(), key=lambda item: (item[1].minute, item[0])):
            if not {*awaited.made}.isdisjoint(left_out):
                self._jobs.drop(key)
                continue
            if not awaited.stands(streams):
                raise ValueError(f"job {key.text()} is awaited, but the entry in its place is not provisional")
            self._jobs.records[key] = awaited

    @classmethod
    def audit(cls, run: AuditedRun) -> list[str]:
        """Return awaited jobs that have no end or nothing left to replace, and answers to jobs that are not awaited."""
        found = []
        awaited, offered = run.hashes["awaited"], run.hashes["offered"]
        for text, raw in sorted(awaited.items()):
            key = JobKey.parse(text)
            if text in run.open or (key.tick > run.trimmed and key not in run.ended):
                found.append(f"job {text}: its late answer is awaited, but the job has not ended")
            if not typed_json.decode(raw, Awaited).stands(run.streams):
                found.append(f"job {text}: its late answer is awaited, but nothing is left for it to replace")
        if len(awaited) > MOST:
            found.append(f"the answers of {len(awaited)} jobs are awaited, more than {MOST}")
        for text, raw in sorted(offered.items()):
            if text not in awaited:
                found.append(f"job {text}: has a late answer that is not awaited")
            try:
                source = typed_json.decode(raw, Result).source
            except ValueError as error:
                found.append(f"job {text}: its late answer cannot be read: {error}")
            else:
                if source not in ("llm", "cached"):
                    found.append(f"job {text}: its late answer has the source {source}, not a model")
        return found


def read_offers(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[LateAnswer]:
    """Return the answers that the ledger shows. One whose job cannot be read stays there.

    Args:
        raw: job key, result, …
        unreadable: takes what cannot be read.
    """
    found = []
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
        found.append(LateAnswer(key, result))
    return found


def apply_late(
    key: JobKey, result: Result, effects: tuple[Effect, ...], streams: Mapping[str, Stream], tick: int
) -> Closing:
    """Apply the effects that a late answer still has; without any, its end is `dropped`."""
    ended = Ended(key=key, end="applied" if effects else "dropped", effects=effects)
    return close(ended, note_of(key, result), Cost(), streams, tick)


def as_repair(
    key: JobKey, effects: Iterable[Effect], made: Iterable[tuple[str, Entry]], *, message_sent: bool, minute: int
) -> tuple[Effect, ...]:
    """Return the effects that a late answer still has: those of a repair of the entries that the heuristic appended.

    Each entry of the answer replaces the first entry of its type that the heuristic appended for its owner. Further
    entries and plans that are over are dropped, and so is a summary that tells less than the heuristic read: the rest
    would be in no summary. Cursors, counters and archives are dropped as well: the heuristic has set them. Access marks
    are kept, and so are messages to the world, unless the heuristic has sent one. An answer that replaces no entry has
    no effects.

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
                stands = next((one for one in left if (one[0], one[1].type) == (owner, entry.type)), None)
                if stands is not None and tells_all_of(entry, stands[1]):
                    left.remove(stands)
                    entry = msgspec.structs.replace(entry, items=_coming(key, entry.items, minute))
                    kept.append(msgspec.structs.replace(effect, entry=entry, replaces=stands[1].number))
            case Tell() if message_sent:
                pass
            case MarkAccessed() | Tell():
                kept.append(effect)
    return tuple(kept) if any(isinstance(effect, Append) for effect in kept) else ()


def tells_all_of(summary: Entry, other: Entry) -> bool:
    """Return whether a summary covers every entry that another stands for; True for entries of other types."""
    if summary.type != "summary":
        return True
    upto = summary.since_number or 0
    return set(other.evidence) <= set(summary.evidence) and (other.since_number or 0) <= upto


def _coming(key: JobKey, items: Sequence[PlanItem], minute: int) -> tuple[PlanItem, ...]:
    """Return the items of a plan from the current one on, under ids that the replaced plan does not use."""
    begun = [index for index, item in enumerate(items) if item.minute is not None and item.minute <= minute]
    return tuple(
        msgspec.structs.replace(item, id=f"{key.tick}-late-{index}")
        for index, item in enumerate(items[begun[-1] if begun else 0 :])
    )
