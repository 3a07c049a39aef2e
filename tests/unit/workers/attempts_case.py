"""Attempts at jobs with calls that come to what a test says."""

from __future__ import annotations

import time
from typing import Any

from fakeredis import FakeRedis

from cogitate.memory.profile import Profile
from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, Prompt, WorldFacts
from cogitate.tasks.registry import register
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.attempt import AttemptOutcome, Attempts
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.candidates import NO_ADJUSTMENT, Adjustment
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from tests.unit.tasks.own_kind_case import Own, Said

RESERVED, USED = Cost(calls=1, tokens=500), Cost(calls=1, tokens=120)
JOB = Job(
    run="town",
    key=JobKey(3, "hum", "agent:ada", 0, 0),
    minute=3,
    due=9,
    reads=(),
    model="default",
    prompt_cap=1_000,
    output_cap=50,
    reserved=RESERVED,
)
OURS = Model(name="default", model="m", endpoint="ours")


class Calls:
    """Calls that come to what a test says."""

    def __init__(self, gives: ModelAnswer | Refused | Exception) -> None:
        self.gives = gives
        self.unusable: list[str] = []

    def count_unusable(self, model: Model) -> None:
        self.unusable.append(model.name)

    def context_of(self, model: Model) -> int:
        return 0

    def ask(self, call: Call) -> ModelAnswer | Refused:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


def attempt(
    gives: ModelAnswer | Refused | Exception,
    *,
    number: int,
    seconds: float = 60.0,
    adjustment: Adjustment = NO_ADJUSTMENT,
    record: bool = False,
) -> AttemptOutcome:
    """Return what comes of a claim of four."""
    calls: Any = Calls(gives)
    attempts = Attempts(FakeRedis(), Settings(endpoints={"ours": Endpoint()}, record=record), calls)
    case = Case(job=JOB, profile=Profile(name="Ada"), world=WorldFacts(), memories={"agent:ada": []})
    claim = Claim(incarnation="now", token="t", number=number, cap=4, case=case, model=OURS)
    return attempts.make(claim, time.monotonic() + seconds, adjustment)


def failed(kind: FailureKind, *, retry_after: float | None = None) -> ModelAnswer:
    return ModelAnswer(usage=USED, failure=Failure(kind=kind, retry_after=retry_after))


class Asked(Calls):
    """Calls that note the prompts they are given."""

    def __init__(self, gives: ModelAnswer | Refused | Exception) -> None:
        super().__init__(gives)
        self.prompts: list[Prompt] = []
        self.models: list[Model] = []
        self.caps: list[int] = []
        self.context = 0

    def context_of(self, model: Model) -> int:
        return self.context

    def ask(self, call: Call) -> ModelAnswer | Refused:
        self.prompts.append(call.prompt)
        self.models.append(call.model)
        self.caps.append(call.output_cap)
        return super().ask(call)


class Remembers(Own):
    """A kind whose prompt shows as much of a hundred memories as it may."""

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        shown = " ".join(["tree"] * int(100 * memory_share))
        return Prompt(system="Hum.", user=f"A tune. {shown}", answer=Said, version="1")


class Trying:
    """A worker's attempts at jobs of one kind."""

    def __init__(self, gives: ModelAnswer | Refused | Exception, kind: Own | None = None) -> None:
        register(kind or Own(output_cap=50))
        self.calls: Any = Asked(gives)
        self.attempts = Attempts(FakeRedis(), Settings(endpoints={"ours": Endpoint()}), self.calls)

    def make(
        self,
        adjustment: Adjustment = NO_ADJUSTMENT,
        *,
        job: Job = JOB,
        number: int = 1,
        model: Model | None = OURS,
    ) -> AttemptOutcome:
        case = Case(job=job, profile=Profile(name="Ada"), world=WorldFacts(), memories={"agent:ada": []})
        claim = Claim(incarnation="now", token="t", number=number, cap=4, case=case, model=model)
        return self.attempts.make(claim, time.monotonic() + 60.0, adjustment)


def unusable(kind: FailureKind, text: str = '{"zither": 1}') -> ModelAnswer:
    return ModelAnswer(usage=USED, failure=Failure(kind=kind), text=text)
