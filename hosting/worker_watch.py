"""Warns a host of workers that died or left during its run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.ledger.worker_signs import WorkerCount, WorkersSeen

if TYPE_CHECKING:
    from cogitate.workers.processes.supervisor import WorkerPool

log = structlog.get_logger()


class WorkerWatch:
    """Finds workers that stop sending heartbeats while this host runs, and the moment when none is left.

    A host that has seen no worker yet learns of it from `cogitate.workers.processes.readiness`.

    Args:
        seen: returns the workers as the host last read them; None: unknown.
        check: what an operator should do if no worker is left.
    """

    def __init__(self, run: str, seen: Callable[[], WorkersSeen | None], check: str) -> None:
        self._run = run
        self._seen = seen
        self._check = check
        self._read: WorkersSeen | None = None  # the last examined reading
        self._alive: set[str] = set()  # workers that this host has seen alive, without those it has reported
        self._any = False  # whether some worker could claim jobs at the last reading

    def committed(self, tick: int, _outcome: FinishedTick, _seconds: float) -> None:
        """Compare the workers with those of the last reading."""
        seen = self._seen()
        if seen is None or seen is self._read:
            return
        self._read = seen
        for missing in seen.missing:
            if missing.worker in self._alive:
                self._alive.discard(missing.worker)
                log.warning(
                    "worker.missing",
                    run=self._run,
                    tick=tick,
                    worker=missing.worker,
                    seconds=missing.seconds,
                    left=seen.able,
                    then="see why it ended, then start it again"
                    + ("; the others take its jobs" if seen.able else ": cogitate worker"),
                )
        self._alive.update(seen.alive)
        if self._any and not seen.able:
            then = "jobs that wait for one are late and done by heuristic"
            log.warning("workers.none_left", run=self._run, tick=tick, then=then, check=self._check)
        self._any = seen.able > 0


def worker_watch(run: str, workers: WorkerCount, pool: WorkerPool | None) -> WorkerWatch:
    """Return a watch on a server's workers.

    Args:
        pool: the host's own workers; None: an operator starts workers.
    """
    check = "start one for this server: cogitate worker" if pool is None else "see worker-1.log in the data folder"
    return WorkerWatch(run, lambda: workers.seen, check)
