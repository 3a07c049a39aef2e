"""Formatting of workers that cannot claim jobs."""

from __future__ import annotations

from cogitate.scheduler.ledger.worker_signs import FailingWorker


def format_failing_worker(one: FailingWorker) -> str:
    """Return a worker's problem in one line."""
    if not one.failures:
        return f"Worker {one.worker} could not begin: {one.why}"
    then = ", and has ended" if one.ended else ""
    return f"Worker {one.worker} could claim none of its last {one.failures:,} jobs{then}: {one.why}"
