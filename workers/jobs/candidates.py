"""Candidates: the models that may answer a job, in the order in which a worker asks them.

The first is the job's own. If its endpoint fails or may not be called, the worker asks the next model of the run's
ladder at another endpoint whose maximum cost fits the job's reservation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from cogitate.prompts.render import Rendered
from cogitate.scheduler.config.endpoints import Model, upper_bound
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Correction
from cogitate.tasks.kind import Kind
from cogitate.workers.jobs.call import BatchAnswer
from cogitate.workers.llm.replies.failures import CLASSES, NOT_OF_PROMPTS

#: Reasons for not making a call that concern only the endpoint.
REFUSED_THERE = frozenset({"breaker_open", "rate_limited_here", "no_slot"})
#: Refusals that may concern one model only, so that another one of the same endpoint may answer.
_OF_MODELS = {kind for kind in NOT_OF_PROMPTS - {"proxy"} if CLASSES[kind].again == "never"}


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
