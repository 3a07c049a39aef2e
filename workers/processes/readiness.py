"""Checks that workers are ready before a host relies on them.

A worker process takes a second or more to start; a paced host would lose the jobs that it requests in the meantime. So
the host publishes trial hints before its first tick and waits a few seconds at most until a worker answers one. The
same hints show which kinds no worker takes, and make a worker probe the endpoints that an earlier run found
unreachable.

The host only logs its findings; no decision depends on them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version

import structlog
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.ledger.claims import endpoint_hints, trial_hints
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.scheduler.tick.result_collector import Publish
from cogitate.tasks.job import JobKey
from cogitate.workers.processes.supervisor import WorkerPool

OWN = 15.0  # seconds to wait for workers that the host has just started, even on a busy machine
SLOW = 3.0  # seconds after which the host logs that it is waiting
OTHERS = 1.0  # seconds to wait for workers that should be running already
ALL = 1.0  # seconds after the first answer within which all workers report their schema
TRIED = 6.0  # further seconds for probes of endpoints
EVERY = 0.02  # seconds between two checks before the first tick
NAMED = 5  # the most workers that one warning names
RARELY = 0.5  # seconds between two checks while the host waits for results

log = structlog.get_logger()


class Readiness:
    """The readiness of a host's workers, and of the endpoints that they reach for its run.

    Args:
        kinds: the kinds that its workers must know.
        endpoints: the endpoints whose breaker is open.
        pool: the host's own workers; None: an operator starts workers.
    """

    def __init__(
        self,
        ledger: HostLedger,
        publish: Publish,
        *,
        kinds: Sequence[str],
        endpoints: Sequence[str] = (),
        pool: WorkerPool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._publish = publish
        self._pool = pool
        self._clock = clock
        self._limit = OWN if pool is not None else OTHERS
        self._endpoints = endpoints
        self._hints = trial_hints(ledger.run, kinds)
        self._tries = endpoint_hints(ledger.run, kinds[0], endpoints)
        self._answered: set[JobKey] = set()
        self._asked = self._looked = self._first = 0.0  # when the host asked, last looked, and saw the first answer
        self.unreachable: set[tuple[str, str]] = set()  # endpoints that did not answer before the first tick, and why
        self._told = self._slow = self._probed = False

    def ask(self) -> None:
        """Publish the trial hints.

        Raises:
            Fenced: if another host has taken over the run.
        """
        hints = [*self._tries, *self._hints]
        self._ledger.ask_ready([hint.key for hint in hints])
        self._publish(hints)
        self._asked = self._looked = self._clock()

    def wait(self, stopping: Callable[[], bool], *, for_workers: bool) -> None:
        """Wait until a worker has answered and has probed the doubtful endpoints; log once what is missing.

        Args:
            stopping: returns whether the host must stop waiting.
            for_workers: whether to wait for workers too, not only for endpoints.

        Raises:
            ConfigurationError: if a worker of this host cannot start; the message has its log.
        """

        def over() -> bool:
            return self._probed and (self._told or not for_workers)

        while not (over() or stopping()):
            self._check()
            self._look()
            if not self._probed and self._tried():
                self._probed = True
                with contextlib.suppress(RedisError):  # Redis is down: the host itself reports that
                    self._warn_of_unreachable()
            if over():
                return
            if not (self._slow or self._answered) and self._clock() - self._asked >= SLOW:
                self._slow = True
                then = f"the run waits for them for up to {self._limit:g} s"
                log.warning("workers.starting", run=self._ledger.run, then=then)
            time.sleep(EVERY)  # workers give no other signal

    def workers_left(self) -> bool:
        """Return whether the result collector may wait for workers; log once what is missing.

        Raises:
            ConfigurationError: if a worker of this host cannot start; the message has its log.
        """
        self._check()
        if not self._told and self._clock() - self._looked >= RARELY:
            self._look()
        return self._pool is None or self._pool.any_left()

    def _check(self) -> None:
        if self._pool is not None and self._pool.cannot_start:
            raise ConfigurationError(f"a worker cannot start: {self._pool.cannot_start}")

    def _tried(self) -> bool:
        """Return whether a worker has probed every doubtful endpoint, or the time for it is over."""
        limit = self._limit + (TRIED if self._answered else 0.0)
        return self._answered.issuperset(hint.key for hint in self._tries) or self._clock() - self._asked >= limit

    def _look(self) -> None:
        told = self._told
        self._look_for_answers()
        if self._told and not told:
            self._warn_of_older()

    def _warn_of_older(self) -> None:
        """Warn if all workers run an older version, which does not take this run's jobs."""
        with contextlib.suppress(RedisError):
            workers = workers_seen(self._ledger.client)
            if workers.alive and workers.older == workers.alive:
                log.warning(
                    "workers.older_version",
                    run=self._ledger.run,
                    workers=workers.older[:NAMED],
                    then="they do not take its jobs, which will be late and done by heuristic",
                    check=f"install cogitate {version('cogitate')} where they run, and restart them",
                )

    def _look_for_answers(self) -> None:
        keys = [hint.key for hint in (*self._tries, *self._hints) if hint.key not in self._answered]
        self._answered |= self._ledger.answered(keys)
        now = self._looked = self._clock()
        if self._answered and not self._first:
            self._first = now
        missing = [hint.key.kind for hint in self._hints if hint.key not in self._answered]
        settled = bool(self._answered) and now - self._first >= ALL
        if self._told or not missing:
            self._told = True
        elif settled and (unknown := self._unknown(missing)):
            self._told = True
            log.warning(
                "workers.unknown_kind",
                run=self._ledger.run,
                kinds=unknown,
                then="no worker takes their jobs, which will be late and done by heuristic",
                check="list the modules that register them in `kinds`, for host and workers",
            )
        elif (settled or not self._answered) and now - self._asked >= self._limit:
            self._told = True
            log.warning(
                "workers.not_ready",
                run=self._ledger.run,
                seconds=self._limit,
                then="the run continues; jobs that no worker does in time are done by heuristic",
                check="start workers for this server: cogitate worker" if self._pool is None else "worker-1.log",
            )

    def _unknown(self, kinds: Sequence[str]) -> list[str]:
        """Return the kinds that no live worker takes; none while Redis is down."""
        try:
            taken = workers_seen(self._ledger.client).kinds
        except RedisError:
            return []
        return [kind for kind in kinds if kind not in taken]

    def _warn_of_unreachable(self) -> None:
        for vitals in endpoint_vitals(self._ledger.client) if self._endpoints else ():
            if vitals.endpoint in self._endpoints and vitals.breaker == "open":
                self.unreachable.add((vitals.endpoint, vitals.why))
                log.warning(
                    "endpoint.unreachable",
                    run=self._ledger.run,
                    endpoint=vitals.endpoint,
                    **({"address": vitals.server} if vitals.server else {}),
                    why=vitals.why,
                    seconds=vitals.changed,
                    then="jobs are done by heuristic until it answers; it is retried after pauses",
                )
