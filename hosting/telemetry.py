"""The host's spans for each job: the tick that requested it, and the boundary at which it ended."""

from __future__ import annotations

import time

from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.journal.ends import REASONS, how_ended
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.tasks.job import job_id
from cogitate.workers.jobs.metrics import failure_class
from cogitate.workers.telemetry.job_trace import job_attributes, trace_of
from cogitate.workers.telemetry.spans import Telemetry


class JobSpans:
    """Exports the spans of one run's jobs as its ticks are committed."""

    def __init__(self, telemetry: Telemetry, ledger: HostLedger) -> None:
        self._telemetry = telemetry
        self._run = ledger.run
        self._incarnation = ledger.incarnation
        telemetry.follow(ledger.run, ledger.incarnation)

    def committed(self, tick: int, outcome: FinishedTick, seconds: float) -> None:
        """Export the spans of the jobs that a tick requested and ended.

        Args:
            seconds: duration of the host's own work on the tick.
        """
        ended = time.time_ns()
        began = ended - round(seconds * 1e9)
        for item in outcome.opened:
            self._requested(item, began, ended)
        for end, note in zip(outcome.core.ends, (*outcome.notes.ended, *outcome.notes.late), strict=True):
            self._ended(tick, end, note, began, ended)

    def _requested(self, item: OpenJob, began: int, ended: int) -> None:
        job = item.job
        trace = trace_of(self._incarnation, job.id)
        if not self._telemetry.sampled(trace):
            return
        attributes = {
            **job_attributes(self._run, job.key),
            "cogitate.admitted": item.admitted,
            "cogitate.due_tick": job.due,
            "cogitate.reserved.tokens": job.reserved.tokens,
            **({"gen_ai.request.model": job.model} if job.model else {}),
        }
        self._telemetry.add_request(trace, f"request {job.key.kind}", attributes, began, ended)

    def _ended(self, tick: int, end: Ended, note: EndNote, began: int, ended: int) -> None:
        trace = trace_of(self._incarnation, job_id(self._run, end.key))
        if not self._telemetry.sampled(trace):
            return
        attributes = {
            **job_attributes(self._run, end.key),
            "cogitate.end": how_ended(end, note),
            "cogitate.end_tick": tick,
            "cogitate.source": note.source,
            "cogitate.reason": end.reason,
            "cogitate.attempts": note.attempts,
        }
        error = ""
        if end.reason in REASONS and end.end != "stale":  # a stale job's `failure` is a precondition
            error = failure_class(note.failure) if note.failure else end.reason
        self._telemetry.add_end(trace, f"end {end.key.kind}", attributes, began, ended, error)
