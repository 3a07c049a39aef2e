"""The layer that parks a job's request for the next batch, and reads the answer once it arrives.

A worker claims, reserves and fits a job that may wait like any other. Instead of asking, it parks the attempt with the
complete request in the ledger, and is free: the attempt has no lease from then on, and ends with the batch
(`cogitate.workers.jobs.batches.desk`). The worker that holds the desk judges and settles the answer as the same
attempt: it reads the claim and builds the prompt again, and accepts the answer only if the question is the same. A
request without an answer is asked singly, still as the first attempt, because it cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import structlog
from redis.exceptions import RedisError

from cogitate.scheduler.config.endpoints import BATCH, FLEX, call_cost
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.batches import REFUSED, Batched, Batches, custom_id
from cogitate.scheduler.ledger.claims import until_reached
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.tasks.job import Cost
from cogitate.tasks.registry import kind_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import BATCHED, Ask, BatchAnswer, Call
from cogitate.workers.llm.batch_files import line_of
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from cogitate.workers.llm.replies.reply import is_possible, read_completion

#: Expected seconds of an endpoint's batch before one has ended. Vendors promise 24 hours; OpenRouter saw nine of ten
#: end within the hour (https://openrouter.ai/blog/announcements/batch-api).
FIRST_EXPECTATION = 3_600
RECENT = 86_400  # seconds for which the duration of an ended batch counts
ASIDE = 600  # seconds for which an endpoint that refused a batch is asked singly
_KNOWN = 5.0  # seconds for which a process caches an endpoint's expected duration

log = structlog.get_logger()


class Parking:
    """Hands requests over to batches. Thread-safe.

    Args:
        wake: called with the run of each parked request.
    """

    def __init__(
        self, batches: Batches, models: ModelClients, day: RealDay, settings: Settings, wake: Callable[[str], None]
    ) -> None:
        self._batches = batches
        self._models = models
        self._day = day
        self._patience = patience_of(settings)
        self._wake = wake
        self._expected: dict[str, tuple[float, float | None]] = {}  # endpoint -> expiry, result of `_expect`

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Park the request, or ask singly: on a retry, or if a batch takes longer than ticks wait."""
        if not self._may_wait(call):
            return following(call)
        claim, job, model = call.claim, call.claim.job, call.model
        held = self._day.reserve(job.reserved, priced=model.priced)
        if held == "experiment_spent":
            return following(call)  # which may wait for room
        if not isinstance(held, Held):
            return Refused(held)
        request = self._models.of(model.endpoint).batch_request(
            call.prompt, model=model, max_output_tokens=call.output_cap
        )
        digest = call.question.digest()
        batched = Batched(
            job=job.key.text(),
            due=job.due,
            model=model,
            digest=digest,
            size=len(request),
            reserved=job.reserved,
            real_day=held,
        )
        line = line_of(custom_id(claim.token, digest), request)
        # Until the ledger says whether a batch gets the request, no thread may ask singly: a desk may send it.
        if not until_reached(partial(self._batches.park, claim, batched, line), job.id):
            self._day.settle(held, Cost())
            return following(call)
        self._wake(job.run)
        return Refused(BATCHED)

    def read(self, call: Call, answer: BatchAnswer) -> ModelAnswer:
        """Read a batch's answer to this call, and settle its cost in the real day."""
        found = self._models.of(call.model.endpoint).read_batched(
            answer.body, call.prompt, model=call.model, max_output_tokens=call.output_cap, size=answer.size
        )
        self._day.settle(answer.held, found.usage)
        if call.question.digest() == answer.digest:
            return found
        log.warning("batch.other_question", job=call.claim.job.id)  # such as the prompt of another version
        return replace(found, value=None, text="", failure=Failure(kind="empty", detail="to another question"))

    def _may_wait(self, call: Call) -> bool:
        claim, job = call.claim, call.claim.job
        if claim.number > 1 or call.model.name != job.model:
            return False
        if not self._patience or not kind_of(job.key.kind).batches or _is_packed(call):
            return False
        expected = self._expect(call.model.endpoint)
        return expected is not None and expected <= self._patience

    def _expect(self, endpoint: str) -> float | None:
        """Return the expected seconds of an endpoint's next batch; None if it takes none, or Redis does not answer."""
        until, known = self._expected.get(endpoint, (0.0, None))
        if time.monotonic() >= until:
            try:
                known = expected_of(self._batches.times(endpoint))
            except RedisError:
                return None
            self._expected[endpoint] = time.monotonic() + _KNOWN, known
        return known


def _is_packed(call: Call) -> bool:
    """Return whether calls of this kind are packed and cost no more than in a batch, which would split the packs."""
    model, packs = call.model, kind_of(call.claim.job.key.kind).packs
    asks_flex = model.service_tier == "auto" and '"service_tier"' not in model.parameters
    return model.pack == "auto" and packs and asks_flex and model.percent_of(FLEX) <= model.percent_of(BATCH)


def patience_of(settings: Settings) -> float:
    """Return the seconds that a batch may take and leave time to ask singly; 0: do not use batches.

    A host whose ticks follow a real clock does not wait for batches: its due ticks are only minutes away.
    """
    paced = settings.tick_rate is not None
    return 0.0 if paced else max(0.0, settings.wait_seconds() - settings.job_deadline)


def expected_of(times: list[tuple[int, int]]) -> float | None:
    """Return an upper estimate of the next batch's seconds; None if the endpoint has just refused one.

    Args:
        times: of the latest batches, as `Batches.times` returns them.
    """
    if any(seconds == REFUSED and ago < ASIDE for ago, seconds in times):
        return None
    return max((seconds for ago, seconds in times if seconds != REFUSED and ago < RECENT), default=FIRST_EXPECTATION)


def completion_cost(batched: Batched, completion: bytes) -> Cost:
    """Return the cost of an answer from its usage, without its prompt; without plausible usage, the reservation."""
    usage, model = read_completion(completion, {}).usage, batched.model
    if usage is None or not is_possible(usage, batched.size):
        return batched.reserved
    return call_cost(model, usage.prompt, usage.output, usage.cached, percent=model.percent_of(BATCH))
