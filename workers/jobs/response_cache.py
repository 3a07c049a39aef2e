"""A cache of answers from earlier runs, for repeated experiments: the same question costs nothing the second time.

Only runs with `response_cache` read or write it, regardless of the worker's settings.

An answer's key consists of model, seed, parameters, prompt, schema and the job's tick, kind, owner, ordinal and try. So
a question that a run asks twice has two answers, and a repetition of the run finds each of them, in any order. Unusable
answers are stored as well, because the repaired ones depend on them. A call without an answer is not stored.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import msgspec
from pydantic import BaseModel
from redis import Redis

from cogitate.memory import typed_json
from cogitate.prompts.constraints import Constraint
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import RESPONSES
from cogitate.tasks.job import Cost, Job
from cogitate.tasks.kind import Prompt
from cogitate.workers.jobs.kept_texts import KeptTexts
from cogitate.workers.jobs.repair import OF_ANSWERS
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from cogitate.workers.llm.replies.reply import Reply, validated
from cogitate.workers.llm.requests.schema import narrowed_schema


class _Kept(msgspec.Struct, frozen=True):
    """A stored answer."""

    text: str
    usage: Cost
    estimated: bool
    prompt_tokens: int
    failure: FailureKind | None  # its fault, unless the kind's own check found it
    reasoning: int = 0


class CachedQuestion(NamedTuple):
    """Everything that is sent to a model. Equal questions are the same request."""

    endpoint: str
    model: str
    seed: int | None
    parameters: str
    system: str
    user: str
    answer: type[BaseModel]
    enforced: tuple[Constraint, ...]
    output_cap: int

    @classmethod
    def of(cls, prompt: Prompt, model: Model, output_cap: int) -> CachedQuestion:
        """Return the question that this prompt asks of this model."""
        return cls(
            model.endpoint,
            model.model,
            model.seed,
            model.parameters,
            prompt.system,
            prompt.user,
            prompt.answer,
            prompt.enforced,
            output_cap,
        )

    def digest(self) -> str:
        """Return a hash that is the same in every process."""
        schema = narrowed_schema(self.answer, self.enforced)
        sent = [*self[:3], self.system, self.user, schema, self.output_cap]
        if self.parameters:  # keys without parameters stay as they were in earlier versions
            sent.append(self.parameters)
        return hashlib.blake2b(json.dumps(sent).encode(), digest_size=16).hexdigest()


class ResponseCache:
    """The cache of a process."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        self._texts = KeptTexts(
            client,
            "response",
            most_bytes=settings.tuning.response_cache_bytes,
            seconds=settings.tuning.response_cache_days * 86_400,
        )

    def find(self, job: Job, question: CachedQuestion, prompt: Prompt) -> ModelAnswer | None:
        """Return the answer that the same job of an earlier run got to this question, with its original usage."""
        (raw,) = self._texts.find(RESPONSES, [_field(job, question)])
        if raw is None:
            return None
        try:
            kept = typed_json.decode(raw, _Kept)
        except msgspec.DecodeError:
            return None
        wrong = Failure(kind=kept.failure) if kept.failure is not None else None
        value, failure = validated(Reply(text=kept.text, failure=wrong), prompt.answer)
        return ModelAnswer(
            usage=kept.usage,
            estimated=kept.estimated,
            value=value,
            failure=failure,
            prompt_tokens=kept.prompt_tokens,
            reasoning=kept.reasoning,
            text=kept.text,
        )

    def keep(self, job: Job, question: CachedQuestion, answer: ModelAnswer) -> None:
        """Store a model's answer."""
        failure = answer.failure.kind if answer.failure is not None else None
        if answer.text and (failure is None or failure in OF_ANSWERS):
            kept = _Kept(answer.text, answer.usage, answer.estimated, answer.prompt_tokens, failure, answer.reasoning)
            self._texts.keep(RESPONSES, _field(job, question), msgspec.json.encode(kept))


def _field(job: Job, question: CachedQuestion) -> str:
    return f"{question.digest()}/{job.key.text()}"
