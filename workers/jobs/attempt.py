"""One attempt at a job: choose a model, fit the prompt, ask, judge the answer.

`Attempts` chooses a model and fits the prompt (`candidates`), asks through the layers that `call_layers` lists, and has
the answer judged (`judging`). Every fault ends in the kind's heuristic.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import NamedTuple

import structlog
from msgspec.structs import replace
from redis import Redis

from cogitate.memory.host_code import Raised, captured
from cogitate.prompts.render import TemplateError, Templates, replaced
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.intake.kind_effects import (
    EFFECTS_REFUSED,
    PROMPT_FAILED,
    KindEffects,
    fault_of_kind,
    made_without_model,
    place_of,
)
from cogitate.scheduler.ledger.claims import UNUSABLE, Claim, Result, named_failure, split_failure
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Kind
from cogitate.tasks.own.method_faults import MethodFault
from cogitate.tasks.registry import UnknownKind, kind_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import BATCHED, Call, inputs_digest
from cogitate.workers.jobs.call_layers import ASKING_FAILED, Calls
from cogitate.workers.jobs.candidates import (
    NO_ADJUSTMENT,
    REFUSED_THERE,
    Adjustment,
    Attempt,
    Candidate,
    candidates_of,
    following,
)
from cogitate.workers.jobs.fitting import PromptDoesNotFit, WrongPrompt, fitted
from cogitate.workers.jobs.judging import HALVED, adjusted, judge, result_of
from cogitate.workers.jobs.stored_texts import AnswerRecord
from cogitate.workers.jobs.vectors import Vectors
from cogitate.workers.llm.replies.failures import ModelAnswer

log = structlog.get_logger()


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
        vectors: the vectors by which jobs choose memories; None: they choose by words.
    """

    def __init__(self, client: Redis, settings: Settings, calls: Calls, vectors: Vectors | None = None) -> None:
        self._endpoints = settings.endpoint_table()
        self._templates = Templates(settings.prompts)
        self._calls = calls
        self._record = AnswerRecord(client, settings) if settings.record else None
        self._vectors = vectors
        self._refused: set[str] = set()  # kinds whose refused effects are logged already

    def make(self, claim: Claim, deadline: float, adjustment: Adjustment) -> AttemptOutcome:
        """Make one attempt, by a model or by the heuristic, and return the outcome to settle.

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
        vectors = None
        if self._vectors is not None and claim.embeddings is not None:
            vectors = self._vectors.of(kind, claim, claim.embeddings, deadline)
        asking = claim if vectors is None else vectors.claim
        candidates = candidates_of(kind, asking, self._endpoints)
        if not candidates:
            endpoint = claim.model.endpoint if claim.model is not None else ""
            log.error("job.unknown_endpoint", job=job.id, model=job.model, endpoint=endpoint, known=[*self._endpoints])
            return self._degrade(kind, claim, "unknown_endpoint")
        with replaced(claim.templates) if claim.templates else nullcontext():
            outcome = self._ask(Attempt(kind, claim, asking, candidates, deadline, adjustment))
        if vectors is None:
            return outcome
        used, charged = vectors.charge(outcome.used, outcome.result)
        return outcome._replace(used=used, result=charged)

    def _ask(self, attempt: Attempt) -> AttemptOutcome:
        """Fit the prompt and ask, until a model answers; have the answer judged, and return what to settle."""
        kind, claim, asking, candidates, deadline, adjustment = attempt
        candidate = next((one for one in candidates if one.model.name == adjustment.model), candidates[0])
        refused: Refused | None = None  # the first one
        inputs = adjustment.inputs
        spent, unreported = Cost(), False  # in case a step raises
        try:
            while True:  # until a model may be asked
                context = self._calls.context_of(candidate.model)
                ready = captured(fitted, attempt, candidate, context)
                if type(ready) is Raised:
                    return self._without_prompt(kind, claim, ready.error)
                prompt, output_cap = ready
                call = Call(asking, prompt, candidate.model, output_cap, deadline)
                inputs = inputs or inputs_digest(claim.case, call.question)
                if claim.in_source is not None and claim.in_source.inputs == inputs:
                    return AttemptOutcome(claim.in_source, Cost(), failure=claim.in_source.failure)
                spent, unreported = asking.job.reserved, True  # a request may have been sent
                if adjustment.answer is None:
                    reply = self._calls.ask(call)
                else:
                    reply = self._calls.read(call, adjustment.answer)
                if isinstance(reply, ModelAnswer):
                    break
                spent, unreported = Cost(), False
                if (outcome := self._refused_everywhere(attempt, call, reply, inputs)) is not None:
                    return outcome
                refused = refused or reply
                other = following(candidates, candidate, reply.because, of_model=reply.of_model)
                if other is None:
                    return self._degrade(kind, claim, refused.why, refused.because)
                candidate = other
            spent, unreported = Cost() if reply.saved else reply.usage, reply.estimated
            return self._judge(attempt, candidate, call, reply, inputs)
        except Exception as error:
            return self.after_fault(claim, spent, error, unreported=unreported)

    def _refused_everywhere(self, attempt: Attempt, call: Call, refused: Refused, inputs: str) -> AttemptOutcome | None:
        """Return what to settle after a refusal that no other model would avoid; None if another one may be asked."""
        kind, claim, why = attempt.kind, attempt.claim, refused.why
        if why == BATCHED:
            return AttemptOutcome(None, Cost(), failure=BATCHED)
        if self._record is not None:
            self._record.keep(claim, call.question, refused, why)
        if why == "stopping" and not claim.last:
            return AttemptOutcome(None, Cost())
        return None if why in REFUSED_THERE else self._degrade(kind, claim, why, refused.because, inputs=inputs)

    def _judge(
        self, attempt: Attempt, candidate: Candidate, call: Call, reply: ModelAnswer, inputs: str
    ) -> AttemptOutcome:
        """Judge an answer and return what to settle: its effects, nothing yet, or the heuristic's result."""
        kind, claim, spent = attempt.kind, attempt.claim, Cost() if reply.saved else reply.usage
        if spent.tokens > call.claim.job.reserved.tokens:
            model, reserved = call.model.name, call.claim.job.reserved.tokens
            log.warning("job.overran", job=claim.job.id, model=model, tokens=spent.tokens, reserved=reserved)
        judged = judge(kind, claim, call.prompt, reply, attempt.adjustment.repairs)
        if judged.refusal:
            self._log_refusal(kind, claim, judged.refusal)
        if judged.failure == UNUSABLE and judged.cut is None and not reply.saved:
            self._calls.count_unusable(call.model)
        if self._record is not None:
            self._record.keep(claim, call.question, reply, judged.failure, judged.fault)

        result = replace(result_of(call.model, call.prompt, reply), inputs=inputs)
        if judged.effects is not None:
            return AttemptOutcome(replace(result, effects=judged.effects), spent)
        pause, change = adjusted(self._templates, attempt, candidate, call.prompt, reply, judged)
        named = named_failure(judged.failure, judged.check)
        if change is not None and not claim.last and time.monotonic() + pause < attempt.deadline:
            return AttemptOutcome(None, spent, pause, named, change._replace(inputs=inputs))
        if judged.cut is not None:
            return AttemptOutcome(replace(result, effects=judged.cut), spent)
        return self._degrade(kind, claim, named, judged.because, judged.refusal, replace(result, prompt=""))

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
        """Return the heuristic's result after an unexpected exception, which another attempt would raise again.

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
        """Return the heuristic's result; `result` is that of the failed call, None if no model was asked."""
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
