"""A job's trace: its ids, which every process derives, their form in a message header, and its spans' attributes.

They contain no text of a memory, a prompt or an answer.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from cogitate.tasks.job import JobKey, job_id

HEADER = "traceparent"  # as W3C Trace Context names it


class JobTrace(NamedTuple):
    """The trace of one job: its id, and the id of the request's span, the parent of all other spans."""

    trace_id: int
    span_id: int

    def traceparent(self, *, sampled: bool) -> str:
        """Return the header's value that propagates this trace."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(sampled):02x}"


def trace_of(incarnation: str, job_id: str) -> JobTrace:
    """Return the trace of a job.

    Args:
        incarnation: of the job's run, since a later run may have the same name.
    """
    digest = hashlib.blake2b(f"{incarnation} {job_id}".encode(), digest_size=24).digest()
    return JobTrace(int.from_bytes(digest[:16]), int.from_bytes(digest[16:]))


def sampled_of(header: object, trace: JobTrace) -> bool | None:
    """Return whether a message's header marks this trace as sampled; None if it belongs to no such trace."""
    return next((sampled for sampled in (True, False) if header == trace.traceparent(sampled=sampled)), None)


def job_attributes(run: str, key: JobKey) -> dict[str, str | int]:
    """Return the attributes of every span of a job: its run is the session, its owner the user."""
    return {
        "session.id": run,
        "gen_ai.conversation.id": run,
        "user.id": key.owner,
        "cogitate.job.id": job_id(run, key),
        "cogitate.job.kind": key.kind,
        "cogitate.tick": key.tick,
    }
