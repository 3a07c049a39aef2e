"""The worker's side of the ledger: claim a job, send heartbeats while it runs, settle the attempt.

It also makes trial hints, which workers answer in the run's hash `readiness`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec
import structlog
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from cogitate.memory import typed_json
from cogitate.memory.effects import Effect
from cogitate.memory.profile import Profile
from cogitate.memory.unreadable import read_entry
from cogitate.scheduler.config.embedding import EmbeddingModel
from cogitate.scheduler.config.endpoints import BATCH, FLEX, Model
from cogitate.scheduler.config.facts import SCHEMA, Facts
from cogitate.scheduler.ledger.answer_times import note_of
from cogitate.scheduler.ledger.keys import Reply, incarnation_key, new_nonce, run_base, script
from cogitate.scheduler.ledger.run_store import RunStore, incarnation_of
from cogitate.tasks.job import Cost, Job, JobKey, split_job_id
from cogitate.tasks.kind import Case, WorldFacts, build_case

log = structlog.get_logger()
T = TypeVar("T")

Source = Literal["llm", "cached", "heuristic", "none"]
Reason = Literal["none", "denied", "too_slow", "late", "failed", "dead", "cancelled"]
Settled = Literal["staged", "offered", "freed", "accounted", "already", "unknown", "gone"]
TrialState = Literal["asked", "taken", "answered"]
UNUSABLE = "unusable"  # failure class of an answer that is valid JSON but useless; a check's name follows it
KIND_FAILED = "kind_failed"  # the check's name if the kind's code fails on an answer
Refusal = Literal["gone", "paused", "newer", "older", "unreadable", "closed", "claimed", "late", "dead", "alone"]


def named_failure(failure: str, check: str = "") -> str:
    """Return the class of a failure, with the name of the check that an unusable answer failed, if any."""
    return f"{failure}:{check}" if check else failure


def split_failure(failure: str) -> tuple[str, str]:
    """Return the class of a failure, and the name of its check or "".

    Only an unusable answer names a check; any other text, such as a precondition, may contain a colon.
    """
    kind, _, check = failure.partition(":")
    return (kind, check) if kind == UNUSABLE else (failure, "")


class PromptCount(NamedTuple):
    """The tokens of a prompt: the uncorrected estimate, and the model's count; both above 0."""

    estimated: int
    reported: int
    others: int = 0  # part of the estimate for characters other than Latin letters and ASCII


class Tried(NamedTuple):
    """A worker's record of one attempt, for information only."""

    number: int  # 1 for the first attempt of the job
    ms: int  # from claim to outcome
    used: Cost
    model: str
    failure: str = ""  # class of the failure, with the failed check of an unusable answer; "": it staged the result


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of an attempt, in the form that the ledger stages."""

    effects: tuple[Effect, ...]
    source: Source
    reason: Reason = "none"
    usage: Cost = Cost()  # of the attempt that staged it
    model: str = ""
    prompt: str = ""  # content hash of the prompt's template
    failure: str = ""  # class of the failure behind reason "failed", with the failed check of an unusable answer
    because: str = ""  # for "breaker_open": class of the failure that opened it; for "unusable:kind": the place
    refusal: str = ""  # why the heuristic's result is invalid; then there are no effects
    count: PromptCount | None = None  # set if the model reported usage from which estimates can learn
    unreported: bool = False  # True: the model reported no usage, and `usage` is a high estimate
    reasoning: int = 0  # reasoning tokens that the model reported, of the usage
    packed: int = 0  # jobs in the request; 0: only this one
    hybrid: bool = False  # whether retrieval compared vectors too, not only words
    embedded: int = 0  # tokens for vectors, of the usage
    service_tier: str = ""  # that answered, as the endpoint reports
    discount: int = 0  # micro-dollars saved against the standard service tier
    saved: bool = False  # True: an identical call got the answer; `usage` is that call's, and this job spent nothing
    inputs: str = ""  # hash of what it depends on (`cogitate.workers.jobs.call.inputs_digest`); "": no prompt was made
    late: int = 0  # in a fork: tick at which this answer arrived in the source after its job's end; 0: in time
    worker: str = ""  # that staged it
    tries: tuple[Tried, ...] = ()  # its attempts, this one last; empty without a model


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that the ledger has handed out: the job, the data that it may read, and the fencing token."""

    incarnation: str
    token: str
    number: int  # 1 for the first attempt
    cap: int  # claims that the run allows for one job
    tick: int = 0  # last committed tick at the claim
    case: Case
    model: Model | None = None  # with its parameters for the kind; None: the job names no model that the run has
    others: tuple[Model, ...] = ()  # models to ask, in this order, if that one cannot be reached
    response_cache: bool = False  # whether the run reuses answers of earlier runs, and stores answers for later ones
    embeddings: EmbeddingModel | None = None  # None: retrieval compares words only
    templates: Mapping[str, str] = {}  # prompt templates that this run replaces, by name
    in_source: Result | None = None  # in a fork: the job's result in the source
    source_recorded: bool = False  # in a fork: whether it has copied answers that its source recorded

    @property
    def last(self) -> bool:
        """Return whether this is the last attempt that the run allows."""
        return self.number >= self.cap

    @property
    def job(self) -> Job:
        return self.case.job


class _Asks(msgspec.Struct):
    """The part of a job that states whether it asks a model."""

    model: str = ""


class _KnownFacts(NamedTuple):
    """A version of a run's facts, with the values that jobs derive from it."""

    facts: Facts
    world: WorldFacts
    models: dict[tuple[str, str], tuple[Model | None, tuple[Model, ...]]]  # by a job's kind and model

    def find_models(self, kind: str, name: str) -> tuple[Model | None, tuple[Model, ...]]:
        """Return the named model for jobs of a kind, and the models to ask if it cannot be reached."""
        models = self.models[kind, name] = self.facts.model(kind, name), self.facts.below(kind, name)
        return models


class _Overtaken(Exception):
    """The job was closed, or a power failure lost its claim, before this worker had read its facts."""


class Claims:
    """One worker process's access to the ledger. Thread-safe: the client pools its connections.

    Args:
        worker: the name under which this process sends heartbeats.
        schema: the schema that this worker reads; it refuses jobs and runs of any other.
    """

    def __init__(self, client: Redis, *, worker: str, schema: int = SCHEMA) -> None:
        self._worker = worker
        self._schema = schema
        self._client = client
        self._known: dict[tuple[str, str, int], _KnownFacts] = {}  # by run, incarnation and version: they never change
        self._claim = script(client, "claim")
        self._settle = script(client, "settle")
        self._beat = script(client, "beat")
        self._ready = script(client, "ready")
        self._unanswered: deque[tuple[str, JobKey, str]] = deque()  # run, key, token

    def claim(self, job_id: str, held: str = "") -> Claim | Refusal:
        """Claim a job. After a refusal, the worker must do nothing and spend nothing.

        Args:
            held: the token of an attempt that already holds the job, to get that claim again.

        Raises:
            ValueError: if `job_id` is not a job id.
            RedisError: if the ledger cannot be reached; the worker may drop the hint, because the host repeats it.
        """
        run, key = split_job_id(job_id)
        if self._unanswered:
            self._withdraw()
        token = held or new_nonce()
        args: list[str | int] = [run_base(run), key.text(), self._worker, token, self._schema, "1" if held else ""]
        try:
            answer: Reply = self._claim(keys=[incarnation_key(run)], args=args)
        except RedisError as error:
            self._doubt(run, key, token, held)
            if type(error) is not ResponseError:
                raise
            return self._unreadable(job_id, error)  # the script read a value that no version writes
        if answer[0] != b"ok":
            refusal: Refusal = answer[0].decode()
            return refusal
        try:
            return self._granted(answer, key, token)
        except RedisError:
            self._doubt(run, key, token, held)
            raise
        except _Overtaken:
            self._doubt(run, key, token, held)
            self._withdraw()
            return "closed"
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            self._doubt(run, key, token, held)
            self._withdraw()
            return self._unreadable(job_id, error)

    def _doubt(self, run: str, key: JobKey, token: str, held: str) -> None:
        """Note a claim that the ledger may have granted, to withdraw it, unless the worker held it before."""
        if not held:
            self._unanswered.append((run, key, token))

    def asks_model(self, job_id: str) -> bool:
        """Return whether a job is open and asks a model.

        Raises:
            ValueError: if `job_id` is not a job id.
            RedisError: if the ledger cannot be reached.
        """
        run, key = split_job_id(job_id)
        incarnation = incarnation_of(self._client, run)
        if incarnation is None:
            return False
        raw = RunStore.of(self._client, run, incarnation).job(key.text())
        try:
            return raw is not None and bool(typed_json.decode(raw, _Asks).model)
        except msgspec.DecodeError:
            return False  # `claim` reports it

    def _unreadable(self, job_id: str, error: Exception) -> Refusal:
        log.warning("ledger.unreadable", what="a job", job=job_id[:200], error=str(error)[:200])
        return "unreadable"

    def _granted(self, answer: Reply, key: JobKey, token: str) -> Claim:
        _, incarnation, number, cap, raw_job, profile, memories, tick, in_source, recorded = answer
        job = typed_json.decode(raw_job, Job)
        if job.key != key:
            raise ValueError(f"the record of job {key.text()} belongs to job {job.key.text()}")
        version = (job.run, incarnation.decode(), job.facts)
        known = self._known.get(version) or self._read_facts(*version)
        asked = (key.kind, job.model)
        model, others = known.models.get(asked) or known.find_models(*asked)
        entries = {memories[i].decode(): memories[i + 1] for i in range(0, len(memories), 2)}
        case = build_case(
            job,
            typed_json.decode(profile, Profile) if profile else Profile(name=key.owner),
            known.world,
            lambda reads: map(read_entry, entries.get(reads.owner, ())),
        )
        return Claim(
            incarnation=version[1],
            token=token,
            number=int(number),
            cap=int(cap),
            tick=int(tick),
            case=case,
            model=model,
            others=others,
            response_cache=known.facts.response_cache,
            embeddings=known.facts.embeddings,
            templates=known.facts.templates,
            in_source=typed_json.decode(in_source, Result) if in_source else None,
            source_recorded=bool(recorded),
        )

    def _read_facts(self, run: str, incarnation: str, version: int) -> _KnownFacts:
        raw = RunStore.of(self._client, run, incarnation).field("facts", str(version))
        if raw is None:
            raise _Overtaken
        facts = typed_json.decode(raw, Facts)
        known = self._known[run, incarnation, version] = _KnownFacts(facts, facts.world(), {})
        return known

    def _withdraw(self) -> None:
        """Give back claims whose replies never arrived.

        The ledger may have granted them, and this worker's heartbeat would keep their leases alive although it does not
        run the jobs.
        """
        while self._unanswered:
            run, key, token = lost = self._unanswered.popleft()
            try:
                incarnation = incarnation_of(self._client, run)
                if incarnation is not None:
                    self._report(run, incarnation, key, token, b"", Cost())
            except RedisError as error:
                if type(error) is ResponseError:
                    continue  # a retry would not help with an unreadable value
                self._unanswered.append(lost)
                raise

    def beat(self, run: str, incarnation: str) -> None:
        """Record that this worker is alive."""
        self._beat(keys=[incarnation_key(run)], args=[run_base(run), incarnation, self._worker])

    def mark_trial(self, run: str, key: JobKey, *, was: TrialState, now: TrialState) -> bool:
        """Record the progress of a trial hint; return whether its state was `was`."""
        return bool(self._ready(keys=[incarnation_key(run)], args=[run_base(run), key.text(), was, now]))

    def settle(self, claim: Claim, result: Result | None, used: Cost, failure: str = "") -> Settled:
        """Report an attempt: stage its result if its token is the newest, and book its usage in any case.

        Args:
            failure: class of the failure if there is no result; the journal records it if no other attempt is in time.
        """
        payload = b""
        if result is not None:
            payload = msgspec.json.encode(msgspec.structs.replace(result, worker=self._worker))
        job, note = claim.job, b""
        # An answer of the flex tier or of a batch says nothing about the latency of others, so it moves no due tick.
        if result is not None and result.source == "llm" and job.model and result.service_tier not in (FLEX, BATCH):
            note = note_of(job.key, job.model, job.ahead, result.usage, claim.tick)
        return self._report(job.run, claim.incarnation, job.key, claim.token, payload, used, failure, note)

    def account(self, run: str, incarnation: str, key: JobKey, token: str, used: Cost) -> Settled:
        """Report the usage of an attempt whose result can no longer be used."""
        return self._report(run, incarnation, key, token, b"", used)

    def states(self, claims: Sequence[Claim]) -> list[str]:
        """Return the state of each job: open, staged or dead; "" if it has ended or its run does not exist."""
        with self._client.pipeline(transaction=False) as pipe:
            for claim in claims:
                store = RunStore.of(self._client, claim.job.run, claim.incarnation)
                pipe.hget(store.job_key(claim.job.key.text()), "state")
            return [state.decode() if state else "" for state in pipe.execute()]

    def _report(
        self,
        run: str,
        incarnation: str,
        key: JobKey,
        token: str,
        payload: bytes,
        used: Cost,
        failure: str = "",
        note: bytes = b"",
    ) -> Settled:
        args: list[str | int | bytes] = [run_base(run), incarnation, key.text(), token, payload]
        args += [used.calls, used.tokens, used.usd_micros, failure, note]
        settled: Settled = self._settle(keys=[incarnation_key(run)], args=args).decode()
        return settled


BACKOFF = (0.1, 0.5, 2.0, 5.0)  # seconds between tries


def until_reached(step: Callable[[], T], job: str) -> T:
    """Return what a step returns, which is the same when it is repeated; repeat it while the ledger is unreachable.

    Raises:
        RedisError: if the ledger stays unreachable; the step may have been carried out.
    """
    for pause in BACKOFF:
        try:
            return step()
        except RedisError as error:
            log.warning("ledger.away", job=job, error=type(error).__name__)
            time.sleep(pause)  # between two tries: a server that is away does not announce that it is back
    return step()


TRIAL_TICK = 0  # of trial hints; the first tick with jobs is 1
TRIAL_OWNER = "readiness"


def trial_hints(run: str, kinds: Sequence[str]) -> list[Job]:
    """Return a hint without a job for each kind; the answers show a host that workers take the kind."""
    return [_hint(run, JobKey(TRIAL_TICK, kind, TRIAL_OWNER, 0, 0)) for kind in kinds]


def endpoint_hints(run: str, kind: str, endpoints: Sequence[str]) -> list[Job]:
    """Return a trial hint for each of these endpoints, for workers that know this kind."""
    return [_hint(run, JobKey(TRIAL_TICK, kind, f"{TRIAL_OWNER}:{endpoint}", 0, 0)) for endpoint in endpoints]


def endpoint_of(key: JobKey) -> str | None:
    """Return the endpoint that a trial hint asks a worker to probe, or None."""
    return key.owner.partition(":")[2] or None


def is_trial_hint(key: JobKey) -> bool:
    """Return whether a message with this key is a trial hint rather than a job."""
    return key.tick == TRIAL_TICK and key.owner.partition(":")[0] == TRIAL_OWNER


def _hint(run: str, key: JobKey) -> Job:
    return Job(run=run, key=key, minute=0, due=0, reads=())
