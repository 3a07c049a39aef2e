"""Candidates: the models that may answer a job, in the order in which a worker asks them, and the prompt for each.

The first is the job's own. If its endpoint fails or may not be called, the worker asks the next model of the run's
ladder at another endpoint whose maximum cost fits the job's reservation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from pydantic import BaseModel

from cogitate.prompts.answers import (
    ActionAnswer,
    InsightAlone,
    PlacedAction,
    ReflectionAnswer,
    UnexplainedAction,
    UnexplainedPlacedAction,
)
from cogitate.prompts.render import Rendered
from cogitate.scheduler.config.endpoints import Model, room_for_answer, upper_bound
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Correction
from cogitate.tasks.kind import Kind, Prompt
from cogitate.workers.jobs.call import BatchAnswer
from cogitate.workers.llm.replies.failures import CLASSES, NOT_OF_PROMPTS
from cogitate.workers.llm.requests.tokens import PromptDoesNotFit, corrected_tokens, fit

#: Reasons for not making a call that concern only the endpoint.
REFUSED_THERE = frozenset({"breaker_open", "rate_limited_here", "no_slot"})
#: Refusals that may concern one model only, so that another one of the same endpoint may answer.
_OF_MODELS = {kind for kind in NOT_OF_PROMPTS - {"proxy"} if CLASSES[kind].again == "never"}

#: For each class of answers with reasons, the class without them and the field that it omits.
_WITHOUT: Mapping[type[BaseModel], tuple[type[BaseModel], str]] = MappingProxyType(
    {
        ActionAnswer: (UnexplainedAction, "reason"),
        PlacedAction: (UnexplainedPlacedAction, "reason"),
        ReflectionAnswer: (InsightAlone, "relationship_changes"),
    }
)


class Adjustment(NamedTuple):
    """The changes that this worker makes to the next attempt."""

    halved: bool = False  # show half of the memories: the endpoint refused the prompt as too long
    longer: bool = False  # leave more room for the answer: the last one reached its cap
    corrected: bool = False  # one answer was unusable; the next one is the last
    repairs: tuple[Rendered, ...] = ()  # show the model that answer and its faults; the first that fits is used
    model: str = ""  # ask this model of the run's ladder; "": the job's own
    answer: BatchAnswer | None = None  # it has come in a batch: ask nothing
    inputs: str = ""  # hash of the first attempt's inputs; "": this is the first


NO_ADJUSTMENT = Adjustment()


class Candidate(NamedTuple):
    """A model that may answer a job, and the caps that keep its cost within the reservation."""

    model: Model
    prompt_cap: int
    output_cap: int
    correction: Correction  # of token estimates


class Attempt(NamedTuple):
    """One attempt at a job that asks a model."""

    kind: Kind
    claim: Claim
    asking: Claim  # for prompt and call: vectors may choose its memories
    candidates: Sequence[Candidate]  # never empty
    deadline: float  # instant of `time.monotonic()` by which calls end
    adjustment: Adjustment  # from this worker's previous attempt at the same job


def candidates_of(kind: Kind, claim: Claim, endpoints: Collection[str]) -> Sequence[Candidate]:
    """Return the models that may answer a job, its own first; empty if this worker does not know its endpoint."""
    job, candidates = claim.job, []
    if claim.model is None or claim.model.endpoint not in endpoints:
        return ()
    learned = Correction(job.correction, job.correction_others)
    candidates.append(Candidate(claim.model, job.prompt_cap, job.output_cap, learned))
    for model in claim.others:
        output_cap = kind.output_cap + model.headroom_of(kind.name)
        prompt_cap = min(job.prompt_cap, model.context - output_cap) if model.context else job.prompt_cap
        most, reserved = upper_bound(model, prompt_cap, output_cap), job.reserved
        if (
            model.endpoint in endpoints
            and prompt_cap > 0
            and most.tokens <= reserved.tokens
            and most.usd_micros <= reserved.usd_micros
        ):
            # A correction learned for the job's own model must not lower the estimates for this one.
            candidates.append(Candidate(model, prompt_cap, output_cap, learned.raised))
    return candidates


def within_context(candidate: Candidate, context: int) -> Candidate:
    """Return the candidate with caps that fit a learned context length."""
    model = candidate.model
    if model.context and model.context <= context:
        return candidate
    return candidate._replace(
        model=msgspec.structs.replace(model, context=context),
        prompt_cap=min(candidate.prompt_cap, max(0, context - candidate.output_cap)),
    )


def following(
    candidates: Sequence[Candidate], asked: Candidate, why: str, *, of_model: bool = False
) -> Candidate | None:
    """Return the candidate to ask after one whose endpoint failed or refused for this reason, or None.

    Args:
        of_model: whether another model of the same endpoint may answer.
    """
    for one in candidates[candidates.index(asked) + 1 :]:
        if one.model.endpoint != asked.model.endpoint or of_model or why in _OF_MODELS:
            return one
    return None


def fitted(attempt: Attempt, candidate: Candidate, context: int) -> tuple[Prompt, int]:
    """Return the prompt and the cap of its answer within their reservation.

    If a repair does not fit, the prompt drops the failed answer first, then its faults. After an unfinished answer,
    the prompt shrinks to half of its cap if it can, and the answer may use the rest of the reservation.

    Args:
        context: the learned limit of the model for prompt and answer together, in tokens; 0 if none is known.

    Raises:
        PromptDoesNotFit: if the prompt is too long even without memories.
        BaseException: whatever a host's own kind raises.
    """
    adjustment = attempt.adjustment
    if context:
        candidate = within_context(candidate, context)
    output_cap = candidate.output_cap
    caps = (candidate.prompt_cap // 2, candidate.prompt_cap) if adjustment.longer else (candidate.prompt_cap,)
    tries = [(cap, repair) for cap in caps for repair in (*adjustment.repairs, None)]
    for cap, repair in tries:
        try:
            prompt = fit(
                attempt.kind,
                attempt.asking.case,
                cap,
                correction=candidate.correction,
                halved=adjustment.halved,
                addition=repair,
                adapt=None if candidate.model.reasons else for_weak_model,
            )
            break
        except PromptDoesNotFit:
            if (cap, repair) == tries[-1]:
                raise
    if adjustment.longer:
        size = corrected_tokens(prompt, candidate.correction.raised)
        output_cap = max(output_cap, room_for_answer(candidate.model, attempt.asking.job.reserved, size))
    return prompt, output_cap


def for_weak_model(prompt: Prompt) -> Prompt:
    """Return the prompt without reasons, in neither schema nor instructions, and with its choices in the schema."""
    prompt = ask_no_reasons(prompt)
    return replace(prompt, enforced=prompt.constraints)


def ask_no_reasons(prompt: Prompt) -> Prompt:
    """Return the prompt without reasons: neither its schema nor its instructions mention them."""
    if prompt.answer not in _WITHOUT:
        return prompt
    answer, field = _WITHOUT[prompt.answer]
    return replace(
        prompt,
        answer=answer,
        system="\n".join(line for line in prompt.system.splitlines() if not line.startswith(f'- "{field}"')),
        constraints=tuple(one for one in prompt.constraints if one.field.partition(".")[0] != field),
    )
