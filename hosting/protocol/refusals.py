"""Refusals of messages: one form for every error, with a code for programs and a remedy for people."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError

from cogitate.hosting.protocol.answers import Problem
from cogitate.memory.errors import CogitateError, InputError, UsageError, first_fault, text_of
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.journal.lines import JournalError
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

SAY_AGAIN = "correct it and send the message again; the run is as it was"
CORRECT_OR_CREATE = 'correct its name, or create it with "exist": "create"'
OPEN_AGAIN = 'open the run again with "exist": "resume"'
JOIN = 'correct its name, or add it in "joins" of a turn or in "owners" when the run begins'


class Refusal(CogitateError):
    """A message is refused, and no part of it took effect."""

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
    _Rule(RunExists, 409, "run_exists", 'take another name, or give "exist": "resume" or "exist": "replace"'),
    _Rule(RunHeld, 409, "run_held", 'wait until that host has left it, or give "take_over": true'),
    _Rule(RunMissing, 404, "run_missing", CORRECT_OR_CREATE),
    _Rule(RunCancelled, 409, "run_cancelled", "begin a run with another name"),
    _Rule(TooManyRequests, 429, "too_many_requests", "post a tick, which takes the requests that wait"),
    _Rule(Fenced, 409, "fenced", "stop: another host has taken this run over"),
    _Rule(RunRolledBack, 409, "rolled_back", OPEN_AGAIN),
    _Rule(LedgerUnavailable, 503, "redis_unavailable", f"when Redis is back, {OPEN_AGAIN}"),
    _Rule(NewerSchema, 409, "newer_schema", "upgrade Cogitate"),
    _Rule(OlderSchema, 409, "older_schema", "finish the run with the version that wrote it, or delete it"),
    _Rule(JournalError, 410, "tick_unreadable", "go on with the run's next tick"),
    _Rule(LedgerError, 409, "ledger_refused", OPEN_AGAIN),
    _Rule(UsageError, 409, "not_now", OPEN_AGAIN),
    _Rule(CogitateError, 500, "failed", " read the log of the gateway"),
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
    return Refusal(500, "bug", f"this is a bug in cogitate: {type(error).__name__}", " read the log of the gateway")


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
        f"tick {tick} of run {run!r} is committed, and what was reported for it differs from this",
        f"go on with tick {expected}; a host that starts anew must do what it did, or begin from its checkpoint",
        expected,
    )


def missing(run: str) -> Refusal:
    """Build the refusal of a message about a run that does not exist."""
    return Refusal(404, "run_missing", f"there is no run {run!r}", CORRECT_OR_CREATE)


def not_open(run: str) -> Refusal:
    """Build the refusal of a message about a run that its host does not have open."""
    return Refusal(409, "not_open", f"run {run!r} is not open", OPEN_AGAIN)
