"""Query the jobs of a run: open ones from the ledger, ended ones from the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from sys import maxsize
from typing import Any

import msgspec
from redis import Redis
from redis.client import Pipeline

from cogitate.memory import typed_json
from cogitate.memory.effects import Append
from cogitate.scheduler.engine.part import LONGEST_AFTER_END
from cogitate.scheduler.inspection.job_records import (
    EVERY_JOB,
    NEWEST,
    JobPage,
    JobQuery,
    JobRecord,
    LateAnswer,
    Position,
)
from cogitate.scheduler.inspection.stored_run import unjournalled
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.checkpoint import load_base
from cogitate.scheduler.journal.ends import how_ended
from cogitate.scheduler.journal.history import PAGE, read_journal
from cogitate.scheduler.journal.lines import Correction, Ended, EndNote, JournalError, ReadLine, Retried, reason_of
from cogitate.scheduler.journal.run_totals import WITHOUT_RESULT, JobBeginning
from cogitate.scheduler.ledger.claims import Source
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import last_tick_before
from cogitate.tasks.job import Cost, Job, JobKey, added

_JOB = typed_json.decoder(Job)

_CIRCUMSTANCES = (
    "source",
    "packed",
    "hybrid",
    "embedded",
    "service_tier",
    "discount",
    "prompt",
    "failure",
    "empty",
    "because",
    "refusal",
    "appended",
    "tries",
    "worker",
)

Wanted = Callable[[JobKey, str, str, EndNote | None], bool]  # a filter by key, end, reason and note
MOST_READ = 5_000  # ticks plus ended jobs that one page reads

_OF_NOTE = sorted(set(LateAnswer.__struct_fields__) & set(EndNote.__struct_fields__))  # copied from the note


class JobHistory:
    """The jobs of one run. It verifies every line of the journal that it reads.

    Jobs that ended up to tick `trimmed` are unknown.
    """

    def __init__(self, client: Redis, run: str) -> None:
        self._run = run
        self._store = RunStore.open(client, run)
        base = load_base(self._store)
        self.trimmed = base.tick if base is not None else 0  # last tick whose line is no longer in the ledger
        open_then = base.totals.open if base is not None else {}
        self._openings = {JobKey.parse(text): opening for text, opening in open_then.items()}
        # What the lines read so far record about jobs after their ends:
        self._late: dict[JobKey, LateAnswer] = {}
        self._corrected: dict[JobKey, Correction] = {}
        self._retried: dict[JobKey, dict[int, Cost]] = {}  # job -> tick that recorded the usage -> usage
        pending = unjournalled(self._store)
        self._learn_usage(pending.corrected, pending.retried, tick=self._now() + 1)

    def newest(self, last: int, query: JobQuery = EVERY_JOB) -> list[JobRecord]:
        """Return up to `last` jobs (0: all), newest first: open ones by enqueue tick, then ended ones by their end."""
        return self.page(query, most=last or maxsize, read=maxsize).jobs

    def page(self, query: JobQuery, start: Position = NEWEST, *, most: int, read: int = MOST_READ) -> JobPage:
        """Return a page of the matching jobs, in the order of `newest`.

        Args:
            most: jobs on the page.
            read: ticks plus ended jobs to read. The page ends there even if it has fewer jobs.

        Raises:
            JournalError: if the journal was altered.
        """
        query = self._in_ticks(query)
        still: dict[str, JobRecord] = {}
        tick, skip = start
        if not tick:
            found = self.open(query)
            still = {record.id: record for record in found[skip : skip + most]}
            if len(still) == most:
                return JobPage([*still.values()], Position(0, skip + most), self._now() + 1)
            tick, skip = self._now(), 0
        ended: list[JobRecord] = []
        first = max(self.trimmed + 1, query.first or 1)
        for line in self._backwards(first, min(tick, query.last or tick, self._now())):
            at = line.core.tick
            skip = skip if at == tick else 0
            for record in islice(self._matching(line, query), skip, None):
                still.pop(record.id, None)  # the job ended after the open jobs were read
                ended.append(record)
                skip += 1
                if len(still) + len(ended) == most:
                    return JobPage([*still.values(), *ended], Position(at, skip), at)
            read -= 1 + len(line.core.ended)
            if read <= 0 and at > first:
                return JobPage([*still.values(), *ended], Position(at - 1), at)
        return JobPage([*still.values(), *ended], None, first)

    def open(self, query: JobQuery = EVERY_JOB) -> list[JobRecord]:
        """Return the matching open jobs, newest first."""
        query = self._in_ticks(query)
        matching = [record for record in self._open_records() if record.matches(query)]
        return sorted(matching, key=lambda record: (-record.tick, record.id))

    def _in_ticks(self, query: JobQuery) -> JobQuery:
        """Return a query with its real minutes converted to ticks."""
        if query.minutes is None:
            return query
        since = last_tick_before(self._store, time.time() - 60 * query.minutes) + 1
        return msgspec.structs.replace(query, first=max(since, query.first or 1), minutes=None)

    def find(self, key: JobKey) -> JobRecord:
        """Return one job.

        Raises:
            InputError: if the run has no such job.
            JournalError: if the journal was altered.
        """
        record = next((job for job in self._open_records([key.text()]) if job.id == self._id(key)), None)
        if record is not None:
            return record
        opening = self._opening(key)
        if opening is not None:
            first = max(key.tick, self.trimmed + 1)
            last = max(first, min(opening.decided.due, self._now()))
            for line in read_journal(self._store, first, last):
                for _, record in self._ends(line, lambda ended, *_: ended == key):
                    self._read_on(key, record, line.core.minute)
                    return next(record for at, record in self._ends(line, _any) if at == key)
        if 1 <= key.tick <= self.trimmed:
            raise InputError(
                f"job {self._id(key)!r} is unknown: if it existed, it ended before tick {self.trimmed + 1}, "
                f"the first in the trimmed journal of run {self._run!r}"
            )
        raise InputError(f"run {self._run!r} has no job {self._id(key)!r}; `cogitate jobs {self._run}` lists them")

    def ended(self, keys: Collection[JobKey]) -> list[JobRecord]:
        """Return those of these jobs that have ended, newest first, without what became known after their ends.

        Raises:
            JournalError: if the journal was altered.
        """
        records: list[JobRecord] = []
        first = min((key.tick for key in keys), default=self._now() + 1)
        for line in self._backwards(max(first, self.trimmed + 1), self._now()):
            records += [record for _, record in self._ends(line, lambda key, *_: key in keys)]
            if len(records) == len(keys):
                break
        return records

    def appending(self, owner: str, number: int, tick: int) -> JobRecord | None:
        """Return the job that appended an entry at a tick; None if the journal has none.

        Raises:
            JournalError: if the journal was altered.
        """
        if not self.trimmed < tick <= self._now():
            return None
        for line in read_journal(self._store, tick, tick):
            for ended, note in line.ends:
                into = (effect.owner for effect in ended.effects if isinstance(effect, Append))
                if (owner, number) in zip(into, note.appended, strict=False):
                    return self.find(ended.key)
        return None

    def sources(self, owner: str, ticks: Iterable[int]) -> dict[int, Source]:
        """Return the sources of an owner's entries that jobs appended at these ticks, by number.

        Raises:
            JournalError: if the journal was altered.
        """
        sources: dict[int, Source] = {}
        for tick in sorted(ticks):
            for line in read_journal(self._store, tick, tick) if self.trimmed < tick <= self._now() else ():
                for ended, note in line.ends:
                    into = (effect.owner for effect in ended.effects if isinstance(effect, Append))
                    sources |= {n: note.source for to, n in zip(into, note.appended, strict=False) if to == owner}
        return sources

    def all(self) -> Iterator[JobRecord]:
        """Yield every job: ended ones in the order in which they ended, then open ones by key."""
        still = {record.id: record for record in sorted(self._open_records(), key=lambda one: (one.tick, one.id))}
        now = self._now()
        for line in read_journal(self._store, self.trimmed + 1, now):
            self._learn_late(line)
        for line in read_journal(self._store, self.trimmed + 1, now):
            self._learn(line)
            for key, record in self._ends(line, _any):
                still.pop(record.id, None)
                if key.tick > self.trimmed:  # keep the checkpoint's openings: they cannot be read again
                    del self._openings[key]
                yield record
        yield from still.values()

    def _backwards(self, first: int, last: int) -> Iterator[ReadLine]:
        while last >= first:
            page = max(first, last - PAGE + 1)
            for line in reversed(list(read_journal(self._store, page, last))):
                self._learn_late(line)
                yield line
            last = page - 1

    def _matching(self, line: ReadLine, query: JobQuery) -> Iterator[JobRecord]:
        def wanted(key: JobKey, end: str, reason: str, note: EndNote | None) -> bool:
            return query.admits(key, end, reason) and query.admits_note(note)

        return (record for _, record in self._ends(line, wanted) if query.model in (None, record.model))

    def _ends(self, line: ReadLine, wanted: Wanted) -> Iterator[tuple[JobKey, JobRecord]]:
        """Yield the wanted jobs that ended at a tick."""
        instead = {decided.instead: decided.key for decided in line.core.decided}
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            if wanted(ended.key, how_ended(ended, note), ended.reason, note):
                record = self._ended_record(line.core.tick, ended, note)
                successor = instead.get(ended.key)
                yield (
                    ended.key,
                    record if successor is None else msgspec.structs.replace(record, successor=self._id(successor)),
                )
        for decided in line.core.decided:
            reason = reason_of(decided.refused)
            if decided.decision in ("deferred", "dropped") and wanted(decided.key, decided.decision, reason, None):
                yield (
                    decided.key,
                    self._record(decided.key, state=decided.decision, ended=line.core.tick, reason=reason),
                )

    def _open_records(self, only: list[str] | None = None) -> list[JobRecord]:
        members = self._store.members("jobs")
        keys = sorted(raw.decode() for raw in members)
        keys = [key for key in keys if only is None or key in only]

        def queue(pipeline: Pipeline) -> None:
            pipeline.hgetall(self._store.key("attempts"))
            for text in keys:
                pipeline.hmget(self._store.job_key(text), "job", "state", "claims", "cells", "failure", "empty")

        attempts, *rows = self._store.read_at_once(queue)
        running: dict[str, list[str]] = {}
        for attempt in map(typed_json.decode, attempts.values()):
            running.setdefault(attempt["job"], []).append(attempt["worker"])
        records = []
        for text, (raw, state, claims, cells, failure, empty) in zip(keys, rows, strict=True):
            if raw is None:
                continue  # closed since the keys were read
            job = _JOB.decode(raw)
            flat = typed_json.decode(cells, list[str])
            reason = {b"held": reason_of(job.refused), b"dead": "dead"}.get(state, "none")
            records.append(
                self._record(
                    job.key,
                    state=state.decode(),
                    reason=reason,
                    claims=int(claims),
                    model=job.model,
                    failure=(failure or b"").decode(),
                    empty=(empty or b"").decode(),
                    reserved=job.reserved,
                    workers=tuple(sorted(running.get(text, ()))),
                    cells=tuple(f"{flat[i]} {flat[i + 1]}" for i in range(0, len(flat), 2)),
                )
            )
        return records

    def _ended_record(self, tick: int, ended: Ended, note: EndNote) -> JobRecord:
        return self._record(
            ended.key,
            state=how_ended(ended, note),
            ended=tick,
            reason=ended.reason,
            claims=note.attempts,
            model=note.model or self._asked_model(ended.key, note),
            effects=ended.effects,
            **self._usage(ended, note),
            **{name: getattr(note, name) for name in _CIRCUMSTANCES},
            late=self._late.get(ended.key),
        )

    def _asked_model(self, key: JobKey, note: EndNote) -> str:
        """Return the assigned model of a job without a model's result, if a worker attempted it."""
        opening = self._opening(key)
        return opening.decided.model if note.attempts and opening is not None else ""

    def _usage(self, ended: Ended, note: EndNote) -> dict[str, object]:
        """Return the usage of a job's attempts, from the lines read so far."""
        retried = note.retried
        for used in self._retried.get(ended.key, {}).values():
            retried = added(retried, used)
        opening = self._opening(ended.key)
        charged = opening is not None and opening.note is not None and opening.note.reserved != Cost()
        if ended.reason not in WITHOUT_RESULT or not charged:
            return {"usage": note.usage, "reasoning": note.reasoning, "saved": note.saved, "retried": retried}
        correction = self._corrected.get(ended.key)
        if correction is None:
            return {"settled": False, "retried": retried}
        return {"usage": correction.usage, "saved": correction.saved, "retried": retried}

    def _read_on(self, key: JobKey, record: JobRecord, minute: int) -> None:
        """Read what the journal records about a job within a game day after its end at game time `minute`."""
        awaits_answer = record.reason in WITHOUT_RESULT - {"cancelled"} and record.claims > 0
        if record.settled and not awaits_answer and record.claims < 2:
            return
        for line in read_journal(self._store, record.ended + 1, self._now()):
            self._learn_late(line)
            final = key in self._corrected and (key in self._late or not awaits_answer) and record.claims < 2
            if final or line.core.minute - minute > LONGEST_AFTER_END:
                return

    def _record(self, key: JobKey, **facts: Any) -> JobRecord:
        opening = self._opening(key)
        if opening is None:
            raise JournalError(f"tick {key.tick}: the journal has no decision for job {key.text()}")
        decided, note = opening.decided, opening.note
        if note is not None:
            facts = {
                "reserved": note.reserved,
                "cells": tuple(f"{window} {scope}" for window, scope in note.cells),
                **facts,
            }
        return JobRecord(
            id=self._id(key),
            kind=key.kind,
            owner=key.owner,
            tick=key.tick,
            decision=decided.decision,
            refused=decided.refused,
            due=decided.due,
            successor=self._id(decided.successor) if decided.successor is not None else "",
            **facts,
        )

    def _opening(self, key: JobKey) -> JobBeginning | None:
        if key not in self._openings and self.trimmed < key.tick <= self._now():
            for line in read_journal(self._store, key.tick, key.tick):
                self._learn(line)
        return self._openings.get(key)

    def _learn(self, line: ReadLine) -> None:
        notes = {note.key: note for note in line.notes.opened}
        for decided in line.core.decided:
            self._openings[decided.key] = JobBeginning(decided, notes.get(decided.key))

    def _learn_usage(self, corrected: Iterable[Correction], retried: Iterable[Retried], tick: int) -> None:
        for correction in corrected:
            self._corrected[correction.key] = correction
        usage: dict[JobKey, Cost] = {}
        for attempt in retried:
            usage[attempt.key] = added(usage.get(attempt.key, Cost()), attempt.used)
        for key, used in usage.items():
            self._retried.setdefault(key, {})[tick] = used

    def _learn_late(self, line: ReadLine) -> None:
        """Record what a line says about jobs that ended earlier."""
        self._learn_usage(line.notes.corrected, line.notes.retried, line.core.tick)
        for ended, note in line.later_ends:
            copied = {name: getattr(note, name) for name in _OF_NOTE}
            self._late[ended.key] = LateAnswer(tick=line.core.tick, end=ended.end, effects=ended.effects, **copied)

    def _id(self, key: JobKey) -> str:
        return f"{self._run}/{key.text()}"

    def _now(self) -> int:
        tick = self._store.field("state", "tick")
        return int(tick or 0)


def _any(key: JobKey, end: str, reason: str, note: EndNote | None) -> bool:
    return True
