"""The outcomes of jobs in the source of a fork: as inputs of its boundaries, and in the ledger once the runs part.

While the runs are equal, each job ends as in the source. When they part, open jobs have read the same data as in the
source, so their results are staged at once. Later jobs go to workers, together with their outcomes in the source: a
worker reuses an outcome if the job's inputs are the same, and asks a model otherwise. A job that ended late in the
source ends late again; its late answer is offered at the same tick as in the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cogitate.scheduler.engine.boundary import OF_RESULT
from cogitate.scheduler.journal.lines import Correction, Ended, EndNote, ReadLine
from cogitate.scheduler.journal.origin import SourceJournal
from cogitate.scheduler.ledger.claims import Reason, Result
from cogitate.scheduler.ledger.ledger import Value, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import DueJob, JobState
from cogitate.scheduler.ledger.streams import chunked
from cogitate.tasks.job import Cost, JobKey

_STATES: Mapping[Reason, JobState] = {
    "late": "open",
    "dead": "dead",
    "denied": "held",
    "too_slow": "held",
    "cancelled": "held",  # the heuristic job that replaces a cancelled one
}


def due_job(ended: Ended, note: EndNote) -> DueJob:
    """Return the row of a due job from the source's journal, with nothing spent."""
    state = _STATES.get(ended.reason, "staged")
    failure = "" if ended.end == "stale" else note.failure  # the failure of a stale end is a precondition
    result = None
    if state == "staged":
        result = msgspec.structs.replace(result_of(ended, note), reason=ended.reason, failure=failure)
    return DueJob(ended.key, state, result, note.attempts, note.arrival, failure, note.empty)


def result_of(ended: Ended, note: EndNote) -> Result:
    """Return the result of a job, or its late answer, without its cost."""
    fields = {name: getattr(note, name) for name in OF_RESULT}
    fields |= {
        "saved": note.usage != Cost(),
        "tries": (),
        "worker": "",
        "source": "cached" if note.source == "llm" else note.source,
    }
    return Result(effects=ended.effects, **fields)


def late_answer(ended: Ended, note: EndNote) -> Result:
    """Return an answer that arrived after its job's end."""
    return msgspec.structs.replace(result_of(ended, note), failure="")


def usage_of(known: Correction) -> bytes:
    """Return the final usage of an ended job, in the form that the ledger stores."""
    usage = msgspec.structs.astuple(known.usage)
    fields = {"usage": usage, "saved": True, "at": known.at, "kept": known.kept, "inputs": known.inputs}
    return msgspec.json.encode(fields)


def ends_of(line: ReadLine) -> Iterator[tuple[Ended, EndNote]]:
    """Yield the jobs that were due at a tick, without cancelled ones."""
    for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
        if ended.end != "cancelled":
            yield ended, note


class LaterOutcomes:
    """The outcomes of the source's jobs after the last tick that a fork repeats.

    Args:
        parted: this tick.
        equal: the last tick after which the runs were equal; jobs of later ticks may read different data.
    """

    def __init__(self, journal: SourceJournal, parted: int, equal: int) -> None:
        self._equal = equal
        self._open: dict[JobKey, DueJob] = {}  # jobs that were open at the tick `parted` and have read the same data
        self._results: dict[JobKey, Result] = {}  # of later jobs whose inputs are known
        self._late: set[JobKey] = set()  # jobs that ended late after the tick `parted`
        self._offers: dict[JobKey, Result] = {}  # late answers to jobs that ended up to the tick `parted`
        self._corrections: dict[JobKey, Correction] = {}  # likewise: their usage
        for tick in range(parted + 1, journal.last + 1):
            if (line := journal.line(tick)) is not None:
                self._read(line)

    def _read(self, line: ReadLine) -> None:
        for ended, note in ends_of(line):
            due = due_job(ended, note)
            if ended.reason == "late":
                self._late.add(ended.key)
                due = due._replace(arrival=0, result=Result(effects=(), source="none", reason="late"))
            if due.result is not None:
                self._keep(due, due.result)
        for known in line.notes.corrected:
            if known.key in self._late:
                self._keep_late(known.key, usage=known.usage, saved=known.usage != Cost(), inputs=known.inputs)
            else:
                self._corrections[known.key] = known
        for ended, note in line.later_ends:
            answer = msgspec.structs.replace(late_answer(ended, note), late=line.core.tick)
            if ended.key in self._late:
                self._keep_late(ended.key, **msgspec.structs.asdict(answer))
            else:
                self._offers[ended.key] = answer

    def _keep(self, due: DueJob, result: Result) -> None:
        if due.key.tick <= self._equal:
            self._open[due.key] = due._replace(result=result)
        elif result.inputs:
            self._results[due.key] = result

    def _keep_late(self, key: JobKey, **fields: Any) -> None:
        """Store what became known about a job after its late end."""
        result = Result(**{"effects": (), "source": "none"} | fields | {"reason": "late"})
        self._keep(DueJob(key, "staged", None, 0), result)

    def fields(self) -> list[Value]:
        """Return the outcomes for workers as alternating job keys and results."""
        fields: list[Value] = []
        for key, result in sorted(self._results.items()):
            fields += (key.text(), msgspec.json.encode(result))
        return fields

    def writes(self, store: RunStore) -> list[Write]:
        """Return the commands that stage the results of open jobs, and store late answers and usage of ended ones.

        Args:
            store: of the fork.
        """
        writes: list[Write] = []
        waiting = {field.decode(): int(count) for field, count in store.mapping("waiting").items()}
        for text, (state, claims, due) in store.open_jobs("state", "claims", "due").items():
            outcome = self._open.get(JobKey.parse(text))
            if outcome is None or (state, claims) != (b"open", b"0"):
                continue
            staged = ("state", "staged", "result", msgspec.json.encode(outcome.result), "arrival", outcome.arrival)
            writes += [Write("HSET", f"job:{text}", staged), Write("SREM", "unclaimed", (text,))]
            writes.append(Write("SADD", "staged", (text,)))
            waiting[due.decode()] -= 1
        for tick, count in waiting.items():
            writes.append(Write("HSET", "waiting", (tick, count)) if count else Write("HDEL", "waiting", (tick,)))
        offers: list[Value] = []
        corrections: list[Value] = []
        for key, answer in self._offers.items():
            if store.field("awaited", key.text()) is not None:
                offers += (key.text(), msgspec.json.encode(answer))
        for field in store.fields("corrections"):
            if (known := self._corrections.get(JobKey.parse(field.decode()))) is not None:
                corrections += (field, usage_of(known))
        return [*writes, *chunked("HSET", "offered", offers, 2), *chunked("HSET", "corrections", corrections, 2)]
