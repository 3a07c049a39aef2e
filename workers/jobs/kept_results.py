"""The store of settled results that no tick has confirmed: if the ledger loses one, the worker settles it again.

A server that syncs to disk once a second can lose its last second on a restart. The job is then open again, and another
attempt would call the model a second time. So a worker keeps each paid result until its job has ended.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import NamedTuple

import structlog
from redis.exceptions import RedisError

from cogitate.scheduler.ledger.claims import Claim, Claims, Result
from cogitate.tasks.job import Cost
from cogitate.workers.processes.lazy_thread import LazyThread

MOST = 256  # results; the oldest are dropped first

log = structlog.get_logger()


class _Kept(NamedTuple):
    claim: Claim
    result: Result
    used: Cost


class KeptResults:
    """The results of one worker process, checked by a background thread.

    Args:
        interval: seconds between two checks.
    """

    def __init__(self, claims: Claims, interval: float) -> None:
        self._claims, self._interval = claims, interval
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # by job id
        self._changed = threading.Condition()
        self._thread = LazyThread(self._run, "kept-results")

    def keep(self, claim: Claim, result: Result, used: Cost) -> None:
        """Keep a result until its job has ended."""
        with self._changed:
            job_id = claim.job.id
            self._kept[job_id] = _Kept(claim, result, used)
            self._kept.move_to_end(job_id)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
            self._thread.start()
            self._changed.notify()

    def look(self) -> None:
        """Drop confirmed results, and settle again those that the ledger has lost.

        Raises:
            RedisError: if the ledger cannot be reached.
        """
        with self._changed:
            kept = list(self._kept.values())
        states = self._claims.states([one.claim for one in kept])
        for one, state in zip(kept, states, strict=True):
            if state == "staged":
                continue
            if state == "open":
                self._settle_again(one)
                continue
            with self._changed:
                if self._kept.get(one.claim.job.id) is one:
                    del self._kept[one.claim.job.id]

    def _settle_again(self, one: _Kept) -> None:
        settled = self._claims.settle(one.claim, one.result, one.used)
        if settled == "unknown":  # the claim is lost as well; another worker may hold the job by now
            claim = self._claims.claim(one.claim.job.id)
            if not isinstance(claim, Claim):
                return
            settled = self._claims.settle(claim, one.result, one.used)
        log.warning("job.settled_again", job=one.claim.job.id, settled=settled)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._kept))
            time.sleep(self._interval)  # between two looks: a tick does not announce which results it confirmed
            try:
                self.look()
            except RedisError as error:
                log.debug("ledger.away", error=type(error).__name__)
