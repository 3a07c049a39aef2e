"""Prompts and answers of a run's jobs, stored for `cogitate job --prompt` (`capture = true`), never in a log.

They are keys of the run, so `cogitate delete` removes them with it. They expire, and a byte limit drops the oldest.
"""

from __future__ import annotations

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.kept_texts import KeptTexts
from cogitate.workers.llm.replies.failures import ModelAnswer

MOST_ATTEMPTS = 20  # of one job; the largest `claim_cap`
MOST_ANSWER = 100_000  # characters of an answer that are stored


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
        self._texts = _texts(client, settings)

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
        self._texts.keep(keys, _field(job.key, claim.number), msgspec.json.encode(kept), claim.incarnation)


def captured_of(store: RunStore, settings: Settings, key: JobKey) -> list[Captured]:
    """Return the stored attempts of a job in order."""
    fields = [_field(key, number) for number in range(1, MOST_ATTEMPTS + 1)]
    found = _texts(store.client, settings).find(store.captured_keys(), fields)
    return [typed_json.decode(raw, Captured) for raw in found if raw is not None]


def _texts(client: Redis, settings: Settings) -> KeptTexts:
    return KeptTexts(
        client, "prompt", most_bytes=settings.tuning.capture_bytes, seconds=settings.tuning.capture_hours * 3_600
    )


def _field(key: JobKey, attempt: int) -> str:
    return f"{key.text()}#{attempt}"
