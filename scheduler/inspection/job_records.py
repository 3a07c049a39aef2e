"""Records of jobs, and searches for them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from cogitate.memory.effects import Effect
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.lines import EndNote
from cogitate.scheduler.ledger.claims import Tried
from cogitate.tasks.job import Cost, JobKey, added

#: The state of an open job, the end of an ended one, or the reason why a job got no model's answer.
JobState = Literal[
    "open",
    "staged",
    "dead",
    "held",
    "applied",
    "refused",
    "stale",
    "cancelled",
    "deferred",
    "dropped",
    "denied",
    "too_slow",
    "late",
    "failed",
]


class JobQuery(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"first": "from", "last": "to"}
):
    """The filters of a search. None matches any job."""

    state: JobState | None = None
    kind: str | None = None
    owner: str | None = None
    worker: str | None = None  # that runs an attempt of the job, or staged its result
    model: str | None = None
    first: int | None = None  # earliest tick of the job's end or, for an open job, of its request
    last: int | None = None  # latest tick of the same
    minutes: int | None = None  # ended, or was requested, within so many real minutes

    def covers(self, tick: int) -> bool:
        """Return whether a tick is in the range of the query."""
        return (self.first is None or self.first <= tick) and (self.last is None or tick <= self.last)

    def admits(self, key: JobKey, state: str, reason: str) -> bool:
        """Return whether a job matches by kind, owner and state."""
        return (
            (self.state is None or self.state in (state, reason))
            and self.kind in (None, key.kind)
            and self.owner in (None, key.owner)
        )

    def admits_note(self, note: EndNote | None) -> bool:
        """Return whether a job with this note of its end may match; None: the end has no note."""
        if note is None:
            return self.worker is None and self.model is None
        asked = note.model == self.model or (not note.model and note.attempts > 0)
        return self.worker in (None, note.worker) and (self.model is None or asked)


EVERY_JOB = JobQuery()


class LateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that arrived after its job's end."""

    tick: int  # whose boundary applied or discarded it
    end: str  # applied: it replaced the heuristic's result; stale or dropped: there was nothing to replace
    source: str  # llm or cached
    usage: Cost
    saved: bool  # True: the answer came from an identical call and cost nothing
    model: str
    prompt: str  # content hash of the prompt's template
    failure: str  # the precondition that did not hold
    effects: tuple[Effect, ...]  # if `stale`: the effects that were not applied
    appended: tuple[int, ...]  # numbers of the entries that it appended
    tries: tuple[Tried, ...] = ()  # attempts of the worker that staged it


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about one job."""

    id: str
    kind: str
    owner: str
    tick: int  # of its request
    state: str  # open, staged, dead or held; afterwards its end, as in `HowEnded`
    decision: str  # admitted, heuristic, deferred or dropped
    refused: str  # the budget cell that refused it (window, scope and unit), "too_slow", "run_ends", or "" if admitted
    due: int  # the tick whose boundary applies it; 0 if deferred or dropped
    ended: int = 0  # the tick of its end; 0 while open
    successor: str  # id of the next trial of a deferred job, or of the heuristic job that replaces a cancelled one
    reason: str  # none, denied, too_slow, late, failed, dead or cancelled
    source: str = "none"  # llm, cached, heuristic or none
    reserved: Cost = Cost()  # for its first attempt
    cells: tuple[str, ...] = ()  # windows and scopes that it is charged to
    claims: int = 0  # attempts begun
    workers: tuple[str, ...] = ()  # workers with an attempt whose usage has not arrived
    usage: Cost = Cost()  # of its latest attempt
    settled: bool = True  # False: the usage is unknown so far, and the reservation is charged
    retried: Cost = Cost()  # usage of the attempts before the latest
    saved: bool = False  # True: the answer came from an identical call and cost nothing
    reasoning: int = 0  # reasoning tokens that the model reported, of the usage
    packed: int = 0  # jobs in the request; 0: only this one
    hybrid: bool = False  # whether retrieval compared vectors too, not only words
    embedded: int = 0  # tokens for vectors, of the usage
    service_tier: str = ""  # that answered, as the endpoint reports
    discount: int = 0  # micro-dollars saved against the standard service tier
    model: str = ""
    prompt: str = ""  # content hash of the prompt's template
    failure: str = ""  # class of a model's failure, or the precondition that did not hold
    empty: str = ""  # the cell whose retry pool had no room for another attempt
    # For "breaker_open": class of the failure that opened it; for "unusable:kind": the place; for a cancelled job: the
    # operator's reason.
    because: str = ""
    refusal: str = ""  # why its kind's heuristic result was unusable
    worker: str = ""  # that staged its result
    tries: tuple[Tried, ...] = ()  # attempts of that worker; others are only counted
    effects: tuple[Effect, ...] = ()  # if `stale`: the effects that were not applied
    appended: tuple[int, ...] = ()  # numbers of the entries that it appended
    late: LateAnswer | None = None

    @property
    def spent(self) -> Cost:
        """Return the known usage of all its attempts."""
        return added(Cost() if self.saved else self.usage, self.retried)

    def matches(self, query: JobQuery) -> bool:
        """Return whether the job matches a query."""
        return (
            query.admits(JobKey.parse(self.id.partition("/")[2]), self.state, self.reason)
            and query.covers(self.ended or self.tick)
            and query.worker in (None, self.worker, *self.workers)
            and query.model in (None, self.model)
        )


class Position(NamedTuple):
    """The start of a page: after `skip` matches among the open jobs (tick 0) or the jobs that ended at `tick`."""

    tick: int = 0
    skip: int = 0

    def text(self) -> str:
        return f"{self.tick}.{self.skip}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position that `text` names.

        Raises:
            InputError: if `text` is not a position.
        """
        parts = text.split(".")
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
            raise InputError(f"{text!r} is not a position in a list of jobs, such as 420.7: follow the link Older")
        return cls(*map(int, parts))


NEWEST = Position()


class JobPage(NamedTuple):
    """A page of a list of jobs."""

    jobs: list[JobRecord]
    older: Position | None  # start of the next page; None: there are no older jobs
    since: int  # first tick whose ends were read; the tick after the last if none were
