"""Telemetry of attempts: a span of each, in the trace of its job."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from cogitate.scheduler.ledger.claims import Claim, Result, Settled
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.metrics import failure_class
from cogitate.workers.telemetry.exporting import started
from cogitate.workers.telemetry.job_attributes import job_attributes

if TYPE_CHECKING:
    from cogitate.workers.telemetry.spans import Outcome


def attempt_span(claim: Claim) -> AbstractContextManager[Outcome | None]:
    """Return the block of an attempt's span; without telemetry it does nothing."""
    telemetry = started()
    if telemetry is None:
        return nullcontext()
    job = claim.job
    attributes = {**job_attributes(job.run, job.key), "cogitate.attempt": claim.number}
    return telemetry.attempt(claim.incarnation, job.id, f"attempt {job.key.kind}", attributes)


def note_attempt(span: Outcome, settled: Settled, result: Result | None, used: Cost, failure: str) -> None:
    """Note what an attempt came to."""
    span.error = failure_class(failure)
    span.attributes |= {
        "cogitate.settled": settled,
        "cogitate.source": result.source if result is not None else "none",
        "cogitate.tokens": used.tokens,
    }
    if result is not None and result.packed:
        span.attributes["cogitate.packed"] = result.packed
