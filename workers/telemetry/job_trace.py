"""The ids of a job's trace, which every process derives, and their form in a message's header."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

HEADER = "traceparent"  # as W3C Trace Context names it
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1


class JobTrace(NamedTuple):
    """The trace of one job: its id, and that of the span of its request, under which all others are."""

    trace_id: int
    span_id: int

    def traceparent(self, *, sampled: bool) -> str:
        """Return the value of the header that hands this trace on."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(sampled):02x}"


def trace_of(incarnation: str, job_id: str) -> JobTrace:
    """Return the trace of a job.

    Args:
        incarnation: of the job's run, since a later run may have its name.
    """
    digest = hashlib.blake2b(f"{incarnation} {job_id}".encode(), digest_size=24).digest()
    return JobTrace(int.from_bytes(digest[:16]), int.from_bytes(digest[16:]))


def sampled_of(header: object, trace: JobTrace) -> bool | None:
    """Return whether a message's header says that this trace is recorded; None if it says nothing about it."""
    found = _TRACEPARENT.fullmatch(header) if isinstance(header, str) else None
    if found is None or int(found[1], 16) != trace.trace_id:
        return None
    return bool(int(found[3], 16) & _SAMPLED)
