"""The worker slots that the open jobs of all runs need to be in time, for autoscalers.

The length of a queue does not show this: a thousand jobs due in an hour need few workers, ten jobs due in two seconds
need ten slots. So jobs are counted by due tick. All jobs due by a tick must be answered by then, which takes (their
number × the time of a call ÷ the time left) slots; the tick that needs the most slots decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.vitals import run_heads
from cogitate.scheduler.latency.due_ticks import ASSUMED
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.ledger.errors import NewerSchema, OlderSchema, RunMissing, RunUnreadable
from cogitate.scheduler.ledger.run_store import RunStore


class WorkerDemand(msgspec.Struct, frozen=True, kw_only=True):
    """The demand of all runs of a server."""

    slots: int  # slots needed at the same time
    open_jobs: int  # jobs that wait for a worker or an answer


def worker_demand(client: Redis) -> WorkerDemand:
    """Return the slots that all runs with a host need together; a paused run needs none.

    Raises:
        RedisError: if Redis does not answer.
    """
    seconds = _seconds_of_a_call(client)
    slots = open_jobs = 0
    for head in run_heads(client):
        if not head.held or head.status != "running":
            continue
        try:
            store = RunStore.open(client, head.run)
            tick, kept, prior = store.state("tick", "settings", "latency_prior")
            due = {int(at): int(count) for at, count in store.mapping("waiting").items()}
            settings = kept_settings(kept or b"{}")
        except (RunMissing, NewerSchema, OlderSchema, RunUnreadable, ValueError):
            continue  # deleted since, or another version's
        taking = 0.0 if settings.llm == "heuristic" else seconds
        rate = typed_json.decode(prior, LatencyPrior).tick_rate if prior is not None else None
        slots += slots_needed(due, int(tick or 0), rate, taking)
        open_jobs += sum(due.values())
    return WorkerDemand(slots=slots, open_jobs=open_jobs)


def slots_needed(due: Mapping[int, int], tick: int, tick_rate: float | None, seconds: float) -> int:
    """Return the slots that a run needs for its open jobs to be in time.

    Args:
        due: due tick -> number of jobs.
        tick: the last committed one.
        tick_rate: ticks per second; None: the host continues once the jobs due at its next boundary are answered.
        seconds: the time of a call; 0: jobs call no model.
    """
    if not due:
        return 0
    if tick_rate is None or not seconds:
        return due[min(due)] if seconds else 1
    most, jobs = 0.0, 0
    for at in sorted(due):
        jobs += due[at]
        left = max((at - tick) / tick_rate, seconds)  # with less time left than a call takes, jobs are late anyway
        most = max(most, jobs * seconds / left)
    return max(1, math.ceil(most))


def _seconds_of_a_call(client: Redis) -> float:
    """Return the mean of the endpoints' median call times, weighted by calls; before any call, the assumed time."""
    called = [(one.p50, one.calls) for one in endpoint_vitals(client) if one.p50 is not None and one.calls]
    total = sum(calls for _, calls in called)
    return sum(seconds * calls for seconds, calls in called) / total if total else ASSUMED
