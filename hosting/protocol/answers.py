"""Answers to the messages of hosts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from pydantic import BaseModel

from cogitate.scheduler.journal.ends import JobEnd, ends_of
from cogitate.scheduler.journal.history import Change, changes_of
from cogitate.scheduler.journal.lines import ReadLine


class Opened(BaseModel):
    """The position of an open run. The world continues from `checkpoint`, or from its state at `tick`."""

    run: str
    tick: int  # the last committed tick
    next: int  # the tick to post
    minute: int  # game time of the last boundary
    seconds_per_tick: int
    digest: str
    over: bool  # the run has no further ticks
    owners: list[str]
    checkpoint: str | None  # the world's last checkpoint
    checkpoint_tick: int


class Applied(BaseModel):
    """A change that took effect: an effect, and the memory that it wrote, if any."""

    owner: str
    kind: str  # of the job that caused it
    source: str  # "llm", "cached" or "heuristic"
    reason: str  # why no model's answer was used; "none": one was
    effect: dict[str, Any]  # with its `type`; "tell" has `topic` and `data`
    entry: dict[str, Any] | None


class End(BaseModel):
    """The end of a job."""

    id: str  # run/tick/kind/owner/ordinal/trial
    kind: str
    owner: str
    end: str  # "applied", "refused", "stale", "cancelled", "dropped" or "deferred"
    source: str  # "llm", "cached", "heuristic", or "none": no effects were made
    reason: str  # why no model's answer was used; "none": one was
    why: str  # text or class: what was refused, which limit refused it, how the model failed
    next: str  # for a deferred job: the id of its successor


class Ticked(BaseModel):
    """A committed tick. The same tick posted again gets the same answer."""

    run: str
    tick: int
    minute: int  # game time
    applied: list[Applied]  # changes that took effect at its boundary
    ended: list[End]  # jobs that ended with it
    requested: list[str]  # ids of the jobs that the turn requests, in its order; empty in a run's event stream
    digest: str  # of the run at this tick
    over: bool  # the run has no further ticks


class Memories(BaseModel):
    """The result of a question to a memory."""

    owner: str
    minute: int  # game time of the boundary that the result is as of
    found: Any


class Steered(BaseModel):
    """The outcome of a steering request: "waits" until the next tick is committed."""

    state: str  # "applied", "refused" or "waits"
    detail: str


class Status(BaseModel):
    """A run's figures, as `cogitate status --json` prints them."""

    run: str
    summary: dict[str, Any]


class Closed(BaseModel):
    """A run that this host has left and can open again."""

    run: str
    tick: int
    digest: str


class Problem(BaseModel):
    """The reason for a refusal. No part of the refused message took effect."""

    code: str  # for programs
    message: str  # what is wrong, with which value
    do: str  # what to do
    expected_tick: int | None = None  # the tick to post, if another one was posted


def ticked(run: str, line: ReadLine, *, over: bool) -> Ticked:
    """Build the answer to a tick from its line of the journal."""
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
    """Convert changes to the protocol's form."""
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
    """Convert the ends of jobs to the protocol's form."""
    return [End(**{name: getattr(one, name) for name in End.model_fields}) for one in ended]


def plain(value: object) -> Any:
    """Convert a value to JSON types."""
    return msgspec.to_builtins(value)
