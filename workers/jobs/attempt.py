"""One attempt at a job: it fits the prompt into its reservation, asks the model once, and turns the answer into
effects, another attempt or the kind's heuristic.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import structlog
from pydantic import BaseModel
from redis import Redis

from cogitate.memory.effects import Effect
from cogitate.memory.errors import text_of
from cogitate.memory.host_code import ENDS_PROCESS
from cogitate.prompts.render import Rendered, TemplateError, Templates
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.prices import room_for_answer
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
from cogitate.workers.jobs.call_layers import ASKING_FAILED, CallRefused, CallResult, Calls
from cogitate.workers.jobs.capture import Capture
from cogitate.workers.jobs.failover import (
    REFUSED_THERE,
    Candidate,
    candidates_of,
    following,
    within_context,
)
from cogitate.workers.jobs.reasons import ask_no_reasons, without_reasons
from cogitate.workers.jobs.repair import (
    OF_ANSWERS,
    REFUSED_BY_KIND,
    TOO_LONG,
    describe_fault,
    repairs_of,
    without_repair,
)
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.replies.failures import NOT_OF_PROMPTS
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


class _Question(NamedTuple):
    """What an attempt asks, and its limits."""

    kind: Kind
    claim: Claim
    candidates: Sequence[Candidate]  # the models that may be asked
    deadline: float
    adjustment: Adjustment


class Attempts:
    """Makes attempts for one worker process, from any number of threads.

    Args:
        models: the clients of the endpoints; the caller closes them.
        stopping: is set when the process is about to end.
    """

    def __init__(self, client: Redis, settings: Settings, models: ModelClients, stopping: threading.Event) -> None:
        self._endpoints = settings.endpoint_table()
        self._templates = Templates(settings.prompts)
        self._calls = Calls(client, settings, models, stopping)
        self._capture = Capture(client, settings)
        self._refused: set[str] = set()  # kinds whose refused effects are logged already

    def make(self, claim: Claim, deadline: float, adjustment: Adjustment) -> AttemptOutcome:
        """Make one attempt: choose a model, fit the prompt, ask, judge the answer, and return what to settle.

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
            return self._heuristic_result(kind, claim)
        candidates = candidates_of(kind, claim, self._endpoints)
        if not candidates:
            endpoint = claim.model.endpoint if claim.model is not None else ""
            log.error("job.unknown_endpoint", job=job.id, model=job.model, endpoint=endpoint, known=[*self._endpoints])
            return self._skip_call(kind, claim, "unknown_endpoint")
        question = _Question(kind, claim, candidates, deadline, adjustment)
        named = (one for one in candidates if one.model.name == adjustment.model)
        candidate: Candidate | None = next(named, candidates[0])
        refusals: list[CallRefused] = []
        while candidate is not None:
            made = self._try(question, candidate)
            if isinstance(made, AttemptOutcome):
                return made
            refusals.append(made)
            candidate = following(candidates, candidate, made.because)
        return self._skip_call(kind, claim, refusals[0].why, refusals[0].because)

    def probe(self, endpoint: str) -> None:
        """Find out whether an endpoint whose breaker is open is back; nothing is spent."""
        self._calls.probe(endpoint)

    def close(self) -> None:
        """Flush and close the reports to the gate."""
        self._calls.close()

    def _try(self, question: _Question, candidate: Candidate) -> AttemptOutcome | CallRefused:
        """Ask one model; return a refusal if another one may be asked instead."""
        fitted = self._fit(question, candidate)
        if isinstance(fitted, AttemptOutcome):
            return fitted
        prompt, output_cap = fitted
        claim, model = question.claim, candidate.model
        try:
            reply = self._calls.ask(claim, prompt, model.asked_by(question.kind.name), output_cap, question.deadline)
        except Exception as error:  # a request may have been sent
            return self.after_fault(claim, claim.job.reserved, error, unreported=True)
        try:
            if isinstance(reply, CallRefused):
                return self._not_called(question, prompt, reply)
            judged = self._judge(question, prompt, reply.answer)
            if judged.failure == UNUSABLE and judged.cut is None and not reply.saved:
                self._calls.count_unusable(model)
            self._capture.keep(claim, prompt, reply, judged.failure, judged.fault)
            if judged.effects is not None:
                return AttemptOutcome(_result_of(model, prompt, reply, judged.effects), reply.spent)
            return self._failed(question, candidate, prompt, reply, judged)
        except Exception as error:
            if isinstance(reply, CallRefused):
                return self.after_fault(claim, Cost(), error)
            return self.after_fault(claim, reply.spent, error, unreported=reply.answer.estimated)

    def _fit(self, question: _Question, candidate: Candidate) -> tuple[Prompt, int] | AttemptOutcome:
        """Return the prompt and the cap of its answer, or the heuristic's result if there is no prompt to send."""
        kind, claim, model = question.kind, question.claim, candidate.model
        try:
            learned = self._calls.context_of(model)
            prompt, output_cap = _fit_prompt(kind, claim, within_context(candidate, learned), question.adjustment)
            return prompt if model.reasons else ask_no_reasons(prompt), output_cap
        except PromptDoesNotFit as error:
            log.error("job.prompt_too_long", job=claim.job.id, error=str(error))
            return self._skip_call(kind, claim, "prompt_too_long")
        except ENDS_PROCESS:
            raise
        except BaseException as error:  # a host's own kind may raise anything; nothing is spent yet
            safe = type(error) in (WrongPrompt, TemplateError, MethodFault)  # others may quote memories
            why = str(error) if safe else fault_of_kind(kind.name, "prompt", error)
            log.error("job.prompt_failed", job=claim.job.id, kind=kind.name, error=type(error).__name__, why=why)
            return self._skip_call(kind, claim, PROMPT_FAILED, refusal=why)

    def _not_called(self, question: _Question, prompt: Prompt, refused: CallRefused) -> AttemptOutcome | CallRefused:
        """Return the outcome of a call that must not be made now, or the refusal if another endpoint may be asked."""
        claim = question.claim
        self._capture.keep(claim, prompt, refused, refused.why)
        if refused.why in REFUSED_THERE:
            return refused
        if refused.why == "stopping" and not claim.last:
            return AttemptOutcome(None, Cost())
        return self._skip_call(question.kind, claim, refused.why, refused.because)

    def _judge(self, question: _Question, prompt: Prompt, answer: ModelAnswer) -> _Judged:
        """Return the effects of an answer, or why it is unusable."""
        kind, claim = question.kind, question.claim
        if answer.value is None:
            return _Judged(None, answer.failure.kind if answer.failure is not None else "empty")
        value, original = answer.value, without_repair(prompt, question.adjustment.repairs)
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
        except BaseException as error:  # a host's own kind may raise anything; what was spent must be settled
            check = _check_of(error)
            log.info("job.answer_unusable", job=claim.job.id, check=check, error=type(error).__name__)
            cut = _effects_when_cut(kind, claim, prompt, value) if isinstance(error, TooLong) else None
            fault_text = text_of(error) if isinstance(error, ValueError) else "it cannot be used"
            at = place_in_kind(kind, "effects", error) if check != TOO_LONG else ""
            if check == KIND_FAILED:
                self._log_refusal(kind, claim, at)
                return _Judged(None, UNUSABLE, fault_text, cut, check=check, refusal=at)
            return _Judged(None, UNUSABLE, fault_text, cut, check=check, because=at if is_of_host(kind) else "")

    def _failed(
        self, question: _Question, candidate: Candidate, prompt: Prompt, reply: CallResult, judged: _Judged
    ) -> AttemptOutcome:
        """Return another attempt if it may help and the deadline and claims allow it, else the heuristic's result."""
        claim, model, adjustment = question.claim, candidate.model, question.adjustment
        on_endpoint = judged.failure in NOT_OF_PROMPTS
        elsewhere = following(question.candidates, candidate, judged.failure) if on_endpoint else None
        answer, failure, pause = reply.answer, judged.failure, 0.0
        if failure == OVERFLOW:  # routing design, "Emergency Truncation": once, without the oldest half
            again, adjustment = not adjustment.halved, adjustment._replace(halved=True)
            if again:
                log.warning("prompt.halved", job=claim.job.id)
        elif failure in OF_ANSWERS:
            again = not adjustment.corrected
            fault = judged.fault or describe_fault(failure, answer.text, prompt.answer, claim.job.output_cap)
            repairs = repairs_of(self._templates, answer.text, fault, junk=judged.junk)
            adjustment = adjustment._replace(corrected=True, longer=failure == "truncated", repairs=repairs)
        elif elsewhere is not None:
            again, adjustment = True, adjustment._replace(model=elsewhere.model.name)
        else:
            again, pause = answer.retryable, _pause(answer, claim.number)
            adjustment = adjustment._replace(model="" if failure in NOT_OF_PROMPTS else model.name)
        named = named_failure(failure, judged.check)
        if again and not claim.last and time.monotonic() + pause < question.deadline:
            return AttemptOutcome(None, reply.spent, pause, named, adjustment)
        if judged.cut is not None:
            return AttemptOutcome(_result_of(model, prompt, reply, judged.cut), reply.spent)
        made = self._without_model(question.kind, claim, named)
        result = Result(
            effects=made.effects,
            source="heuristic",
            reason="failed",
            usage=answer.usage,
            saved=reply.saved,
            model=model.name,
            failure=named,
            because=judged.because,
            refusal=judged.refusal or made.refusal,
            count=_count(answer, prompt),
            unreported=answer.estimated,
            reasoning=answer.reasoning,
        )
        return AttemptOutcome(result, reply.spent, failure=named)

    def _skip_call(self, kind: Kind, claim: Claim, why: str, because: str = "", refusal: str = "") -> AttemptOutcome:
        """Return the heuristic's result right away: nothing was spent, and another attempt would not help."""
        made = self._without_model(kind, claim, why)
        result = Result(
            effects=made.effects,
            source="heuristic",
            reason="failed",
            model=claim.job.model,
            failure=why,
            because=because,
            refusal=refusal or made.refusal,
        )
        return AttemptOutcome(result, Cost(), failure=why)

    def after_fault(self, claim: Claim, spent: Cost, error: Exception, *, unreported: bool = False) -> AttemptOutcome:
        """Return the heuristic's result after an unexpected exception, which every further claim would meet again.

        Args:
            spent: what the attempt cost, or the full reservation if that is unknown.
            unreported: whether the endpoint did not report `spent`.
        """
        log.error("job.asking_failed", job=claim.job.id, error=type(error).__name__, at=place_of(error))
        made = self._without_model(kind_of(claim.job.key.kind), claim, ASKING_FAILED)
        result = Result(
            effects=made.effects,
            source="heuristic",
            reason="failed",
            usage=spent,
            model=claim.job.model,
            failure=ASKING_FAILED,
            refusal=made.refusal,
            unreported=unreported,
        )
        return AttemptOutcome(result, spent, failure=ASKING_FAILED)

    def _heuristic_result(self, kind: Kind, claim: Claim) -> AttemptOutcome:
        """Return the result of a job that requests the heuristic."""
        made = made_without_model(kind, claim.case)
        if made.refusal:
            self._log_refusal(kind, claim, made.refusal)
            result = Result(
                effects=(), source="heuristic", reason="failed", failure=EFFECTS_REFUSED, refusal=made.refusal
            )
            return AttemptOutcome(result, Cost(), failure=EFFECTS_REFUSED)
        return AttemptOutcome(Result(effects=made.effects, source="heuristic"), Cost())

    def _without_model(self, kind: Kind, claim: Claim, failure: str) -> KindEffects:
        log.warning("job.degraded", job=claim.job.id, failure=failure)
        made = made_without_model(kind, claim.case, halved=split_failure(failure)[0] in HALVED)
        if made.refusal:
            self._log_refusal(kind, claim, made.refusal)
        return made

    def _log_refusal(self, kind: Kind, claim: Claim, why: str) -> None:
        """Log a kind's first refused effects; a kind that fails once fails often."""
        if kind.name not in self._refused:
            self._refused.add(kind.name)
            log.warning(f"job.{EFFECTS_REFUSED}", job=claim.job.id, kind=kind.name, why=why)


def _fit_prompt(kind: Kind, claim: Claim, candidate: Candidate, adjustment: Adjustment) -> tuple[Prompt, int]:
    """Return the prompt and the cap of its answer within their reservation.

    If a repair does not fit, the prompt drops the failed answer first, then its faults. After an unfinished answer, the
    prompt shrinks to half of its cap if it can, and the answer may use the rest of the reservation.

    Raises:
        PromptDoesNotFit: if the prompt is too long even without memories.
    """

    def fitted(cap: int) -> Prompt:
        fit_into = partial(fit, kind, claim.case, cap, correction=candidate.correction, halved=adjustment.halved)
        for repair in adjustment.repairs:
            with contextlib.suppress(PromptDoesNotFit):
                return fit_into(addition=repair)
        return fit_into()

    if not adjustment.longer:
        return fitted(candidate.prompt_cap), candidate.output_cap
    try:
        prompt = fitted(candidate.prompt_cap // 2)
    except PromptDoesNotFit:
        prompt = fitted(candidate.prompt_cap)
    size = corrected_tokens(prompt, candidate.correction.raised)
    return prompt, max(candidate.output_cap, room_for_answer(candidate.model, claim.job.reserved, size))


def _check_of(error: BaseException) -> str:
    """Return the name of the check in a kind that refused an answer."""
    if isinstance(error, TooLong):
        return TOO_LONG
    return REFUSED_BY_KIND if isinstance(error, ValueError) else KIND_FAILED


def _effects_when_cut(kind: Kind, claim: Claim, prompt: Prompt, answer: BaseModel) -> tuple[Effect, ...] | None:
    """Return the effects of an overlong answer without its oldest part; None if it is still unusable."""
    try:
        return check_effects(effects_of(kind, claim.case, answer, prompt, cut=True))
    except ENDS_PROCESS:
        raise
    except BaseException:  # as in `_judge`
        return None


def _result_of(model: Model, prompt: Prompt, reply: CallResult, effects: tuple[Effect, ...]) -> Result:
    """Return the result for a usable answer."""
    return Result(
        effects=effects,
        source="cached" if reply.saved else "llm",
        usage=reply.answer.usage,
        saved=reply.saved,
        model=model.name,
        prompt=prompt.version,
        count=_count(reply.answer, prompt),
        unreported=reply.answer.estimated,
        reasoning=reply.answer.reasoning,
    )


def _count(answer: ModelAnswer, prompt: Prompt) -> PromptCount | None:
    """Return the estimated and the reported tokens of a prompt, from which estimates are corrected."""
    if not answer.prompt_tokens:
        return None
    estimated = prompt_parts(prompt)
    return PromptCount(estimated.all, answer.prompt_tokens, estimated.others)


def _pause(answer: ModelAnswer, attempt: int) -> float:
    """Return the seconds before the next attempt: as the provider requests, else growing with each attempt."""
    if answer.failure is not None and answer.failure.kind == "unsupported":
        return 0.0  # the next attempt uses another dialect
    requested = answer.failure.retry_after if answer.failure is not None else None
    return requested if requested is not None else 0.2 * 2.0 ** (attempt - 1)
