"""One attempt at a job: it fits the prompt into its reservation, asks the model once, and turns the answer into
effects, another attempt or the kind's heuristic.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import structlog
from msgspec.structs import replace
from redis import Redis

from cogitate.memory.effects import Effect
from cogitate.memory.errors import text_of
from cogitate.memory.host_code import ENDS_PROCESS, Raised, captured
from cogitate.prompts.render import Rendered, TemplateError, Templates
from cogitate.scheduler.config.endpoints import Model, room_for_answer
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.intake.effects import check_effects
from cogitate.scheduler.intake.kind_effects import (
    EFFECTS_REFUSED,
    PROMPT_FAILED,
    KindEffects,
    fault_of_kind,
    is_of_host,
    made_without_model,
    place_in_kind,
    place_of,
)
from cogitate.scheduler.ledger.claims import (
    KIND_FAILED,
    UNUSABLE,
    Claim,
    PromptCount,
    Result,
    named_failure,
    split_failure,
)
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Kind, Prompt
from cogitate.tasks.own.method_faults import MethodFault
from cogitate.tasks.registry import UnknownKind, kind_of
from cogitate.tasks.shown import TooLong, effects_of
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call_layers import ASKING_FAILED, Calls
from cogitate.workers.jobs.capture import Capture
from cogitate.workers.jobs.failover import (
    REFUSED_THERE,
    Candidate,
    candidates_of,
    following,
    within_context,
)
from cogitate.workers.jobs.repair import (
    OF_ANSWERS,
    REFUSED_BY_KIND,
    TOO_LONG,
    describe_fault,
    for_weak_model,
    repairs_of,
    without_reasons,
    without_repair,
)
from cogitate.workers.llm.replies.failures import NOT_OF_PROMPTS, ModelAnswer
from cogitate.workers.llm.requests.prompt_check import WrongPrompt
from cogitate.workers.llm.requests.tokens import PromptDoesNotFit, corrected_tokens, fit, prompt_parts

log = structlog.get_logger()

OVERFLOW = "context_overflow"
HALVED = OF_ANSWERS | {OVERFLOW, "filtered", "too_large"}  # failures that a shorter prompt may avoid


class Adjustment(NamedTuple):
    """The changes that this worker makes to the next attempt."""

    halved: bool = False  # show half of the memories: the endpoint refused the prompt as too long
    longer: bool = False  # leave more room for the answer: the last one reached its cap
    corrected: bool = False  # one answer was unusable; the next one is the last
    repairs: tuple[Rendered, ...] = ()  # show the model that answer and its faults; the first that fits is used
    model: str = ""  # ask this model of the run's ladder; "": the job's own


NO_ADJUSTMENT = Adjustment()


class AttemptOutcome(NamedTuple):
    """The outcome of one attempt."""

    result: Result | None  # None: another attempt may succeed
    used: Cost
    pause: float = 0.0  # seconds to wait before it
    failure: str = ""
    adjustment: Adjustment = NO_ADJUSTMENT  # for the next attempt


class _Judged(NamedTuple):
    """The verdict on an answer."""

    effects: tuple[Effect, ...] | None  # None: the answer is unusable
    failure: str = ""  # the class of the failure
    fault: str = ""  # an explanation for the model; "" to derive it from the answer's text
    cut: tuple[Effect, ...] | None = None  # if the answer is only too long: its effects without its oldest part
    junk: bool = False  # the answer is useless, and is not shown to the model again
    because: str = ""  # the check in a host's own kind that refused it
    check: str = ""  # the name of the check that found it unusable
    refusal: str = ""  # a fault in the kind's code that another answer cannot fix


class Attempts:
    """Makes attempts for one worker process, from any number of threads."""

    def __init__(self, client: Redis, settings: Settings, calls: Calls) -> None:
        self._endpoints = settings.endpoint_table()
        self._templates = Templates(settings.prompts)
        self._calls = calls
        self._capture = Capture(client, settings)
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
        candidates = candidates_of(kind, claim, self._endpoints)
        if not candidates:
            endpoint = claim.model.endpoint if claim.model is not None else ""
            log.error("job.unknown_endpoint", job=job.id, model=job.model, endpoint=endpoint, known=[*self._endpoints])
            return self._degrade(kind, claim, "unknown_endpoint")
        return self._ask(kind, claim, candidates, deadline, adjustment)

    def _ask(
        self, kind: Kind, claim: Claim, candidates: Sequence[Candidate], deadline: float, adjustment: Adjustment
    ) -> AttemptOutcome:
        """Fit the prompt, ask, judge the answer, and return what to settle."""
        candidate = next((one for one in candidates if one.model.name == adjustment.model), candidates[0])
        refusals: list[Refused] = []
        spent, unreported = Cost(), False  # in case a step raises
        try:
            while True:  # until a model may be asked
                fitted = captured(self._fit, kind, claim, candidate, adjustment)
                if type(fitted) is Raised:
                    return self._without_prompt(kind, claim, fitted.error)
                prompt, output_cap = fitted
                spent, unreported = claim.job.reserved, True  # a request may have been sent
                reply = self._calls.ask(claim, prompt, candidate.model.asked_by(kind.name), output_cap, deadline)
                if isinstance(reply, ModelAnswer):
                    break
                spent, unreported = Cost(), False
                self._capture.keep(claim, prompt, reply, reply.why)
                if reply.why == "stopping" and not claim.last:
                    return AttemptOutcome(None, Cost())
                if reply.why not in REFUSED_THERE:
                    return self._degrade(kind, claim, reply.why, reply.because)
                refusals.append(reply)
                other = following(candidates, candidate, reply.because, of_model=reply.of_model)
                if other is None:
                    return self._degrade(kind, claim, refusals[0].why, refusals[0].because)
                candidate = other

            spent, unreported = Cost() if reply.saved else reply.usage, reply.estimated
            judged = self._judge(kind, claim, prompt, reply, adjustment.repairs)
            if judged.failure == UNUSABLE and judged.cut is None and not reply.saved:
                self._calls.count_unusable(candidate.model)
            self._capture.keep(claim, prompt, reply, judged.failure, judged.fault)

            result = _result_of(candidate.model, prompt, reply)
            if judged.effects is not None:
                return AttemptOutcome(replace(result, effects=judged.effects), spent)
            pause, adjusted = self._adjusted(claim, candidates, candidate, prompt, reply, judged, adjustment, deadline)
            named = named_failure(judged.failure, judged.check)
            if adjusted is not None and not claim.last and time.monotonic() + pause < deadline:
                return AttemptOutcome(None, spent, pause, named, adjusted)
            if judged.cut is not None:
                return AttemptOutcome(replace(result, effects=judged.cut), spent)
            return self._degrade(kind, claim, named, judged.because, judged.refusal, replace(result, prompt=""))
        except Exception as error:
            return self.after_fault(claim, spent, error, unreported=unreported)

    def _fit(self, kind: Kind, claim: Claim, candidate: Candidate, adjustment: Adjustment) -> tuple[Prompt, int]:
        """Return the prompt and the cap of its answer within their reservation.

        If a repair does not fit, the prompt drops the failed answer first, then its faults. After an unfinished answer,
        the prompt shrinks to half of its cap if it can, and the answer may use the rest of the reservation.

        Raises:
            PromptDoesNotFit: if the prompt is too long even without memories.
            BaseException: whatever a host's own kind raises.
        """
        candidate = within_context(candidate, self._calls.context_of(candidate.model))
        halved, output_cap = adjustment.halved, candidate.output_cap
        caps = (candidate.prompt_cap // 2, candidate.prompt_cap) if adjustment.longer else (candidate.prompt_cap,)
        tries = [(cap, repair) for cap in caps for repair in (*adjustment.repairs, None)]
        for cap, repair in tries:
            try:
                prompt = fit(
                    kind,
                    claim.case,
                    cap,
                    correction=candidate.correction,
                    halved=halved,
                    addition=repair,
                    adapt=None if candidate.model.reasons else for_weak_model,
                )
                break
            except PromptDoesNotFit:
                if (cap, repair) == tries[-1]:
                    raise
        if adjustment.longer:
            size = corrected_tokens(prompt, candidate.correction.raised)
            output_cap = max(output_cap, room_for_answer(candidate.model, claim.job.reserved, size))
        return prompt, output_cap

    def _without_prompt(self, kind: Kind, claim: Claim, error: BaseException) -> AttemptOutcome:
        """Return the heuristic's result if there is no prompt to send."""
        if type(error) is PromptDoesNotFit:
            log.error("job.prompt_too_long", job=claim.job.id, error=str(error))
            return self._degrade(kind, claim, "prompt_too_long")
        safe = type(error) in (WrongPrompt, TemplateError, MethodFault)  # others may quote memories
        why = str(error) if safe else fault_of_kind(kind.name, "prompt", error)
        log.error("job.prompt_failed", job=claim.job.id, kind=kind.name, error=type(error).__name__, why=why)
        return self._degrade(kind, claim, PROMPT_FAILED, refusal=why)

    def _judge(
        self, kind: Kind, claim: Claim, prompt: Prompt, answer: ModelAnswer, repairs: Sequence[Rendered]
    ) -> _Judged:
        """Return the effects of an answer, or why it is unusable."""
        if answer.value is None:
            return _Judged(None, answer.failure.kind if answer.failure is not None else "empty")
        value, original = answer.value, without_repair(prompt, repairs)
        try:
            if (fault := fault_of(value, original)) is not None:
                plain = without_reasons(value)
                if plain is None or fault_of(plain, original) is not None:
                    log.info("job.answer_unusable", job=claim.job.id, check=fault.check)
                    return _Judged(None, UNUSABLE, str(fault), junk=True, check=fault.check)
                log.info("job.reasons_left_out", job=claim.job.id)
                value = plain
            return _Judged(check_effects(effects_of(kind, claim.case, value, prompt)))
        except ENDS_PROCESS:
            raise
        except MethodFault as error:
            self._log_refusal(kind, claim, str(error))
            return _Judged(None, EFFECTS_REFUSED, refusal=str(error))
        except TooLong as error:
            log.info("job.answer_unusable", job=claim.job.id, check=TOO_LONG, error=type(error).__name__)
            cut = captured(lambda: check_effects(effects_of(kind, claim.case, value, prompt, cut=True)))
            return _Judged(None, UNUSABLE, text_of(error), None if type(cut) is Raised else cut, check=TOO_LONG)
        except BaseException as error:  # a host's own kind may raise anything; what was spent must be settled
            refused = isinstance(error, ValueError)
            check = REFUSED_BY_KIND if refused else KIND_FAILED
            log.info("job.answer_unusable", job=claim.job.id, check=check, error=type(error).__name__)
            fault_text = text_of(error) if refused else "it cannot be used"
            at = place_in_kind(kind, "effects", error)
            if refused:
                return _Judged(None, UNUSABLE, fault_text, check=check, because=at if is_of_host(kind) else "")
            self._log_refusal(kind, claim, at)
            return _Judged(None, UNUSABLE, fault_text, check=check, refusal=at)

    def _adjusted(
        self,
        claim: Claim,
        candidates: Sequence[Candidate],
        asked: Candidate,
        prompt: Prompt,
        answer: ModelAnswer,
        judged: _Judged,
        adjustment: Adjustment,
        deadline: float,
    ) -> tuple[float, Adjustment | None]:
        """Return the seconds before another attempt and what it changes; None if it would not help."""
        failure = judged.failure
        if answer.packed and not answer.text and failure not in NOT_OF_PROMPTS:  # asked alone, it may have an answer
            return 0.0, adjustment
        if failure == OVERFLOW:  # routing design, "Emergency Truncation": once, without the oldest half
            if adjustment.halved:
                return 0.0, None
            log.warning("prompt.halved", job=claim.job.id)
            return 0.0, adjustment._replace(halved=True)
        if failure in OF_ANSWERS:
            if adjustment.corrected:
                return 0.0, None
            fault = judged.fault or describe_fault(failure, answer.text, prompt.answer, claim.job.output_cap)
            repairs = repairs_of(self._templates, answer.text, fault, junk=judged.junk)
            return 0.0, adjustment._replace(corrected=True, longer=failure == "truncated", repairs=repairs)
        pause = _pause(answer, claim.number)
        limited = failure == "rate_limited" and time.monotonic() + pause >= deadline
        if failure in NOT_OF_PROMPTS and (other := following(candidates, asked, failure, of_model=limited)) is not None:
            return 0.0, adjustment._replace(model=other.model.name)
        if not answer.retryable:
            return 0.0, None
        return pause, adjustment._replace(model="" if failure in NOT_OF_PROMPTS else asked.model.name)

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
    ) -> AttemptOutcome:
        """Return the heuristic's result; `result` tells of the call that failed, None: no model was asked."""
        log.warning("job.degraded", job=claim.job.id, failure=failure)
        made = self._without_model(kind, claim, halved=split_failure(failure)[0] in HALVED)
        result = replace(
            result or Result(effects=(), source="heuristic", model=claim.job.model),
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


def _result_of(model: Model, prompt: Prompt, answer: ModelAnswer) -> Result:
    """Return what a result says about its answer, without effects."""
    count = None
    if answer.prompt_tokens:
        estimated = prompt_parts(prompt)
        count = PromptCount(estimated.all, answer.prompt_tokens, estimated.others)
    return Result(
        effects=(),
        source="cached" if answer.saved else "llm",
        usage=answer.usage,
        saved=answer.saved,
        model=model.name,
        prompt=prompt.version,
        count=count,
        unreported=answer.estimated,
        reasoning=answer.reasoning,
        packed=answer.packed,
    )


def _pause(answer: ModelAnswer, attempt: int) -> float:
    """Return the seconds before the next attempt: as the provider requests, else growing with each attempt."""
    if answer.failure is not None and answer.failure.kind == "unsupported":
        return 0.0  # the next attempt uses another dialect
    requested = answer.failure.retry_after if answer.failure is not None else None
    return requested if requested is not None else 0.2 * 2.0 ** (attempt - 1)
