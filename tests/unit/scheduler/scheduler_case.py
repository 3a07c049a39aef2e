"""A kind of job, open jobs and rows for the tests of the scheduler's parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.scheduler.budget.admission import Grant
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.latency.due_ticks import DueTicks
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.tasks.job import Cost, Job, JobKey, Latency, Reads, Request
from cogitate.tasks.kind import Case, Kind, Moment, OnDenied, Prompt

ANN, BOB = "agent:ann", "agent:bob"


def seen(text: str, minute: int = 0) -> Entry:
    """An observation."""
    return Entry(type="observation", text=text, minute=minute)


@dataclass
class Thinker(Kind):
    """A kind whose cadence a test says."""

    name: str
    order: int = 10
    on_denied: OnDenied = "heuristic"
    when: Callable[[Moment], bool] = lambda moment: False
    next: Callable[[Moment], int | None] = lambda moment: None
    latency: Latency = 1
    prompt_cap: int = 0
    output_cap: int = 10

    def due(self, moment: Moment) -> Iterable[Request]:
        return [Request(kind=self.name, owner=moment.owner)] if self.when(moment) else []

    def wake(self, moment: Moment) -> int | None:
        return self.next(moment)

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        raise AssertionError("no test asks a model for this kind")

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        raise AssertionError("no test asks a model for this kind")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        return (Append(owner=case.job.key.owner, entry=Entry(type="reflection", text="a guess", minute=0)),)


def fixed_ticks(ticks: int = 1) -> DueTicks:
    """Due ticks that follow no model's latency."""
    return DueTicks(
        fixed=lambda kind: ticks, bounds_of=lambda kind: None, models_of=lambda kind: (), known=Latencies(), jobs={}
    )


def open_job(
    kind: str = "think",
    owner: str = ANN,
    *,
    due: int = 5,
    tick: int = 1,
    ordinal: int = 0,
    admitted: bool = True,
    reads: Sequence[Reads] = (),
    model: str = "",
) -> OpenJob:
    """An open job that reserved one call and 30 tokens."""
    job = Job(
        run="r",
        key=JobKey(tick, kind, owner, ordinal, 0),
        minute=0,
        due=due,
        reads=tuple(reads) or (Reads(owner, 99),),
        reserved=Cost(calls=1, tokens=30),
        model=model,
    )
    return OpenJob(job=job, grant=Grant(key=job.key, reserved=job.reserved, cells=()) if admitted else None)
