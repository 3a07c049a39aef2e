"""The check that workers are ready before a host relies on them.

A worker process needs a second or more until it takes messages; a paced host loses the jobs that it requests meanwhile.
So it publishes trial hints before its first tick and waits until one is answered, for a few seconds at most. The same
hints show which kinds no worker takes, and have a worker probe the endpoints that an earlier run found unreachable.

The host logs its findings; they decide nothing.
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
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.trial_hints import endpoint_hints, trial_hints
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.scheduler.tick.result_collector import Publish
from cogitate.tasks.job import JobKey
from cogitate.workers.processes.supervisor import WorkerPool

OWN = 15.0  # seconds in which workers that the host has just started answer, even on a busy machine
SLOW = 3.0  # seconds after which a host logs that it waits
OTHERS = 1.0  # the same for workers that should run already
ALL = 1.0  # seconds after the first answer in which every worker has said whose jobs it takes
TRIED = 6.0  # seconds after that in which an endpoint is probed
EVERY = 0.02  # seconds between two checks while the host waits for nothing else
NAMED = 5  # workers in one warning, at most
RARELY = 0.5  # the same while it waits for results

log = structlog.get_logger()


class Readiness:
    """The readiness of a host's workers, and through them of the endpoints that its run asks.

    Args:
        kinds: the kinds that its workers must know.
        endpoints: the endpoints whose breaker is open.
        pool: the workers that the host has started; None: an operator starts them.
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
        self._asked = self._looked = self._first = 0.0  # when
        self.unreachable: set[tuple[str, str]] = set()  # endpoints that did not answer before the first tick, and why
        self._told = self._slow = self._waited = False

    def ask(self) -> None:
        """Publish the trial hints.

        Raises:
            Fenced: when another host has taken the run meanwhile.
        """
        hints = [*self._tries, *self._hints]
        self._ledger.ask_ready([hint.key for hint in hints])
        self._publish(hints)
        self._asked = self._looked = self._clock()

    def wait(self, stopping: Callable[[], bool], *, for_workers: bool) -> None:
        """Wait, once, until a worker has answered and the endpoints in doubt were probed, and log what is missing.

        Args:
            stopping: returns whether the host has to stop meanwhile.
            for_workers: False: wait for endpoints only.

        Raises:
            ConfigurationError: when a worker of this host cannot start, with its log.
        """
        while not (self._waited or stopping()):
            self._check()
            self._look()
            if (self._told or not for_workers) and self._tried():
                self._waited = True
                with contextlib.suppress(RedisError):  # Redis is away: the host itself reports that
                    self._say_unreachable()
                return
            if not (self._slow or self._answered) and self._clock() - self._asked >= SLOW:
                self._slow = True
                then = f"the run waits for them, for {self._limit:g} s at most"
                log.warning("workers.starting", run=self._ledger.run, then=then)
            time.sleep(EVERY)  # workers send no other signal

    def workers_left(self) -> bool:
        """Return whether there are workers to wait for, as the result collector requires; log once what is missing.

        Raises:
            ConfigurationError: when a worker of this host cannot start, with its log.
        """
        self._check()
        if not self._told and self._clock() - self._looked >= RARELY:
            self._look()
        return self._pool is None or self._pool.any_left()

    def _check(self) -> None:
        if self._pool is not None and self._pool.cannot_start:
            raise ConfigurationError(f"a worker cannot start: {self._pool.cannot_start}")

    def _tried(self) -> bool:
        """Return whether every endpoint in doubt was probed or its time is over."""
        limit = self._limit + (TRIED if self._answered else 0.0)
        return self._answered.issuperset(hint.key for hint in self._tries) or self._clock() - self._asked >= limit

    def _look(self) -> None:
        told = self._told
        self._look_for_answers()
        if self._told and not told:
            self._say_older()

    def _say_older(self) -> None:
        """Log that all workers are of an older version, which does not take this run's jobs."""
        with contextlib.suppress(RedisError):
            seen = workers_seen(self._ledger.client)
            if seen.alive and seen.older == seen.alive:
                log.warning(
                    "workers.older_version",
                    run=self._ledger.run,
                    workers=seen.older[:NAMED],
                    then="they do not take its jobs, which are late and done by heuristic",
                    check=f"install cogitate {version('cogitate')} where they run, and start them anew",
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
                then="no worker takes them: their jobs are late and done by heuristic",
                check="name the modules that register them in `kinds`, for host and workers",
            )
        elif (settled or not self._answered) and now - self._asked >= self._limit:
            self._told = True
            log.warning(
                "workers.not_ready",
                run=self._ledger.run,
                seconds=self._limit,
                then="the run goes on; what no worker does in time is done by heuristic",
                check="start workers for this server: cogitate worker" if self._pool is None else "worker-1.log",
            )

    def _unknown(self, kinds: Sequence[str]) -> list[str]:
        """Return those of the kinds that no living worker takes; none while Redis is away."""
        try:
            taken = workers_seen(self._ledger.client).kinds
        except RedisError:
            return []
        return [kind for kind in kinds if kind not in taken]

    def _say_unreachable(self) -> None:
        for one in endpoint_vitals(self._ledger.client) if self._endpoints else ():
            if one.endpoint in self._endpoints and one.breaker == "open":
                self.unreachable.add((one.endpoint, one.why))
                log.warning(
                    "endpoint.unreachable",
                    run=self._ledger.run,
                    endpoint=one.endpoint,
                    why=one.why,
                    seconds=one.changed,
                    then="jobs go to their heuristic until it answers; it is tried again after pauses",
                )
