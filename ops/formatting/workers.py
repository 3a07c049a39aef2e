"""Workers that can claim no job, as people read of them."""

from __future__ import annotations

from cogitate.scheduler.ledger.worker_signs import FailingWorker


def format_failing_worker(one: FailingWorker) -> str:
    """Return what is wrong with a worker, in one line."""
    if not one.failures:
        return f"Worker {one.worker} could not begin: {one.why}"
    then = ", and has ended" if one.ended else ""
    return f"Worker {one.worker} could claim none of its last {one.failures:,} jobs{then}: {one.why}"
