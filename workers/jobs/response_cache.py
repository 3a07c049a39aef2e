"""Answers of earlier runs, for experiments that are run again: the same question costs nothing the second time.

An answer is found by model, seed, prompt, schema and the job that asked: tick, kind, owner, ordinal and try are the
sequence number of a question within its run. So a question that a run asks twice has two answers, which a run of the
same course finds again in their places, whoever was answered first. Answers that could not be used are kept as well:
what the model said when it was shown them follows from them. Where no model answered there is nothing to keep.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import msgspec
from pydantic import BaseModel
from redis import Redis

from scheduler.config.endpoints import Model
from scheduler.config.settings import Settings
from scheduler.ledger.keys import RESPONSES
from tasks.job import Cost, Job
from tasks.kind import Prompt
from workers.jobs.kept_texts import KeptTexts
from workers.jobs.repair import OF_ANSWERS
from workers.llm.answer import ModelAnswer
from workers.llm.failures import Failure, FailureKind
from workers.llm.reply import Reply, validated
from workers.llm.schema import plain_schema


class _Kept(msgspec.Struct, frozen=True):
    """An answer as it is kept."""

    text: str
    usage: Cost
    estimated: bool
    prompt_tokens: int
    failure: FailureKind | None  # what was wrong with it, as far as its kind did not judge it


class CachedQuestion(NamedTuple):
    """All that is sent to a model. Two questions that are equal are the same request."""

    endpoint: str
    model: str
    seed: int | None
    system: str
    user: str
    answer: type[BaseModel]
    output_cap: int

    @classmethod
    def of(cls, prompt: Prompt, model: Model, output_cap: int) -> CachedQuestion:
        """What is asked of this model when it is shown this prompt."""
        return cls(model.endpoint, model.model, model.seed, prompt.system, prompt.user, prompt.answer, output_cap)

    def digest(self) -> str:
        """A hash that is the same in every process."""
        sent = [*self[:5], plain_schema(self.answer), self.output_cap]
        return hashlib.blake2b(json.dumps(sent).encode(), digest_size=16).hexdigest()


class ResponseCache:
    """The cache of a process. Does nothing unless the settings switch it on."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        self._on = settings.response_cache
        self._texts = KeptTexts(
            client,
            "response",
            most_bytes=settings.response_cache_bytes,
            seconds=settings.response_cache_days * 86_400,
        )

    def find(self, job: Job, question: CachedQuestion, prompt: Prompt) -> ModelAnswer | None:
        """The answer that this job of an earlier run got to this question, with the usage that it had then."""
        (raw,) = self._texts.find(RESPONSES, [_field(job, question)]) if self._on else (None,)
        if raw is None:
            return None
        try:
            kept = msgspec.json.decode(raw, type=_Kept)
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
            text=kept.text,
        )

    def keep(self, job: Job, question: CachedQuestion, answer: ModelAnswer) -> None:
        """Remember what a model answered."""
        failure = answer.failure.kind if answer.failure is not None else None
        if self._on and answer.text and (failure is None or failure in OF_ANSWERS):
            kept = _Kept(answer.text, answer.usage, answer.estimated, answer.prompt_tokens, failure)
            self._texts.keep(RESPONSES, _field(job, question), msgspec.json.encode(kept))


def _field(job: Job, question: CachedQuestion) -> str:
    return f"{question.digest()}/{job.key.text()}"
