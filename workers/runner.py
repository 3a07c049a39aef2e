"""Running a job: claim it, compute its effects, settle. A job is a pure function, so running it twice harms nothing.

What can go wrong ends in the kind's heuristic, never in a lost job: the ledger frees, retries or gives up attempts.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cache
from typing import NamedTuple

import msgspec
import structlog
from celery import signals
from redis import Redis
from redis.exceptions import RedisError

from scheduler.claims import Claim, Claims, PromptCount, Refusal, Result, Settled
from scheduler.connect import connect
from scheduler.endpoints import Model
from scheduler.keys import new_nonce
from scheduler.real_day import Held, RealDay
from scheduler.rules import use_prompts
from scheduler.settings import Settings
from scheduler.versions import SCHEMA
from tasks.job import Cost, Job, split_job_id
from tasks.kind import Kind, Prompt
from tasks.registry import UnknownKind, kind_of
from workers.gate import Gate, Refused
from workers.heartbeat import Heartbeat
from workers.kept_results import KeptResults
from workers.llm import Answer
from workers.llm_clients import ModelClients
from workers.llm_dialect_store import DialectStore
from workers.metrics import attempted
from workers.tokens import PromptDoesNotFit, fit, is_plain, prompt_tokens

log = structlog.get_logger()

SETTLE_BACKOFF = (0.1, 0.5, 2.0, 5.0)  # seconds between tries when the ledger is away
OVERFLOW = "context_overflow"


class _Attempt(NamedTuple):
    """What came of one attempt."""

    result: Result | None  # None: another attempt may do better
    used: Cost
    pause: float = 0.0  # seconds to wait before it
    failure: str = ""


class Runner:
    """Runs jobs for one worker process, from any number of threads."""

    def __init__(
        self,
        client: Redis,
        claims: Claims,
        heartbeat: Heartbeat,
        settings: Settings,
        kept: KeptResults | None = None,
    ) -> None:
        self._kept = kept
        self._claims = claims
        self._heartbeat = heartbeat
        self._settings = settings
        self._endpoints = settings.endpoint_table()
        self._models = ModelClients(self._endpoints, settings.concurrency, DialectStore(client))
        self._stopping = threading.Event()
        self._gate = Gate(client, settings, self._stopping)
        self._day = RealDay(client, settings)
        self._newer: set[str] = set()  # runs of a newer version: told of once

    def stop(self) -> None:
        """End every wait: this process is about to end, and another may have the jobs that wait for an attempt."""
        self._stopping.set()

    def close(self) -> None:
        """Close the connections to models. Calls in flight fail."""
        self._models.close()
        self._gate.close()

    def run(self, job_id: str) -> Settled | Refusal:
        """Run a job as often as its attempts fail in a way that another may mend, within its deadline."""
        deadline = time.monotonic() + self._settings.job_deadline
        halved = False  # show half of the memories: the endpoint found the prompt too long
        while True:
            claim = self._claims.claim(job_id)
            if not isinstance(claim, Claim):
                log.debug("job.refused", job=job_id, why=claim)
                if claim == "newer":
                    self._warn_of_newer(job_id)
                return claim
            began = time.monotonic()
            with self._heartbeat.of(claim.job.run, claim.incarnation):
                result, used, pause, failure = self._attempt(claim, deadline, halved)
                settled = self._settle(claim, result, used)
                if self._kept is not None and result is not None and result.source == "llm" and settled == "staged":
                    self._kept.keep(claim, result, used)
            kind, source = claim.job.key.kind, result.source if result else "none"
            why = result.failure if result else failure
            attempted(kind, source, why, time.monotonic() - began, claim.job.model, used.tokens)
            log.info(
                "job.settled", job=job_id, kind=kind, owner=claim.job.key.owner, attempt=claim.number,
                settled=settled, source=source, tokens=used.tokens,
            )  # fmt: skip
            if settled != "freed" or self._stopping.wait(pause):
                return settled
            halved = halved or failure == OVERFLOW

    def _warn_of_newer(self, job_id: str) -> None:
        run, _ = split_job_id(job_id)
        if run not in self._newer:
            self._newer.add(run)
            log.warning("run.newer_schema", run=run, known=SCHEMA)

    def _attempt(self, claim: Claim, deadline: float, halved: bool) -> _Attempt:
        job = claim.job
        try:
            kind = kind_of(job.key.kind)
        except UnknownKind as error:
            log.error("job.unknown_kind", job=job.id, error=str(error))
            return _Attempt(None, Cost(), 1.0)
        if not job.model:
            used = Cost(calls=1)
            return _Attempt(Result(effects=kind.heuristic(claim.case), source="heuristic", usage=used), used)
        model = claim.model
        if model is None or model.endpoint not in self._endpoints:
            return self._unknown_endpoint(kind, claim)
        try:
            prompt = fit(kind, claim.case, job.prompt_cap, correction=job.correction, halved=halved)
        except PromptDoesNotFit as error:
            log.error("job.prompt_too_long", job=job.id, error=str(error))
            return _Attempt(self._fallback(kind, claim, Cost(), "prompt_too_long"), Cost())
        answer = self._ask(job, prompt, model, deadline)
        if not isinstance(answer, Answer):
            return self._refused(kind, claim, answer)
        failure: str = answer.failure.kind if answer.failure is not None else ""
        if answer.value is not None:
            try:
                effects = kind.effects(claim.case, answer.value, prompt.used)
            except Exception as error:  # whatever a host's own kind raises, what was spent must be settled
                log.info("job.answer_unusable", job=job.id, error=type(error).__name__)
                failure = "unusable"
            else:
                result = Result(
                    effects=effects, source="llm", usage=answer.usage, model=model.name, prompt=prompt.version,
                    count=_count(answer, prompt), unreported=answer.estimated,
                )  # fmt: skip
                return _Attempt(result, answer.usage)
        pause = _pause(answer, claim.number)
        again = answer.retryable
        if failure == OVERFLOW and not halved:  # spec 2, "Emergency Truncation": once, without the oldest half
            log.warning("prompt.halved", job=job.id)
            again, pause = True, 0.0
        if again and not claim.last and time.monotonic() + pause < deadline:
            return _Attempt(None, answer.usage, pause, failure)
        fallback = self._fallback(kind, claim, answer.usage, failure)
        fallback = msgspec.structs.replace(fallback, count=_count(answer, prompt), unreported=answer.estimated)
        return _Attempt(fallback, answer.usage)

    def _ask(self, job: Job, prompt: Prompt, model: Model, deadline: float) -> Answer | str:
        """Ask once, past the limit of the real day and the endpoint's gate; or say why that may not be."""
        held = self._day.reserve(job.reserved)
        if not isinstance(held, Held):
            return held
        entered = self._gate.enter(model.endpoint, model=model.model, tokens=job.reserved.tokens, deadline=deadline)
        if isinstance(entered, Refused):
            self._day.settle(held, Cost())
            return entered.why
        answer: Answer | None = None
        try:
            answer = self._models.ask(prompt, model=model, max_output_tokens=job.output_cap, deadline=deadline)
            self._day.settle(held, answer.usage)
            if answer.usage.tokens > job.reserved.tokens:
                log.warning(
                    "job.overran",
                    job=job.id,
                    model=model.name,
                    tokens=answer.usage.tokens,
                    reserved=job.reserved.tokens,
                )
            return answer
        finally:
            self._gate.leave(entered, answer)

    def _fallback(self, kind: Kind, claim: Claim, used: Cost, failure: str) -> Result:
        effects = kind.heuristic(claim.case)
        log.warning("job.degraded", job=claim.job.id, failure=failure)
        return Result(
            effects=effects, source="heuristic", reason="failed", usage=used, model=claim.job.model, failure=failure
        )

    def _settle(self, claim: Claim, result: Result | None, used: Cost) -> Settled:
        """Settle, trying again while the ledger is away: what was spent must be accounted for."""
        for backoff in SETTLE_BACKOFF:
            try:
                return self._claims.settle(claim, result, used)
            except RedisError as error:
                log.warning("ledger.away", job=claim.job.id, error=type(error).__name__)
                time.sleep(backoff)
        return self._claims.settle(claim, result, used)

    def _refused(self, kind: Kind, claim: Claim, why: str) -> _Attempt:
        """The model must not be asked now: the heuristic takes its place at once, and nothing is spent."""
        if why == "stopping" and not claim.last:
            return _Attempt(None, Cost())
        return _Attempt(self._fallback(kind, claim, Cost(), why), Cost())

    def _unknown_endpoint(self, kind: Kind, claim: Claim) -> _Attempt:
        """A model that this worker cannot ask: nothing is spent, and another attempt would fare no better here."""
        job, endpoint = claim.job, claim.model.endpoint if claim.model is not None else ""
        log.error("job.unknown_endpoint", job=job.id, model=job.model, endpoint=endpoint, known=[*self._endpoints])
        return _Attempt(self._fallback(kind, claim, Cost(), "unknown_endpoint"), Cost())


def _count(answer: Answer, prompt: Prompt) -> PromptCount | None:
    """What there is to learn from a prompt."""
    if not answer.prompt_tokens or not is_plain(prompt):
        return None
    return PromptCount(prompt_tokens(prompt), answer.prompt_tokens)


def _pause(answer: Answer, attempt: int) -> float:
    """Seconds before the next attempt: what the provider asked for, else growing with each attempt."""
    if answer.failure is not None and answer.failure.kind == "unsupported":
        return 0.0  # the next one asks in another way
    asked = answer.failure.retry_after if answer.failure is not None else None
    return asked if asked is not None else 0.2 * 2.0 ** (attempt - 1)


@cache
def _runner(pid: int) -> Runner:
    """This process's runner; a forked child makes its own."""
    settings = Settings()
    use_prompts(settings)
    client = connect(settings.state_url(), settings.socket_timeout)
    worker = f"{os.uname().nodename}:{pid}:{new_nonce()}"
    claims = Claims(client, worker=worker)
    beat_every = settings.lease / 5
    runner = Runner(client, claims, Heartbeat(claims.beat, beat_every), settings, KeptResults(claims, beat_every))
    signals.worker_shutting_down.connect(lambda **_: runner.stop(), weak=False)
    signals.worker_shutdown.connect(lambda **_: runner.close(), weak=False)  # sent when no job runs any more
    return runner


_lock = threading.Lock()


def run_job(job_id: str) -> None:
    """What a Celery task does with its message: a foreign or tampered id is dropped, with a log event."""
    try:
        split_job_id(job_id)
    except (ValueError, AttributeError, TypeError) as error:
        log.warning("message.refused", error=str(error)[:200])
        return
    with _lock:
        runner = _runner(os.getpid())
    runner.run(job_id)
