"""The hash of all that a job's outcome depends on: what it may read, and what is sent to its model.

A fork takes over the outcome that a job had in its source if the hashes agree. Amounts that admission reserves, and
corrections of estimates, drift with every answer of a run. They count only as far as they change the prompt.
"""

from __future__ import annotations

import msgspec

from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Case
from cogitate.workers.jobs.call import CachedQuestion
from cogitate.workers.llm.requests.hashing import hashed

_ENCODER = msgspec.json.Encoder(order="deterministic")


def inputs_digest(case: Case, question: CachedQuestion) -> str:
    """Return the hash of a job's inputs: equal in every process and in every run."""
    job = msgspec.structs.replace(
        case.job,
        run="",
        priority=0,
        facts=0,  # a version; the facts themselves count
        correction=1_000,
        correction_others=1_000,
        reserved=Cost(),
        ahead=0,
        refused="",
        valued=None,
    )
    read = _ENCODER.encode((job, case.profile, case.world.digest, case.memories, question.digest()))
    return hashed(read, 12).hexdigest()
