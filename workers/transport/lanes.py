"""The lanes of a kind on RabbitMQ: the quorum queues that carry its hints, and the choice of one for each hint.

A quorum queue has no priorities that could order hints by due tick, so a kind has several queues. Jobs that ask a model
have three lanes, by the ticks until they are due; jobs that ask none, which a worker without room still runs, have two.
A worker takes from an earlier lane first.

Unlike on Redis, the hints of all runs share these queues in order of arrival. To keep a large run from delaying the
others, only the first hints of a burst, those due first, keep their lane; the rest go to the last one. The host repeats
the hints of unclaimed jobs, and a repeated hint takes the lane that fits by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cogitate.tasks.job import Job


class Lane(NamedTuple):
    """A lane. Every kind has all of them."""

    name: str
    asks: bool  # whether its jobs ask a model
    within: int  # the most ticks until its jobs are due


_EVER = 1 << 62
LANES = (
    Lane("quick", False, _EVER),
    Lane("quick-later", False, _EVER),
    Lane("now", True, 8),
    Lane("soon", True, 64),
    Lane("later", True, _EVER),
)  # in the order in which a worker takes from lanes of either type
BURST = 64  # hints of a kind that keep their lane, among those that a run with a share of 1 publishes at once
KEPT = 86_400_000  # milliseconds after which a hint that no worker takes expires, as on Redis
ARGUMENTS = {"x-queue-type": "quorum", "x-message-ttl": KEPT}


def queue_of(kind: str, lane: Lane) -> str:
    """Return the name of a kind's queue for a lane, distinct from other programs' queues on a shared broker."""
    return f"cogitate.{kind}.{lane.name}"


def queues_of(kind: str) -> dict[str, Lane]:
    """Return the queues of a kind and their lanes."""
    return {queue_of(kind, lane): lane for lane in LANES}


def choose_lanes(jobs: Sequence[Job], tick: int, share: int) -> Iterator[tuple[Job, Lane]]:
    """Yield each job of a burst with its lane, in order of due tick.

    Args:
        tick: the newest known tick.
        share: the run's `worker_share`.
    """
    kept: dict[tuple[str, bool], int] = {}
    for job in sorted(jobs, key=lambda job: job.due):
        asks = bool(job.model)
        fitting = [lane for lane in LANES if lane.asks == asks]
        before = kept[job.key.kind, asks] = kept.get((job.key.kind, asks), 0) + 1
        in_time = next(lane for lane in fitting if job.due - tick <= lane.within)
        yield job, in_time if before <= BURST * share else fitting[-1]
