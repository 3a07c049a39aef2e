"""Judging an answer: its effects, or why it is useless, and the attempt that may repair it.

Reasons may be junk when the rest of the answer is not. An action is useful without its reason; a change of a
relationship is not, so the judge drops it as a whole.

Otherwise a second attempt shows the model its own answer and its faults, once per job and worker.
The attempt has its own reservation from the retry pool, and its prompt has the same cap. The answer is treated as data:
cut, put on one line and fenced, like memories. Junk is not shown again, since models repeat what they read.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import structlog
from pydantic import BaseModel, ValidationError

from cogitate.memory.effects import Effect
from cogitate.memory.errors import text_of
from cogitate.memory.host_code import ENDS_PROCESS, Raised, captured
from cogitate.prompts.answers import ActionAnswer, ReflectionAnswer
from cogitate.prompts.render import Rendered, Templates
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.intake.effects import check_effects
from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, is_of_host, place_in_kind
from cogitate.scheduler.ledger.claims import KIND_FAILED, UNUSABLE, Claim, PromptCount, Result
from cogitate.tasks.kind import Kind, Prompt
from cogitate.tasks.own.method_faults import MethodFault
from cogitate.tasks.shown import TooLong, effects_of
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.jobs.candidates import Adjustment, Attempt, Candidate, following
from cogitate.workers.jobs.fitting import end_of
from cogitate.workers.llm.replies.failures import CLASSES, NOT_OF_PROMPTS, ModelAnswer
from cogitate.workers.llm.replies.reading import answer_in
from cogitate.workers.llm.requests.tokens import prompt_parts

log = structlog.get_logger()

REFUSED_BY_KIND = "kind"  # the kind cannot turn the answer into effects
TOO_LONG = "too_long"

#: Failures of the answer, not of the call. After the first, the model gets one more attempt; after the second, none.
OF_ANSWERS = frozenset({"refused", "truncated", "empty", "not_json", "wrong_schema", UNUSABLE})

MOST_ANSWER = 1_200  # characters of the answer that are shown
MOST_FAULT = 400  # characters of its fault
_PLACES = 5  # wrong values that a fault names

OVERFLOW = "context_overflow"
HALVED = OF_ANSWERS | {OVERFLOW, "filtered", "too_large"}  # failures that a shorter prompt may avoid


class Judged(NamedTuple):
    """The verdict on an answer."""

    effects: tuple[Effect, ...] | None  # None: the answer is unusable
    failure: str = ""  # the class of the failure
    fault: str = ""  # an explanation for the model; "" to derive it from the answer's text
    cut: tuple[Effect, ...] | None = None  # if the answer is only too long: its effects without its oldest part
    junk: bool = False  # the answer is useless, and is not shown to the model again
    because: str = ""  # the check in a host's own kind that refused it
    check: str = ""  # the name of the check that found it unusable
    refusal: str = ""  # a fault in the kind's code that another answer cannot fix


def judge(kind: Kind, claim: Claim, prompt: Prompt, answer: ModelAnswer, repairs: Sequence[Rendered]) -> Judged:
    """Return the effects of an answer, or why it is unusable."""
    if answer.value is None:
        return Judged(None, answer.failure.kind if answer.failure is not None else "empty")
    value, original = answer.value, without_repair(prompt, repairs) if repairs else prompt
    try:
        if (fault := fault_of(value, original)) is not None:
            plain = without_reasons(value)
            if plain is None or fault_of(plain, original) is not None:
                log.info("job.answer_unusable", job=claim.job.id, check=fault.check)
                return Judged(None, UNUSABLE, str(fault), junk=True, check=fault.check)
            log.info("job.reasons_left_out", job=claim.job.id)
            value = plain
        return Judged(check_effects(effects_of(kind, claim.case, value, prompt)))
    except ENDS_PROCESS:
        raise
    except MethodFault as error:
        return Judged(None, EFFECTS_REFUSED, refusal=str(error))
    except TooLong as error:
        log.info("job.answer_unusable", job=claim.job.id, check=TOO_LONG, error=type(error).__name__)
        cut = captured(lambda: check_effects(effects_of(kind, claim.case, value, prompt, cut=True)))
        return Judged(None, UNUSABLE, text_of(error), None if type(cut) is Raised else cut, check=TOO_LONG)
    except BaseException as error:  # a host's own kind may raise anything; what was spent must be settled
        refused = isinstance(error, ValueError)
        check = REFUSED_BY_KIND if refused else KIND_FAILED
        log.info("job.answer_unusable", job=claim.job.id, check=check, error=type(error).__name__)
        fault_text = text_of(error) if refused else "it cannot be used"
        at = place_in_kind(kind, "effects", error)
        if refused:
            return Judged(None, UNUSABLE, fault_text, check=check, because=at if is_of_host(kind) else "")
        return Judged(None, UNUSABLE, fault_text, check=check, refusal=at)


def result_of(model: Model, prompt: Prompt, answer: ModelAnswer) -> Result:
    """Return the result of an answer, without effects."""
    count = None
    if answer.prompt_tokens:
        estimated = prompt_parts(prompt)
        count = PromptCount(sum(estimated), answer.prompt_tokens, estimated.others)
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
        service_tier=answer.service_tier,
        discount=0 if answer.saved else answer.discount,
    )


def adjusted(
    templates: Templates, attempt: Attempt, asked: Candidate, prompt: Prompt, answer: ModelAnswer, judged: Judged
) -> tuple[float, Adjustment | None]:
    """Return the seconds before another attempt and what it changes; None if it would not help."""
    claim, adjustment, failure = attempt.claim, attempt.adjustment, judged.failure
    if answer.packed and not answer.text and failure not in NOT_OF_PROMPTS:  # asked alone, it may have an answer
        return 0.0, adjustment
    if answer.failure is not None and answer.failure.of_tier:  # its next attempt asks in the standard tier
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
        repairs = repairs_of(templates, answer.text, fault, junk=judged.junk)
        return 0.0, adjustment._replace(corrected=True, longer=failure == "truncated", repairs=repairs)
    pause = _pause(answer, claim.number)
    if failure in NOT_OF_PROMPTS:
        too_late = time.monotonic() + pause >= attempt.deadline
        of_model = too_late if failure == "rate_limited" else _fails_again(answer, claim)
        other = following(attempt.candidates, asked, failure, of_model=of_model)
        if other is not None:
            return 0.0, adjustment._replace(model=other.model.name)
    if not answer.retryable:
        return 0.0, None
    return pause, adjustment._replace(model="" if failure in NOT_OF_PROMPTS else asked.model.name)


def _fails_again(answer: ModelAnswer, claim: Claim) -> bool:
    """Return whether a server failed again, perhaps for this model only: a call to another model shows whether."""
    failure = answer.failure
    return claim.number > 1 and failure is not None and CLASSES[failure.kind].scope == "endpoint"


def _pause(answer: ModelAnswer, attempt: int) -> float:
    """Return the seconds before the next attempt: as the provider requests, else growing with each attempt."""
    if answer.failure is not None and answer.failure.kind == "unsupported":
        return 0.0  # the next attempt uses another dialect
    requested = answer.failure.retry_after if answer.failure is not None else None
    return requested if requested is not None else 0.2 * 2.0 ** (attempt - 1)


def without_reasons(answer: BaseModel) -> BaseModel | None:
    """Return an answer without its reasons; None if it has none."""
    if isinstance(answer, ActionAnswer) and answer.reason:
        return answer.model_copy(update={"reason": ""})
    if isinstance(answer, ReflectionAnswer) and answer.relationship_changes:
        return answer.model_copy(update={"relationship_changes": []})
    return None


def repairs_of(templates: Templates, text: str, fault: str, *, junk: bool = False) -> tuple[Rendered, ...]:
    """Return the additions to the prompt, best first: the answer with its faults, then the faults alone.

    For junk, return only the faults; without an answer, return nothing.
    """
    if not text.strip():
        return ()
    shown = ("",) if junk else (_cut(text, MOST_ANSWER), "")
    complaint = _cut(fault, MOST_FAULT)
    return tuple(templates.render("repair", {"answer": answer, "complaint": complaint}) for answer in shown)


def without_repair(prompt: Prompt, repairs: Iterable[Rendered]) -> Prompt:
    """Return the prompt as it was before a repair was added.

    The fault may quote the first answer; these words do not count as words that the model was shown.
    """
    for end in map(end_of, repairs):
        if prompt.user.endswith(end):
            return replace(prompt, user=prompt.user.removesuffix(end))
    return prompt


def describe_fault(failure: str, text: str, answer: type[BaseModel], cap: int) -> str:
    """Describe the faults of an answer for the model, which may see its own words.

    Args:
        failure: one of `OF_ANSWERS`.
        text: the model's answer.
        answer: the class that it should validate as.
        cap: the tokens that an answer may have.
    """
    if failure == "truncated":
        return f"it was cut off at {cap} tokens; say it in fewer words"
    made = answer_in(text, answer)
    if type(made) is Raised:  # a host's own validator may raise anything
        return _describe(made.error)
    return "there is no complete JSON object in it"


def _describe(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        with contextlib.suppress(Exception):  # it asks the validator's own errors for their text
            found = error.errors(include_url=False, include_context=False, include_input=False)[:_PLACES]
            return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}" for one in found)
    return "it cannot be used"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"
