"""Failover: the models that may answer a job, in the order in which they are asked.

The first is the job's own. When its endpoint fails or may not be called, the next model of the run's ladder at another
endpoint is asked, if its maximum cost fits the job's reservation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from cogitate.scheduler.config.endpoints import Model, upper_bound
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Correction
from cogitate.tasks.kind import Kind
from cogitate.workers.llm.replies.failures import CLASSES, NOT_OF_PROMPTS

#: Reasons for not making a call that concern only the endpoint.
REFUSED_THERE = frozenset({"breaker_open", "rate_limited_here", "no_slot"})
#: Refusals that may concern one model only, so that another one of the same endpoint may answer.
_OF_MODELS = {kind for kind in NOT_OF_PROMPTS - {"proxy"} if CLASSES[kind].again == "never"}


class Candidate(NamedTuple):
    """A model that may answer a job, and the caps that keep its cost within the reservation."""

    model: Model
    prompt_cap: int
    output_cap: int
    correction: Correction  # of the estimates of its tokens


def candidates_of(kind: Kind, claim: Claim, endpoints: Collection[str]) -> Sequence[Candidate]:
    """Return the models that may answer a job, its own first; empty if this worker does not know its endpoint."""
    job, found = claim.job, []
    if claim.model is None or claim.model.endpoint not in endpoints:
        return ()
    learned = Correction(job.correction, job.correction_others)
    found.append(Candidate(claim.model, job.prompt_cap, job.output_cap, learned))
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
            found.append(Candidate(model, prompt_cap, output_cap, learned.raised))
    return found


def within_context(candidate: Candidate, context: int) -> Candidate:
    """Return the candidate with caps that fit a learned context length (0: unknown)."""
    model = candidate.model
    if not context or (model.context and model.context <= context):
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
        of_model: whether only this model is known to be limited.
    """
    for one in candidates[candidates.index(asked) + 1 :]:
        if one.model.endpoint != asked.model.endpoint or of_model or why in _OF_MODELS:
            return one
    return None
