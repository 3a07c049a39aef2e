"""Decisions and ends of the newest ticks of a run, read from the end of its journal.

For screens that refresh while a run is live: the cost depends on the number of ticks, not on the length of the run. The
lines are not verified (`cogitate.scheduler.journal.history` verifies them), and no memory is decoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from cogitate.scheduler.budget.budget import format_empty_pool
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.inspection.stored_run import limit_name
from cogitate.scheduler.journal.lines import reason_of
from cogitate.scheduler.journal.outline import LineOutline, read_outline
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.latency.due_ticks import RUN_ENDS, TOO_SLOW, UNTIMELY
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, JobKey, added

MOST_OWNERS = 20  # owners that spent most
MOST_FAILURES = 10  # newest failed jobs
BY_MODEL = ("too_slow", "late", "failed", "dead")  # reasons why a job that its limits allowed got no model's answer


class KindTally(msgspec.Struct, kw_only=True):
    """One kind's jobs."""

    decisions: Counter[str] = msgspec.field(default_factory=Counter)  # admitted, heuristic, deferred, dropped
    ends: Counter[str] = msgspec.field(default_factory=Counter)
    sources: Counter[str] = msgspec.field(default_factory=Counter)
    reasons: Counter[str] = msgspec.field(default_factory=Counter)  # why jobs got no model's answer; never "none"
    attempts: int = 0  # of all its ended jobs
    most_attempts: int = 0  # of a single job
    spent: Cost = Cost()  # by all attempts whose usage is known
    faults: int = 0  # jobs in which the kind's own code failed
    other_faults: int = 0  # those of them that did not end as failed or dead
    fault: str = ""  # the newest fault


class WorkerCalls(msgspec.Struct, kw_only=True):
    """One worker's calls to models, for jobs whose results it staged."""

    asked: int = 0
    failed: int = 0


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A job that got no model's answer because of a failure or a slow model."""

    id: str
    kind: str
    owner: str
    tick: int  # of its request
    ended: int  # tick of its end
    failure: str  # class of the failure: the model's, or late, dead or too_slow
    attempts: int
    why: str = ""  # the empty retry pool that prevented another attempt


class Recent(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the newest ticks."""

    first: int  # tick; above `last` if there are none
    last: int
    minute: int  # game time of the last tick, total minutes
    kinds: dict[str, KindTally]
    refused: dict[str, int]  # limit, named as in the settings -> requests that it refused
    owners: dict[str, Cost]  # owners that spent most
    failures: dict[str, int]  # class -> jobs, except those whose model was too slow to call
    failed: tuple[Failed, ...]  # newest first
    workers: dict[str, WorkerCalls] = {}
    late_by_host: int = 0  # late jobs to which the host gave too little real time while it caught up


def recent_ticks(store: RunStore, run: str, limits: LimitTable, count: int) -> Recent:
    """Return the figures of a run's newest `count` ticks, or of as many as the ledger holds."""
    return tally(newest_lines(store, count), run, limits)


def newest_lines(store: RunStore, count: int) -> list[LineOutline]:
    """Return the newest `count` lines of a run's journal, or as many as the ledger holds, oldest first."""
    return [read_outline(stored) for stored in store.items("journal", -count, -1)]


def lines_by_model(lines: Sequence[LineOutline], jobs: int) -> int:
    """Return how many of the newest lines are needed to find so many jobs whose end depended on the model.

    If there are fewer such jobs, return the number of all lines.
    """
    count = 0
    for back, line in enumerate(reversed(lines), 1):
        ends = zip(line.core.ended, line.notes.ended, strict=True)
        count += sum(note.source in ("llm", "cached") or ended.reason in BY_MODEL for ended, note in ends)
        if count >= jobs:
            return back
    return len(lines)


def tally(lines: Iterable[LineOutline], run: str, limits: LimitTable) -> Recent:
    """Return the figures of these lines of a run's journal.

    Args:
        lines: oldest first.
    """
    kinds: dict[str, KindTally] = {}
    refused: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    owners: dict[str, Cost] = {}
    failed: list[Failed] = []
    workers: dict[str, WorkerCalls] = {}
    first, last, minute = 1, 0, 0
    for line in lines:
        if last == 0:
            first = line.core.tick
        last, minute = line.core.tick, line.core.minute
        for decided in line.core.decided:
            kind = kinds.setdefault(decided.key.kind, KindTally())
            kind.decisions[decided.decision] += 1
            if decided.refused:
                refused[limit_name(limits, decided.refused)] += 1
            if decided.decision in ("deferred", "dropped"):
                kind.ends[decided.decision] += 1
                kind.reasons[reason_of(decided.refused)] += 1
                if decided.refused in UNTIMELY:
                    failed.append(_failed(run, decided.key, last, decided.refused))
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            kind = kinds.setdefault(ended.key.kind, KindTally())
            kind.ends[ended.end] += 1
            kind.sources[note.source] += 1
            kind.attempts += note.attempts
            kind.most_attempts = max(kind.most_attempts, note.attempts)
            if note.tries:
                calls = workers.setdefault(note.worker, WorkerCalls())
                calls.asked += len(note.tries)
                calls.failed += sum(bool(attempt.failure) for attempt in note.tries)
            if ended.reason != "none":
                kind.reasons[ended.reason] += 1
            if note.refusal:
                kind.faults += 1
                kind.other_faults += ended.reason not in ("failed", "dead")
                kind.fault = note.refusal
            if ended.reason in ("failed", "late", "dead", TOO_SLOW):
                failure = note.failure or (RUN_ENDS if note.because == RUN_ENDS else ended.reason)
                if ended.reason != TOO_SLOW:
                    failures[failure] += 1
                why = format_empty_pool(note.empty) if note.empty else ""
                failed.append(_failed(run, ended.key, last, failure, note.attempts, why))
        for spent in spending(line.notes):
            kind = kinds.setdefault(spent.key.kind, KindTally())
            kind.spent = added(kind.spent, spent.cost)
            if spent.cost != Cost():
                owners[spent.key.owner] = added(owners.get(spent.key.owner, Cost()), spent.cost)
    most = sorted(owners.items(), key=lambda item: (-item[1].usd_micros, -item[1].tokens, -item[1].calls, item[0]))[
        :MOST_OWNERS
    ]
    return Recent(
        first=first,
        last=last,
        minute=minute,
        kinds=dict(sorted(kinds.items())),
        refused=dict(sorted(refused.items())),
        owners=dict(most),
        failures=dict(failures.most_common()),
        failed=tuple(reversed(failed[-MOST_FAILURES:])),
        workers=dict(sorted(workers.items())),
    )


def _failed(run: str, key: JobKey, ended: int, failure: str, attempts: int = 0, why: str = "") -> Failed:
    return Failed(
        id=f"{run}/{key.text()}",
        kind=key.kind,
        owner=key.owner,
        tick=key.tick,
        ended=ended,
        failure=failure,
        attempts=attempts,
        why=why,
    )
