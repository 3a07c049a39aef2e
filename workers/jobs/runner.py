"""The runner of jobs: it claims a job, computes its effects and settles it. A job is pure, so it may run twice.

Every fault ends in the kind's heuristic, never in a lost job: the ledger releases, retries or abandons attempts.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from functools import cache
from typing import Literal, NamedTuple

import msgspec
import structlog
from celery import signals
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.claims import (
    Claim,
    Claims,
    Refusal,
    Result,
    Settled,
    Source,
    Tried,
    endpoint_of,
    is_trial_hint,
)
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.keys import new_nonce
from cogitate.tasks.job import Cost, JobKey, split_job_id
from cogitate.tasks.registry import use_prompts
from cogitate.workers.jobs.attempt import NO_ADJUSTMENT, Attempts
from cogitate.workers.jobs.call_layers import Calls
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.kept_results import KeptResults
from cogitate.workers.jobs.metrics import attempted
from cogitate.workers.jobs.model_lane import SPARE, ModelLane, slots_of_worker
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.requests.dialect import DialectStore
from cogitate.workers.processes.worker_process import BEFORE_CLAIM, reason_of
from cogitate.workers.transport import redis_transport

log = structlog.get_logger()

SETTLE_BACKOFF = (0.1, 0.5, 2.0, 5.0)  # seconds between tries while the ledger is unreachable

# Seconds after which a waiting thread requests the interpreter lock. Job threads release it within a fraction of a
# millisecond anyway, so with Python's 5 ms a few hundred of them only wake each other.
SWITCH_INTERVAL = 0.02

# Net allocations between two garbage collections. With Python's 700, collections take a tenth of a worker's time and
# find hardly anything.
COLLECT_AFTER = 10_000


class Outcome(NamedTuple):
    """The outcome of running a job."""

    settled: Settled | Refusal | Literal["ready"]
    source: Source = "none"  # of the last attempt's result
    failure: str = ""  # class of its failure

    def words(self) -> str:
        """Return a short text, which Flower shows as the task's result."""
        why = f": {self.failure}" if self.failure else ""
        match self.settled:
            case "ready":
                return "ready"
            case "staged":
                return f"{self.source}{why}"
            case "offered":
                return f"late: {self.source}"
            case "freed" | "accounted" | "already" | "unknown":
                return f"no result{why}"
            case refusal:
                return f"not run: {refusal}"


ASIDE = "put aside: another task runs it"


class Runner:
    """Runs jobs for one worker process, from any number of threads."""

    def __init__(
        self,
        client: Redis,
        claims: Claims,
        heartbeat: Heartbeat,
        settings: Settings,
        kept: KeptResults | None = None,
    ) -> None:
        self._kept = kept
        self._claims = claims
        self._heartbeat = heartbeat
        self._settings = settings
        self._models = ModelClients(settings.endpoint_table(), settings.concurrency, DialectStore(client))
        for name in {model.endpoint for model in settings.asked_models()}:  # the first call need not wait for them
            with contextlib.suppress(ConfigurationError, KeyError):  # the first call that needs it logs this
                self._models.of(name)
        self._stopping = threading.Event()
        self._calls = Calls(client, settings, self._models, self._stopping)
        self._attempts = Attempts(client, settings, self._calls)
        self._other: set[str] = set()  # runs of another version already logged

    def stop(self) -> None:
        """End every wait: this process is about to exit, and another may take the jobs waiting for an attempt."""
        self._stopping.set()

    def close(self) -> None:
        """Close the connections to models and end the threads of running jobs. Calls in flight fail."""
        self._models.close()
        self._calls.close()
        self._heartbeat.close()

    def run(self, job_id: str) -> Outcome:
        """Run a job until an attempt succeeds or no other attempt can help, within its deadline."""
        run, key = split_job_id(job_id)
        if is_trial_hint(key):
            self._answer_trial(run, key)
            return Outcome("ready")
        deadline = time.monotonic() + self._settings.job_deadline
        adjustment = NO_ADJUSTMENT
        tries: list[Tried] = []
        while True:
            claim = self._claim(job_id)
            if not isinstance(claim, Claim):
                return Outcome(claim)
            job, began = claim.job, time.monotonic()
            where = structlog.contextvars.bound_contextvars(job=job_id, attempt=claim.number)
            with where, self._heartbeat.of(job.run, claim.incarnation), claim.case.world.clock.in_force():
                model = adjustment.model or job.model
                result, used, pause, failure, adjustment = self._attempts.make(claim, deadline, adjustment)
                model = result.model if result is not None and result.model else model
                if job.model:
                    took = round(1000 * (time.monotonic() - began))
                    tries.append(Tried(claim.number, took, used, model, failure))
                    result = result and msgspec.structs.replace(result, tries=tuple(tries))
                settled = self._settle(claim, result, used, failure)
                if self._kept is not None and settled == "staged" and result and result.source in ("llm", "cached"):
                    self._kept.keep(claim, result, used)
            source = result.source if result is not None else "none"
            attempted(job.key.kind, source, failure, time.monotonic() - began, model, used.tokens)
            log.info(
                "job.settled",
                job=job_id,
                kind=job.key.kind,
                owner=job.key.owner,
                attempt=claim.number,
                settled=settled,
                source=source,
                tokens=used.tokens,
            )
            if settled != "freed" or self._stopping.wait(pause):
                return Outcome(settled, source, failure)

    def _claim(self, job_id: str) -> Claim | Refusal:
        try:
            claim = self._claims.claim(job_id)
        except RedisError:
            raise
        except Exception as error:
            BEFORE_CLAIM.failed(reason_of(error))
            raise
        if isinstance(claim, Claim):
            BEFORE_CLAIM.claimed()
            return claim
        log.debug("job.refused", job=job_id, why=claim)
        if claim in ("older", "newer"):
            then = "finish it with a worker of that version" if claim == "older" else "upgrade this worker"
            BEFORE_CLAIM.failed(f"a run has a schema {claim} than this worker's ({SCHEMA}): {then}")
            run, _ = split_job_id(job_id)
            if run not in self._other:
                self._other.add(run)
                log.warning("run.older_schema" if claim == "older" else "run.newer_schema", run=run, known=SCHEMA)
        return claim

    def _answer_trial(self, run: str, key: JobKey) -> None:
        endpoint = endpoint_of(key)
        if endpoint is None:
            self._claims.mark_trial(run, key, was="asked", now="answered")
        elif self._claims.mark_trial(run, key, was="asked", now="taken"):
            self._calls.probe(endpoint)
            self._claims.mark_trial(run, key, was="taken", now="answered")

    def _settle(self, claim: Claim, result: Result | None, used: Cost, failure: str) -> Settled:
        """Settle, and retry while the ledger is unreachable: spending must be accounted for."""
        for backoff in SETTLE_BACKOFF:
            try:
                return self._claims.settle(claim, result, used, failure)
            except RedisError as error:
                log.warning("ledger.away", job=claim.job.id, error=type(error).__name__)
                time.sleep(backoff)
            except Exception as error:  # the result cannot be written: settle the heuristic's instead
                if result is None:
                    raise
                made = self._attempts.after_fault(claim, used, error, unreported=result.unreported)
                result, failure = made.result, made.failure
                return self._claims.settle(claim, result, used, failure)
        return self._claims.settle(claim, result, used, failure)


def tune() -> None:
    """Tune this process, whose threads mostly wait, and exempt the objects loaded so far from garbage collection."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


@cache
def _lane(pid: int) -> ModelLane[Outcome]:
    """Return this process's lane with its runner; a forked child creates its own."""
    tune()
    settings = Settings()
    use_prompts(settings.prompts)
    client = connect(settings.state_url(), settings.socket_timeout, client=CombinedRedis)
    worker = f"{os.uname().nodename}:{pid}:{new_nonce()}"
    claims = Claims(client, worker=worker)
    beat_every = settings.tuning.lease / 5
    heartbeat, kept = Heartbeat(claims.beat, beat_every), KeptResults(claims, beat_every)
    runner = Runner(client, claims, heartbeat, settings, kept)
    lane = ModelLane(slots_of_worker(settings.concurrency + SPARE), claims.asks_model, runner.run)

    def stop(**_: object) -> None:
        lane.close()
        runner.stop()

    redis_transport.take_within(lane.room)
    signals.worker_shutting_down.connect(stop, weak=False)
    signals.worker_shutdown.connect(lambda **_: runner.close(), weak=False)  # Celery sends it after the last job
    return lane


_lock = threading.Lock()


def warm_up() -> None:
    """Create this process's runner now, so that the first job need not wait for its imports.

    Raises:
        CogitateError: if this process cannot run jobs with these settings.
    """
    with _lock:
        _lane(os.getpid())


def run_job(job_id: str) -> str:
    """Run the job named in a Celery task's message and describe its outcome; log and drop a foreign or tampered id."""
    try:
        split_job_id(job_id)
    except (ValueError, AttributeError, TypeError) as error:
        log.warning("message.refused", error=str(error)[:200])
        return "not run: refused"
    try:
        with _lock:
            lane = _lane(os.getpid())
    except RedisError:
        raise
    except Exception as error:
        BEFORE_CLAIM.failed(reason_of(error))
        raise
    outcome = lane.run(job_id)
    return outcome.words() if outcome is not None else ASIDE
