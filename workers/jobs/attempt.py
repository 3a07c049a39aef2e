"""An attempt at a job, from top to bottom: claim, choose, fit, ask, judge, settle.

`Runner` claims, makes attempts until one succeeds or none can help, and settles; a job is pure, so it may run twice.
`Attempts` makes one: it chooses a model and fits the prompt (`candidates`), asks through the layers that `call_layers`
lists, and has the answer judged (`judging`). Every fault ends in the kind's heuristic, never in a lost job: the ledger
releases, retries or abandons attempts.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import structlog
from msgspec.structs import replace
from redis import Redis
from redis.exceptions import RedisError

from cogitate.memory.host_code import Raised, captured
from cogitate.prompts.render import TemplateError, Templates
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.intake.kind_effects import (
    EFFECTS_REFUSED,
    PROMPT_FAILED,
    KindEffects,
    fault_of_kind,
    made_without_model,
    place_of,
)
from cogitate.scheduler.ledger.batches import Batches
from cogitate.scheduler.ledger.claims import (
    UNUSABLE,
    Claim,
    Claims,
    Refusal,
    Result,
    Settled,
    Source,
    Tried,
    endpoint_of,
    is_trial_hint,
    named_failure,
    split_failure,
)
from cogitate.tasks.job import Cost, JobKey, split_job_id
from cogitate.tasks.kind import Kind
from cogitate.tasks.own.method_faults import MethodFault
from cogitate.tasks.registry import UnknownKind, kind_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.batches.desk import BatchDesk
from cogitate.workers.jobs.call import BATCHED, BatchAnswer, CachedQuestion
from cogitate.workers.jobs.call_layers import ASKING_FAILED, Calls
from cogitate.workers.jobs.candidates import (
    NO_ADJUSTMENT,
    REFUSED_THERE,
    Adjustment,
    Candidate,
    candidates_of,
    fitted,
    following,
)
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.inputs_digest import inputs_digest
from cogitate.workers.jobs.judging import HALVED, adjusted, judge, result_of
from cogitate.workers.jobs.kept_results import KeptResults
from cogitate.workers.jobs.ledger_retry import until_reached
from cogitate.workers.jobs.metrics import attempted
from cogitate.workers.jobs.stored_texts import Capture
from cogitate.workers.jobs.vectors import Vectors
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.dialect import DialectStore
from cogitate.workers.llm.requests.prompt_check import WrongPrompt
from cogitate.workers.llm.requests.tokens import PromptDoesNotFit
from cogitate.workers.processes.worker_process import BEFORE_CLAIM, reason_of

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
        """Judge and settle the answer that came in a batch; any worker makes a further attempt."""
        deadline = time.monotonic() + self._settings.job_deadline
        return self._attempt(claim, deadline, NO_ADJUSTMENT._replace(answer=answer), [])[0]

    def _attempt(
        self, claim: Claim, deadline: float, adjustment: Adjustment, tries: list[Tried]
    ) -> tuple[Outcome, float, Adjustment]:
        """Make an attempt and settle it; return the seconds before the next one, and what it changes."""
        job, began = claim.job, time.monotonic()
        where = structlog.contextvars.bound_contextvars(job=job.id, attempt=claim.number)
        with where, self._heartbeat.of(job.run, claim.incarnation), claim.case.world.clock.in_force():
            model = adjustment.model or job.model
            result, used, pause, failure, adjustment = self._attempts.make(claim, deadline, adjustment)
            if failure == BATCHED:
                return Outcome("batched"), 0.0, adjustment
            model = result.model if result is not None and result.model else model
            if job.model:
                took = round(1000 * (time.monotonic() - began))
                tries.append(Tried(claim.number, took, used, model, failure))
                result = result and replace(result, tries=tuple(tries))
            settled = self._settle(claim, result, used, failure)
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


class AttemptOutcome(NamedTuple):
    """The outcome of one attempt."""

    result: Result | None  # None: another attempt may succeed
    used: Cost
    pause: float = 0.0  # seconds to wait before it
    failure: str = ""
    adjustment: Adjustment = NO_ADJUSTMENT  # for the next attempt


class Attempts:
    """Makes attempts for one worker process, from any number of threads.

    Args:
        vectors: of the memories among which jobs choose; None: they choose by words.
    """

    def __init__(self, client: Redis, settings: Settings, calls: Calls, vectors: Vectors | None = None) -> None:
        self._endpoints = settings.endpoint_table()
        self._templates = Templates(settings.prompts)
        self._calls = calls
        self._capture = Capture(client, settings)
        self._vectors = vectors
        self._refused: set[str] = set()  # kinds whose refused effects are logged already

    def make(self, claim: Claim, deadline: float, adjustment: Adjustment) -> AttemptOutcome:
        """Make one attempt, and return what to settle: choose the models that may answer, or use the heuristic.

        Args:
            deadline: the instant of `time.monotonic()` by which calls end.
            adjustment: from this worker's previous attempt at the same job.
        """
        job = claim.job
        try:
            kind = kind_of(job.key.kind)
        except UnknownKind as error:
            log.error("job.unknown_kind", job=job.id, error=str(error))
            return AttemptOutcome(None, Cost(), 1.0)
        if not job.model:
            made = self._without_model(kind, claim)
            result = Result(effects=made.effects, source="heuristic")
            if made.refusal:
                result = replace(result, reason="failed", failure=EFFECTS_REFUSED, refusal=made.refusal)
            return AttemptOutcome(result, Cost(), failure=result.failure)
        vectors = self._vectors.of(kind, claim, deadline) if self._vectors is not None else None
        asking = claim if vectors is None else vectors.claim
        candidates = candidates_of(kind, asking, self._endpoints)
        if not candidates:
            endpoint = claim.model.endpoint if claim.model is not None else ""
            log.error("job.unknown_endpoint", job=job.id, model=job.model, endpoint=endpoint, known=[*self._endpoints])
            return self._degrade(kind, claim, "unknown_endpoint")
        outcome = self._ask(kind, claim, asking, candidates, deadline, adjustment)
        if vectors is None:
            return outcome
        used, charged = vectors.charge(outcome.used, outcome.result)
        return outcome._replace(used=used, result=charged)

    def _ask(
        self,
        kind: Kind,
        claim: Claim,
        asking: Claim,
        candidates: Sequence[Candidate],
        deadline: float,
        adjustment: Adjustment,
    ) -> AttemptOutcome:
        """Fit the prompt, ask, judge the answer, and return what to settle.

        Args:
            asking: the claim for prompt and call; vectors may choose its memories.
        """
        candidate = next((one for one in candidates if one.model.name == adjustment.model), candidates[0])
        refusals: list[Refused] = []
        inputs = adjustment.inputs
        spent, unreported = Cost(), False  # in case a step raises
        try:
            while True:  # until a model may be asked
                context = self._calls.context_of(candidate.model)
                ready = captured(fitted, kind, asking, candidate, adjustment, context)
                if type(ready) is Raised:
                    return self._without_prompt(kind, claim, ready.error)
                prompt, output_cap = ready
                asked = candidate.model.asked_by(kind.name)
                inputs = inputs or inputs_digest(claim.case, CachedQuestion.of(prompt, asked, output_cap))
                if claim.in_source is not None and claim.in_source.inputs == inputs:
                    return AttemptOutcome(claim.in_source, Cost(), failure=claim.in_source.failure)
                spent, unreported = asking.job.reserved, True  # a request may have been sent
                if adjustment.answer is None:
                    reply = self._calls.ask(asking, prompt, asked, output_cap, deadline)
                else:
                    reply = self._calls.read(asking, prompt, asked, output_cap, adjustment.answer)
                if isinstance(reply, ModelAnswer):
                    break
                spent, unreported = Cost(), False
                if reply.why == BATCHED:
                    return AttemptOutcome(None, Cost(), failure=BATCHED)
                self._capture.keep(claim, prompt, reply, reply.why)
                if reply.why == "stopping" and not claim.last:
                    return AttemptOutcome(None, Cost())
                if reply.why not in REFUSED_THERE:
                    return self._degrade(kind, claim, reply.why, reply.because, inputs=inputs)
                refusals.append(reply)
                other = following(candidates, candidate, reply.because, of_model=reply.of_model)
                if other is None:
                    return self._degrade(kind, claim, refusals[0].why, refusals[0].because)
                candidate = other

            spent, unreported = Cost() if reply.saved else reply.usage, reply.estimated
            judged = judge(kind, claim, prompt, reply, adjustment.repairs)
            if judged.refusal:
                self._log_refusal(kind, claim, judged.refusal)
            if judged.failure == UNUSABLE and judged.cut is None and not reply.saved:
                self._calls.count_unusable(candidate.model)
            self._capture.keep(claim, prompt, reply, judged.failure, judged.fault)

            result = replace(result_of(candidate.model, prompt, reply), inputs=inputs)
            if judged.effects is not None:
                return AttemptOutcome(replace(result, effects=judged.effects), spent)
            pause, change = adjusted(
                self._templates, claim, candidates, candidate, prompt, reply, judged, adjustment, deadline
            )
            named = named_failure(judged.failure, judged.check)
            if change is not None and not claim.last and time.monotonic() + pause < deadline:
                return AttemptOutcome(None, spent, pause, named, change._replace(inputs=inputs))
            if judged.cut is not None:
                return AttemptOutcome(replace(result, effects=judged.cut), spent)
            return self._degrade(kind, claim, named, judged.because, judged.refusal, replace(result, prompt=""))
        except Exception as error:
            return self.after_fault(claim, spent, error, unreported=unreported)

    def _without_prompt(self, kind: Kind, claim: Claim, error: BaseException) -> AttemptOutcome:
        """Return the heuristic's result if there is no prompt to send."""
        if type(error) is PromptDoesNotFit:
            log.error("job.prompt_too_long", job=claim.job.id, error=str(error))
            return self._degrade(kind, claim, "prompt_too_long")
        safe = type(error) in (WrongPrompt, TemplateError, MethodFault)  # others may quote memories
        why = str(error) if safe else fault_of_kind(kind.name, "prompt", error)
        log.error("job.prompt_failed", job=claim.job.id, kind=kind.name, error=type(error).__name__, why=why)
        return self._degrade(kind, claim, PROMPT_FAILED, refusal=why)

    def after_fault(self, claim: Claim, spent: Cost, error: Exception, *, unreported: bool = False) -> AttemptOutcome:
        """Return the heuristic's result after an unexpected exception, which every further claim would meet again.

        Args:
            spent: what the attempt cost, or the full reservation if that is unknown.
            unreported: whether the endpoint did not report `spent`.
        """
        log.error("job.asking_failed", job=claim.job.id, error=type(error).__name__, at=place_of(error))
        result = Result(effects=(), source="heuristic", usage=spent, model=claim.job.model, unreported=unreported)
        return self._degrade(kind_of(claim.job.key.kind), claim, ASKING_FAILED, result=result)

    def _degrade(
        self,
        kind: Kind,
        claim: Claim,
        failure: str,
        because: str = "",
        refusal: str = "",
        result: Result | None = None,
        inputs: str = "",
    ) -> AttemptOutcome:
        """Return the heuristic's result; `result` tells of the call that failed, None: no model was asked."""
        log.warning("job.degraded", job=claim.job.id, failure=failure)
        made = self._without_model(kind, claim, halved=split_failure(failure)[0] in HALVED)
        result = replace(
            result or Result(effects=(), source="heuristic", model=claim.job.model, inputs=inputs),
            effects=made.effects,
            source="heuristic",
            reason="failed",
            failure=failure,
            because=because,
            refusal=refusal or made.refusal,
        )
        return AttemptOutcome(result, Cost() if result.saved else result.usage, failure=failure)

    def _without_model(self, kind: Kind, claim: Claim, *, halved: bool = False) -> KindEffects:
        made = made_without_model(kind, claim.case, halved=halved)
        if made.refusal:
            self._log_refusal(kind, claim, made.refusal)
        return made

    def _log_refusal(self, kind: Kind, claim: Claim, why: str) -> None:
        """Log a kind's first refused effects; a kind that fails once fails often."""
        if kind.name not in self._refused:
            self._refused.add(kind.name)
            log.warning(f"job.{EFFECTS_REFUSED}", job=claim.job.id, kind=kind.name, why=why)
