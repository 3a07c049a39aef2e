"""Texts that Redis stores for a limited time and up to a byte limit: answers of models, with and without prompts.

They are a convenience, never authoritative: while Redis is down, nothing is stored or found.

The *response cache* has answers from earlier runs, for repeated experiments: the same question costs nothing the second
time. Only runs with `response_cache` read or write it, regardless of the worker's settings. An answer's key consists of
model, seed, parameters, prompt, schema and the job's tick, kind, owner, ordinal and try. So a question that a run
asks twice has two answers, and a repetition of the run finds each of them, in any order. Unusable answers are stored as
well, because the repaired ones depend on them. A call without an answer is not stored.

The *record* holds the prompt of each attempt and its outcome (`record = true`), which no log shows. It is kept in keys
of the run, so `cogitate delete` removes it. A fork copies the usable answers of its source's record: if a job differs
from the source's but asks a question that the source recorded, it gets that answer without a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import msgspec
import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError
from redis.typing import EncodableT

from cogitate.memory import typed_json
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.connect import server_time
from cogitate.scheduler.ledger.keys import RESPONSES, incarnation_key
from cogitate.scheduler.ledger.recorded_answers import MOST_ANSWER, RecordedAnswer
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, CachedQuestion, Call
from cogitate.workers.jobs.judging import OF_ANSWERS
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from cogitate.workers.llm.replies.reply import Reply, validated
from cogitate.workers.lua import source

MOST_ATTEMPTS = 20  # of one job; the largest `claim_cap`

log = structlog.get_logger()


class KeptTexts:
    """The texts of one type. Thread-safe.

    Args:
        what: the name of the type in the log.
        most_bytes: the limit for all texts together; the oldest are dropped first, and a larger text is not stored.
        seconds: the time until a text expires.
    """

    def __init__(self, client: Redis, what: str, *, most_bytes: int, seconds: float) -> None:
        self._client = client
        self._what = what
        self._most_bytes = most_bytes
        self._milliseconds = max(1, int(seconds * 1_000))
        self._script: Script = client.register_script(source("keep"))

    def keep(self, keys: Sequence[str], field: str, text: bytes, incarnation: str = "") -> None:
        """Store a text under `field`.

        Args:
            keys: see `workers/lua/keep.lua`; a fourth one guards the text of a run, which must be `incarnation`.
        """
        args: list[EncodableT] = [field, text, self._most_bytes, self._milliseconds, incarnation]
        try:
            self._script(keys=keys, args=args)
        except RedisError as error:
            log.warning("text.not_kept", what=self._what, error=type(error).__name__)

    def find(self, keys: Sequence[str], fields: Sequence[str]) -> list[bytes | None]:
        """Return the texts under these fields; None for each that is missing or expired."""
        try:
            seconds, micros = server_time(self._client, keys[0])
            with self._client.pipeline(transaction=False) as pipe:
                for field in fields:
                    pipe.hget(keys[0], field)
                    pipe.zscore(keys[1], field)
                found = pipe.execute()
        except RedisError as error:
            log.warning("text.not_read", what=self._what, error=type(error).__name__)
            return [None] * len(fields)
        oldest = seconds * 1_000 + micros // 1_000 - self._milliseconds
        texts, times = found[::2], found[1::2]
        return [text if at is not None and at > oldest else None for text, at in zip(texts, times, strict=True)]


class _Kept(msgspec.Struct, frozen=True):
    """A stored answer."""

    text: str
    usage: Cost
    estimated: bool
    prompt_tokens: int
    failure: FailureKind | None  # the class of its fault, unless the kind's own check found it
    reasoning: int = 0


class ResponseCache:
    """The layer that reuses answers of earlier runs, for runs with `response_cache`."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        self._texts = KeptTexts(
            client,
            "response",
            most_bytes=settings.tuning.response_cache_bytes,
            seconds=settings.tuning.response_cache_days * 86_400,
        )

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Return the stored answer, or ask and store the answer."""
        claim = call.claim
        known = self.find(claim.job, call.question, call.prompt)
        if known is not None:
            return replace(known, saved=True)
        answer = following(call)
        if isinstance(answer, ModelAnswer):
            self.keep(claim.job, call.question, answer)
        return answer

    def find(self, job: Job, question: CachedQuestion, prompt: Prompt) -> ModelAnswer | None:
        """Return the answer that the same job of an earlier run got to this question, with its original usage."""
        (raw,) = self._texts.find(RESPONSES, [_response_field(job, question)])
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
            self._texts.keep(RESPONSES, _response_field(job, question), msgspec.json.encode(kept))


def _response_field(job: Job, question: CachedQuestion) -> str:
    return f"{question.digest()}/{job.key.text()}"


class AnswerRecord:
    """The record of a worker's prompts and their outcomes."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        self._client = client
        self._texts = _record_texts(client, settings)

    def keep(
        self, claim: Claim, question: CachedQuestion, asked: ModelAnswer | Refused, failure: str, fault: str = ""
    ) -> None:
        """Record what an attempt asked, and its answer or the reason why it is missing."""
        job, store = claim.job, RunStore.of(self._client, claim.job.run, claim.incarnation)
        answered = asked if isinstance(asked, ModelAnswer) else None
        kept = RecordedAnswer(
            attempt=claim.number,
            model=job.model,
            question=question.digest(),
            system=question.system,
            user=question.user,
            answer=answered.text[:MOST_ANSWER] if answered is not None else "",
            failure=failure,
            fault=fault,
            saved=answered is not None and answered.saved,
            usage=answered.usage if answered is not None else Cost(),
            ticks=max(0, self._tick(store) - job.key.tick),
        )
        keys = [*store.recorded_keys(), incarnation_key(job.run)]
        self._texts.keep(keys, _record_field(job.key, claim.number), msgspec.json.encode(kept), claim.incarnation)

    def _tick(self, store: RunStore) -> int:
        """Return the tick that the run has committed; 0 while Redis is down."""
        try:
            return int(store.field("state", "tick") or 0)
        except RedisError:
            return 0


class SourceAnswers:
    """The layer that reuses the answers that the source of a fork recorded."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Return the usable answer that the source recorded for this question; ask if there is none."""
        claim = call.claim
        try:
            store = RunStore.of(self._client, claim.job.run, claim.incarnation)
            raw = store.field("origin_answers", call.question.digest())
            kept = typed_json.decode(raw, RecordedAnswer) if raw is not None else None
        except (RedisError, msgspec.DecodeError) as error:
            log.warning("text.not_read", what="recorded answer", error=type(error).__name__)
            kept = None
        if kept is None:
            return following(call)
        value, failure = validated(Reply(text=kept.answer), call.prompt.answer)
        return ModelAnswer(
            usage=kept.usage, estimated=False, value=value, failure=failure, text=kept.answer, saved=True
        )


def recorded_of(store: RunStore, settings: Settings, key: JobKey) -> list[RecordedAnswer]:
    """Return the stored attempts of a job in order."""
    fields = [_record_field(key, number) for number in range(1, MOST_ATTEMPTS + 1)]
    found = _record_texts(store.client, settings).find(store.recorded_keys(), fields)
    return [typed_json.decode(raw, RecordedAnswer) for raw in found if raw is not None]


def all_recorded(store: RunStore, settings: Settings) -> Iterator[tuple[JobKey, RecordedAnswer]]:
    """Yield the stored attempts of all jobs of a run, by job and attempt."""
    fields = [field.decode().rpartition("#") for field in store.fields("recorded")]
    for key in sorted({JobKey.parse(text) for text, _, _ in fields}):
        yield from ((key, one) for one in recorded_of(store, settings, key))


def restore_recorded(store: RunStore, attempts: Iterable[tuple[JobKey, RecordedAnswer]]) -> None:
    """Store attempts of a run that was read from elsewhere; they do not expire."""
    for key, one in attempts:
        field, (texts, times, _) = _record_field(key, one.attempt), store.recorded_keys()
        store.client.hset(texts, field, msgspec.json.encode(one))
        store.client.zadd(times, {field: float("inf")})


def _record_texts(client: Redis, settings: Settings) -> KeptTexts:
    return KeptTexts(
        client, "prompt", most_bytes=settings.tuning.record_bytes, seconds=settings.tuning.record_days * 86_400
    )


def _record_field(key: JobKey, attempt: int) -> str:
    return f"{key.text()}#{attempt}"
