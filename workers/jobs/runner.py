"""A job in a worker process, from top to bottom: claim it, make attempts, settle.

`Runner` makes attempts (`attempt`) until one succeeds or none can help; a job is pure, so it may run twice. The ledger
releases, retries or abandons attempts, and loses no job.
"""

from __future__ import annotations

import contextlib
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import structlog
from msgspec.structs import replace
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.batches import Batches
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
    until_reached,
)
from cogitate.tasks.job import Cost, JobKey, split_job_id
from cogitate.workers.jobs.attempt import Attempts
from cogitate.workers.jobs.batches.desk import BatchDesk
from cogitate.workers.jobs.call import BATCHED, BatchAnswer
from cogitate.workers.jobs.call_layers import Calls
from cogitate.workers.jobs.candidates import NO_ADJUSTMENT, Adjustment
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.kept_results import KeptResults
from cogitate.workers.jobs.metrics import attempted, failure_class
from cogitate.workers.jobs.vectors import Vectors
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.requests.dialect import DialectStore
from cogitate.workers.processes.worker_process import BEFORE_CLAIM, reason_of
from cogitate.workers.telemetry.exporting import started
from cogitate.workers.telemetry.job_trace import job_attributes

if TYPE_CHECKING:
    from cogitate.workers.telemetry.spans import Outcome as SpanOutcome

log = structlog.get_logger()


class Outcome(NamedTuple):
    """The outcome of running a job."""

    settled: Settled | Refusal | Literal["ready", "batched"]
    source: Source = "none"  # of the last attempt's result
    failure: str = ""  # class of its failure

    def words(self) -> str:
        """Return a short text, which Flower shows as the task's result."""
        why = f": {self.failure}" if self.failure else ""
        match self.settled:
            case "ready":
                return "ready"
            case "batched":
                return "waits for a batch"
            case "staged":
                return f"{self.source}{why}"
            case "offered":
                return f"late: {self.source}"
            case "freed" | "accounted" | "already" | "unknown":
                return f"no result{why}"
            case refusal:
                return f"not run: {refusal}"


class Runner:
    """Runs jobs for one worker process, from any number of threads."""

    def __init__(
        self,
        client: Redis,
        claims: Claims,
        heartbeat: Heartbeat,
        settings: Settings,
        kept: KeptResults | None = None,
        batches: Batches | None = None,
    ) -> None:
        self._kept = kept
        self._claims = claims
        self._heartbeat = heartbeat
        self._settings = settings
        self._models = ModelClients(settings.endpoint_table(), settings.concurrency, DialectStore(client))
        for name in {model.endpoint for model in settings.asked_models()}:  # the first call need not wait for them
            with contextlib.suppress(ConfigurationError, KeyError):  # the first call that needs it logs this
                self._models.of(name)
        self._telemetry = started()
        self._stopping = threading.Event()
        self.desk = BatchDesk(client, batches, claims, settings, self.answered) if batches is not None else None
        parking = (batches, self.desk.wake) if batches is not None and self.desk is not None else None
        self._calls = Calls(client, settings, self._models, self._stopping, parking)
        self._vectors = Vectors(client, settings, self._calls.gate)
        self._attempts = Attempts(client, settings, self._calls, self._vectors)
        self._other: set[str] = set()  # runs of another version already logged

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
            outcome, pause, adjustment = self._attempt(claim, deadline, adjustment, tries)
            if outcome.settled != "freed" or self._stopping.wait(pause):
                return outcome

    def answered(self, claim: Claim, answer: BatchAnswer) -> Outcome:
        """Judge and settle an answer that came in a batch; any worker may make a further attempt."""
        deadline = time.monotonic() + self._settings.job_deadline
        return self._attempt(claim, deadline, NO_ADJUSTMENT._replace(answer=answer), [])[0]

    def _attempt(
        self, claim: Claim, deadline: float, adjustment: Adjustment, tries: list[Tried]
    ) -> tuple[Outcome, float, Adjustment]:
        """Make an attempt and settle it; return the seconds before the next one, and what it changes."""
        job, began = claim.job, time.monotonic()
        traced: AbstractContextManager[SpanOutcome | None] = nullcontext()
        if self._telemetry is not None:
            attributes = {**job_attributes(job.run, job.key), "cogitate.attempt": claim.number}
            traced = self._telemetry.attempt(claim.incarnation, job.id, f"attempt {job.key.kind}", attributes)
        with (
            traced as span,
            structlog.contextvars.bound_contextvars(job=job.id, attempt=claim.number),
            self._heartbeat.of(job.run, claim.incarnation),
            claim.case.world.clock.in_force(),
        ):
            model = adjustment.model or job.model
            result, used, pause, failure, adjustment = self._attempts.make(claim, deadline, adjustment)
            if failure == BATCHED:
                if span is not None:
                    span.attributes["cogitate.settled"] = BATCHED
                return Outcome("batched"), 0.0, adjustment
            model = result.model if result is not None and result.model else model
            if job.model:
                took = round(1000 * (time.monotonic() - began))
                tries.append(Tried(claim.number, took, used, model, failure))
                result = result and replace(result, tries=tuple(tries))
            settled = self._settle(claim, result, used, failure)
            if span is not None:
                _note_attempt(span, settled, result, used, failure)
            if self._kept is not None and settled == "staged" and result and result.source in ("llm", "cached"):
                self._kept.keep(claim, result, used)
        source = result.source if result is not None else "none"
        attempted(job.key.kind, source, failure, time.monotonic() - began, model, used.tokens)
        log.info(
            "job.settled",
            job=job.id,
            kind=job.key.kind,
            owner=job.key.owner,
            attempt=claim.number,
            settled=settled,
            source=source,
            tokens=used.tokens,
        )
        return Outcome(settled, source, failure), pause, adjustment

    def _claim(self, job_id: str) -> Claim | Refusal:
        try:
            claim = self._claims.claim(job_id)
        except RedisError:
            raise
        except Exception as error:
            BEFORE_CLAIM.failed(reason_of(error))
            raise
        if isinstance(claim, Claim):
            if BEFORE_CLAIM.in_turn:
                BEFORE_CLAIM.claimed()
            if self.desk is not None and claim.model is not None and claim.model.batch != "off":
                self.desk.start()  # it finds batches of other workers, too
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
        try:
            return until_reached(partial(self._claims.settle, claim, result, used, failure), claim.job.id)
        except RedisError:
            raise
        except Exception as error:  # the result cannot be written: settle the heuristic's instead
            if result is None:
                raise
            made = self._attempts.after_fault(claim, used, error, unreported=result.unreported)
            return self._claims.settle(claim, made.result, used, made.failure)

    def stop(self) -> None:
        """End every wait: this process is about to exit, and another may take the jobs waiting for an attempt."""
        self._stopping.set()
        if self.desk is not None:
            self.desk.stop()

    def close(self) -> None:
        """Close the connections to models and end the threads of running jobs. Calls in flight fail."""
        if self.desk is not None:
            self.desk.close()
        self._models.close()
        self._vectors.close()
        self._calls.close()
        self._heartbeat.close()


def _note_attempt(span: SpanOutcome, settled: Settled, result: Result | None, used: Cost, failure: str) -> None:
    """Record an attempt's outcome in its span."""
    span.error = failure_class(failure)
    span.attributes |= {
        "cogitate.settled": settled,
        "cogitate.source": result.source if result is not None else "none",
        "cogitate.tokens": used.tokens,
    }
    if result is not None and result.packed:
        span.attributes["cogitate.packed"] = result.packed
