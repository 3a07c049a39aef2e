"""Trial hints: messages like those of jobs, by which a host learns that a worker takes what it publishes.

There is one for each kind, since only workers that know a kind take from its queue, and one for each endpoint that a
worker must probe before it answers. They stand for no job: workers answer them in the run's `readiness`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.tasks.job import Job, JobKey

TICK = 0  # of trial hints; the first tick of jobs is 1
OWNER = "readiness"


def trial_hints(run: str, kinds: Sequence[str]) -> list[Job]:
    """Return a trial hint for each of these kinds."""
    return [_hint(run, JobKey(TICK, kind, OWNER, 0, 0)) for kind in kinds]


def endpoint_hints(run: str, kind: str, endpoints: Sequence[str]) -> list[Job]:
    """Return a trial hint for each of these endpoints, to be taken by workers that know this kind."""
    return [_hint(run, JobKey(TICK, kind, f"{OWNER}:{endpoint}", 0, 0)) for endpoint in endpoints]


def endpoint_of(key: JobKey) -> str | None:
    """Return the endpoint that a trial hint asks a worker to probe, or None."""
    return key.owner.partition(":")[2] or None


def is_trial_hint(key: JobKey) -> bool:
    """Return whether a message with this key is a trial hint rather than a job."""
    return key.tick == TICK and key.owner.partition(":")[0] == OWNER


def _hint(run: str, key: JobKey) -> Job:
    return Job(run=run, key=key, minute=0, due=0, reads=())
