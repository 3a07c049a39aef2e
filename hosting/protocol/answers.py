"""Answers to the messages of hosts, and refusals: one form for every error, with a code and a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel, ValidationError

from cogitate.memory.errors import CogitateError, InputError, UsageError, first_fault, text_of
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.journal.ends import Change, JobEnd, ends_of
from cogitate.scheduler.journal.history import changes_of
from cogitate.scheduler.journal.lines import JournalError, ReadLine
from cogitate.scheduler.ledger.errors import (
    Fenced,
    LedgerError,
    LedgerUnavailable,
    NewerSchema,
    OlderSchema,
    RunExists,
    RunHeld,
    RunMissing,
    RunRolledBack,
)
from cogitate.scheduler.steering.operators import RunCancelled, TooManyRequests
from cogitate.scheduler.tick.world_calls import NoSuchOwner


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
    """The answer to a question about a memory."""

    owner: str
    minute: int  # game time of the boundary that the memory reflects
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
    """A run that this host has left, and can open again."""

    run: str
    tick: int
    digest: str


class Problem(BaseModel):
    """The reason for a refusal. No part of the refused message takes effect."""

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


SAY_AGAIN = "correct it and send the message again; the run is unchanged"
CORRECT_OR_CREATE = 'correct its name, or create it with "exist": "create"'
OPEN_AGAIN = 'open the run again with "exist": "resume"'
JOIN = 'correct its name, or add it in "joins" of a turn or in "owners" when the run begins'


class Refusal(CogitateError):
    """A refused message, no part of which takes effect."""

    def __init__(self, status: int, code: str, message: str, do: str, expected_tick: int | None = None) -> None:
        super().__init__(message)
        self.status = status  # the HTTP status
        self.problem = Problem(code=code, message=str(self), do=do, expected_tick=expected_tick)


class _Rule(NamedTuple):
    error: type[BaseException]
    status: int
    code: str
    do: str


_RULES = (  # the first match applies
    _Rule(ConfigurationError, 422, "setting_refused", SAY_AGAIN),
    _Rule(InputError, 422, "input_refused", SAY_AGAIN),
    _Rule(RunExists, 409, "run_exists", 'choose another name, or give "exist": "resume" or "exist": "replace"'),
    _Rule(RunHeld, 409, "run_held", 'wait until that host has left it, or give "take_over": true'),
    _Rule(RunMissing, 404, "run_missing", CORRECT_OR_CREATE),
    _Rule(RunCancelled, 409, "run_cancelled", "start a run with another name"),
    _Rule(TooManyRequests, 429, "too_many_requests", "post a tick, which takes the waiting requests"),
    _Rule(Fenced, 409, "fenced", "stop: another host has taken this run over"),
    _Rule(RunRolledBack, 409, "rolled_back", OPEN_AGAIN),
    _Rule(LedgerUnavailable, 503, "redis_unavailable", f"when Redis is back, {OPEN_AGAIN}"),
    _Rule(NewerSchema, 409, "newer_schema", "upgrade Cogitate"),
    _Rule(OlderSchema, 409, "older_schema", "finish the run with the version that wrote it, or delete it"),
    _Rule(JournalError, 410, "tick_unreadable", "continue with the run's next tick"),
    _Rule(LedgerError, 409, "ledger_refused", OPEN_AGAIN),
    _Rule(UsageError, 409, "not_now", OPEN_AGAIN),
    _Rule(CogitateError, 500, "failed", "read the log of the gateway"),
)


def refusal_of(error: BaseException) -> Refusal:
    """Convert an error into the refusal that a host gets."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ValidationError):
        return malformed(first_fault(error))
    if isinstance(error, NoSuchOwner):
        return Refusal(422, "input_refused", error.missing, JOIN)
    for rule in _RULES:
        if isinstance(error, rule.error):
            return Refusal(rule.status, rule.code, text_of(error), rule.do)
    return Refusal(500, "bug", f"this is a bug in cogitate: {type(error).__name__}", "read the log of the gateway")


def malformed(message: str) -> Refusal:
    """Build the refusal of a message that cannot be read."""
    return Refusal(422, "malformed", message, SAY_AGAIN)


def out_of_order(run: str, tick: int, expected: int) -> Refusal:
    """Build the refusal of a tick that is not the next one."""
    return Refusal(
        409, "out_of_order", f"run {run!r} expects tick {expected}, not {tick}", f"post tick {expected}", expected
    )


def another_turn(run: str, tick: int, expected: int) -> Refusal:
    """Build the refusal of a tick that was committed with another turn."""
    return Refusal(
        409,
        "another_turn",
        f"tick {tick} of run {run!r} was committed with another turn",
        f"post tick {expected}; a restarted host must repeat its earlier turns, or begin from its checkpoint",
        expected,
    )


def missing(run: str) -> Refusal:
    """Build the refusal of a message about a run that does not exist."""
    return Refusal(404, "run_missing", f"there is no run {run!r}", CORRECT_OR_CREATE)


def not_open(run: str) -> Refusal:
    """Build the refusal of a message about a run that its host does not have open."""
    return Refusal(409, "not_open", f"run {run!r} is not open", OPEN_AGAIN)
