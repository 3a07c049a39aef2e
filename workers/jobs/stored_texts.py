"""Texts that Redis stores for a limited time and up to a byte limit: models' answers and captured prompts.

They are a convenience, never authoritative: while Redis is down, nothing is stored or found.

The *response cache* has answers from earlier runs, for repeated experiments: the same question costs nothing the second
time. Only runs with `response_cache` read or write it, regardless of the worker's settings. An answer's key consists of
model, seed, parameters, prompt, schema and the job's tick, kind, owner, ordinal and try. So a question that a run
asks twice has two answers, and a repetition of the run finds each of them, in any order. Unusable answers are stored as
well, because the repaired ones depend on them. A call without an answer is not stored.

The *capture* has prompts and answers of a run's jobs, for `cogitate job --prompt` (`capture = true`), never in a log.
They are keys of the run, so `cogitate delete` removes them with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import resources

import msgspec
import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError
from redis.typing import EncodableT

from cogitate.memory import typed_json
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.connect import clock_of
from cogitate.scheduler.ledger.keys import RESPONSES, incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Prompt
from cogitate.workers import lua
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, CachedQuestion, Call
from cogitate.workers.jobs.judging import OF_ANSWERS
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from cogitate.workers.llm.replies.reply import Reply, validated

MOST_ATTEMPTS = 20  # of one job; the largest `claim_cap`
MOST_ANSWER = 100_000  # characters of an answer that are stored

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
        self._script: Script = client.register_script((resources.files(lua) / "keep.lua").read_text(encoding="utf-8"))

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
            seconds, micros = clock_of(self._client, keys[0])
            with self._client.pipeline(transaction=False) as pipe:
                for field in fields:
                    pipe.hget(keys[0], field)
                    pipe.zscore(keys[1], field)
                found = pipe.execute()
        except RedisError as error:
            log.warning("text.not_kept", what=self._what, error=type(error).__name__)
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
    failure: FailureKind | None  # its fault, unless the kind's own check found it
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
        """Return the stored answer, or store the one that follows."""
        claim = call.claim
        if not claim.response_cache:
            return following(call)
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


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt and the answer of one attempt."""

    attempt: int
    model: str
    system: str
    user: str
    answer: str = ""
    failure: str = ""  # why the answer is unusable or missing
    fault: str = ""  # the fault of an unusable answer, as explained to the model
    saved: bool = False  # shared from an identical call


class Capture:
    """The store of a worker's prompts and answers. It is disabled unless `capture` is set."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        self._client = client
        self._on = settings.capture
        self._texts = _capture_texts(client, settings)

    def keep(self, claim: Claim, prompt: Prompt, asked: ModelAnswer | Refused, failure: str, fault: str = "") -> None:
        """Store an attempt's prompt, and its answer or the reason why it is missing."""
        if not self._on:
            return
        job = claim.job
        text, saved = (asked.text, asked.saved) if isinstance(asked, ModelAnswer) else ("", False)
        kept = Captured(
            attempt=claim.number,
            model=job.model,
            system=prompt.system,
            user=prompt.user,
            answer=text[:MOST_ANSWER],
            failure=failure,
            fault=fault,
            saved=saved,
        )
        keys = [*RunStore.of(self._client, job.run, claim.incarnation).captured_keys(), incarnation_key(job.run)]
        self._texts.keep(keys, _capture_field(job.key, claim.number), msgspec.json.encode(kept), claim.incarnation)


def captured_of(store: RunStore, settings: Settings, key: JobKey) -> list[Captured]:
    """Return the stored attempts of a job in order."""
    fields = [_capture_field(key, number) for number in range(1, MOST_ATTEMPTS + 1)]
    found = _capture_texts(store.client, settings).find(store.captured_keys(), fields)
    return [typed_json.decode(raw, Captured) for raw in found if raw is not None]


def all_captured(store: RunStore, settings: Settings) -> Iterator[tuple[JobKey, Captured]]:
    """Yield the stored attempts of all jobs of a run, by job and attempt."""
    fields = [field.decode().rpartition("#") for field in store.fields("captured")]
    for key in sorted({JobKey.parse(text) for text, _, _ in fields}):
        yield from ((key, one) for one in captured_of(store, settings, key))


def restore_captured(store: RunStore, attempts: Iterable[tuple[JobKey, Captured]]) -> None:
    """Store attempts of a run that was read from elsewhere; they do not expire."""
    for key, one in attempts:
        field, (texts, times, _) = _capture_field(key, one.attempt), store.captured_keys()
        store.client.hset(texts, field, msgspec.json.encode(one))
        store.client.zadd(times, {field: float("inf")})


def _capture_texts(client: Redis, settings: Settings) -> KeptTexts:
    return KeptTexts(
        client, "prompt", most_bytes=settings.tuning.capture_bytes, seconds=settings.tuning.capture_hours * 3_600
    )


def _capture_field(key: JobKey, attempt: int) -> str:
    return f"{key.text()}#{attempt}"
