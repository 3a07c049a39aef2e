"""Trial hints: messages like those of jobs, by which a host learns that a worker takes what it publishes.

There is one for each kind, since each kind has a queue that only workers who know it take from, and one for each
endpoint that a worker is to try before it answers. Behind it is no job: it is answered in the run's `readiness`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.tasks.job import Job, JobKey

TICK = 0  # at which trial hints are asked for; of jobs the first tick is 1
OWNER = "readiness"


def trial_hints(run: str, kinds: Sequence[str]) -> list[Job]:
    """Return a trial hint for each of these kinds."""
    return [_hint(run, JobKey(TICK, kind, OWNER, 0, 0)) for kind in kinds]


def endpoint_hints(run: str, kind: str, endpoints: Sequence[str]) -> list[Job]:
    """Return a trial hint for each of these endpoints, for workers that take this kind."""
    return [_hint(run, JobKey(TICK, kind, f"{OWNER}:{endpoint}", 0, 0)) for endpoint in endpoints]


def endpoint_of(key: JobKey) -> str | None:
    """Return the endpoint that a trial hint wants to be tried; None: it wants none."""
    return key.owner.partition(":")[2] or None


def is_trial_hint(key: JobKey) -> bool:
    """Return whether a message of this key is no job's."""
    return key.tick == TICK and key.owner.partition(":")[0] == OWNER


def _hint(run: str, key: JobKey) -> Job:
    return Job(run=run, key=key, minute=0, due=0, reads=())
