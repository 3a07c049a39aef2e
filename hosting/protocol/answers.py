"""Answers to the messages of hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
from pydantic import BaseModel

from cogitate.hosting.protocol.messages import Turn
from cogitate.scheduler.journal.ends import JobEnd, ends_of
from cogitate.scheduler.journal.history import Change, changes_of
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.tasks.job import JobKey, job_id


class Opened(BaseModel):
    """The position of an open run. The world goes on from `checkpoint`, or as it is at `tick`."""

    run: str
    tick: int  # the last one that is committed
    next: int  # the one to post
    minute: int  # game time of the last boundary
    minutes_per_tick: int
    digest: str
    over: bool  # no further tick comes
    owners: list[str]
    checkpoint: str | None  # the world's last one
    checkpoint_tick: int


class Applied(BaseModel):
    """A change that took effect: an effect, and the memory that it wrote, if it wrote one."""

    owner: str
    kind: str  # of the job that asked for it
    source: str  # "llm", "cached" or "heuristic"
    reason: str  # why it is not what a model said; "none": it is
    effect: dict[str, Any]  # with its `type`; a "tell" has `topic` and `data`
    entry: dict[str, Any] | None


class End(BaseModel):
    """The end of a job."""

    id: str  # run/tick/kind/owner/ordinal/trial
    kind: str
    owner: str
    end: str  # "applied", "refused", "stale", "cancelled", "dropped" or "deferred"
    source: str  # "llm", "cached", "heuristic", or "none": no effects were made
    reason: str  # why it is not what a model said; "none": it is
    why: str  # in words, or as a class: what was refused, which limit refused it, how the model failed
    next: str  # of a deferred one: the id of the job that tries again


class Ticked(BaseModel):
    """A tick that is committed. The same tick posted again gets the same answer."""

    run: str
    tick: int
    minute: int  # game time
    applied: list[Applied]  # what took effect at its boundary
    ended: list[End]  # the jobs that have ended with it
    requested: list[str]  # the ids of the jobs that the turn requests, in its order; in the events of a run none
    digest: str  # of the run at this tick
    over: bool  # no further tick comes


class Memories(BaseModel):
    """The findings of a question to a memory."""

    owner: str
    minute: int  # game time of the boundary that it is as of
    found: Any


class Steered(BaseModel):
    """The outcome of a request to steer: "waits" until the next tick is committed."""

    state: str  # "applied", "refused" or "waits"
    detail: str


class Status(BaseModel):
    """A run in figures, as `cogitate status --json` prints it."""

    run: str
    summary: dict[str, Any]


class Closed(BaseModel):
    """A run that this host has left; it stays, to be opened again."""

    run: str
    tick: int
    digest: str


class Problem(BaseModel):
    """The reason of a refusal. Nothing of what was refused has happened."""

    code: str  # what a program looks at
    message: str  # what is wrong, with which value
    do: str  # what to do
    expected_tick: int | None = None  # the tick to post, where another one was


def ticked(run: str, line: ReadLine, *, over: bool) -> Ticked:
    """Return the answer to a tick, as its line of the journal tells it."""
    core = line.core
    return Ticked(
        run=run,
        tick=core.tick,
        minute=core.minute,
        applied=applied(changes_of(line)),
        ended=ends(ends_of(run, line)),
        requested=[],
        digest=line.digest,
        over=over,
    )


def applied(changes: Iterable[Change]) -> list[Applied]:
    """Return changes as a host gets them."""
    return [
        Applied(
            owner=change.owner,
            kind=change.kind,
            source=change.source,
            reason=change.reason,
            effect=plain(change.effect),
            entry=None if change.entry is None else plain(change.entry),
        )
        for change in changes
    ]


def ends(ended: Iterable[JobEnd]) -> list[End]:
    """Return the ends of jobs as a host gets them."""
    return [End(**one._asdict()) for one in ended]


def requested(run: str, tick: int, turn: Turn) -> list[str]:
    """Return the ids of the jobs that a turn requests, as `loop.request` returns them."""
    slots: Counter[tuple[str, str]] = Counter()
    ids = []
    for wanted in turn.requests:
        ids.append(job_id(run, JobKey(tick, wanted.kind, wanted.owner, slots[wanted.kind, wanted.owner], 0)))
        slots[wanted.kind, wanted.owner] += 1
    return ids


def plain(value: object) -> Any:
    """Return a value in the types of JSON."""
    return msgspec.to_builtins(value)
