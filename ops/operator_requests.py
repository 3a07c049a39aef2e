"""Checks operators' requests before the command line or Flower's pages send them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import NamedTuple

from cogitate.memory.errors import quoted
from cogitate.ops.command_options import CAPSULE
from cogitate.scheduler.config.controls import (
    FULL,
    MOST_CANCELLED,
    CancelJobs,
    Control,
    Retry,
    SetCadence,
    SetLimit,
    SetMode,
)
from cogitate.scheduler.config.limits import MAX_LIMIT, LimitError, parse_limit_name
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery, JobRecord
from cogitate.scheduler.intake.checks import InputError, check_owner
from cogitate.scheduler.steering.operators import MOST_WAITING, ControlOutcome
from cogitate.scheduler.steering.throttle import KIND
from cogitate.tasks.job import JobKey, split_job_id

MOST_MATCHES = 1_000  # the most jobs examined for a request about all jobs that match
RETRYABLE = ("late", "failed", "dead", "denied", "too_slow", "cancelled")


def limit_request(name: str, value: float | None) -> SetLimit:
    """Return the request to set a limit; without a value, to lift it.

    Args:
        name: as in the table of limits; the unit "usd" is short for "usd_micros", with a value in dollars.

    Raises:
        ConfigurationError: for an unknown limit, or a value that is not a whole number of its unit.
    """
    try:
        unit = 1
        if name.endswith(".usd"):
            name, unit = f"{name}_micros", 1_000_000
        limit = None if value is None else _whole(name, value, unit)
        parsed = parse_limit_name(name)
        if parsed.owner:
            check_owner(parsed.owner)
    except (LimitError, InputError) as error:
        raise ConfigurationError(str(error)) from error
    return SetLimit(parsed.text(), limit)


def _whole(name: str, value: float, unit: int) -> int:
    """Return a limit in whole units; the least amount of money is one micro-dollar."""
    if not 0 <= value * unit <= MAX_LIMIT:  # NaN fails this, too
        raise LimitError(f"limit {name}: {value:g} is not between 0 and {MAX_LIMIT // unit}")
    if unit > 1:
        return max(round(value * unit), 1 if value else 0)
    if value != int(value):
        raise LimitError(f"limit {name}: {value:g} is not an integer; only a limit in usd may have a fraction")
    return int(value)


def cadence_request(run: str, kind: str, factor: float | None, *, pin: bool, auto: bool) -> SetCadence:
    """Return the request to set a kind's cadence.

    Args:
        factor: share of the usual cadence; None: unchanged.
        pin: keep the controller from changing the cadence.
        auto: return control to the controller.

    Raises:
        ConfigurationError: when the request is invalid.
    """
    if pin and auto:
        raise ConfigurationError("give --pin or --auto, not both")
    if factor is not None and not (factor == 0 or 1 / FULL <= factor <= 1):
        raise ConfigurationError(
            f"{factor:g} is not a share of the usual cadence: give {1 / FULL:g} to 1, or 0 for never"
        )
    if kind != KIND:
        if get_close_matches(kind, [KIND]):
            raise ConfigurationError(f"only {KIND} can be throttled, not {quoted(kind)}: did you mean {KIND}?")
        raise ConfigurationError(
            f"only {KIND} can be throttled; for others set a limit: cogitate budget {run} set day.kind:{kind}.calls N"
        )
    thousandths = None if factor is None else round(factor * FULL)
    return SetCadence(kind=kind, factor=thousandths, pinned=True if pin else False if auto else None)


def parse_job_id(text: str) -> tuple[str, JobKey]:
    """Return the run and the key in a job's id; the run may be the file of a capsule, in any folder.

    Raises:
        InputError: when the text is not the id of a job.
    """
    try:
        return split_job_id(text)
    except ValueError as error:
        file, _, key = text.partition(f"{CAPSULE}/")
        with suppress(ValueError):
            return f"{file}{CAPSULE}", JobKey.parse(key)
        raise InputError(str(error)) from error


def is_retryable(job: JobRecord) -> bool:
    """Return whether a job can be repeated with a model."""
    return bool(job.ended and job.reason in RETRYABLE and job.appended)


def retry_request(job: JobRecord) -> Retry:
    """Return the request to repeat a job with a model.

    Raises:
        InputError: when the job has nothing to repeat.
    """
    if not job.ended:
        raise InputError(f"job {job.id} has not ended yet: it is due at tick {job.due}")
    if job.reason not in RETRYABLE:
        raise InputError(
            f"job {job.id} has the requested result: only jobs that are {', '.join(RETRYABLE)} can be retried"
        )
    if not job.appended:
        raise InputError(f"job {job.id} ended {job.state} and left no entry to replace")
    return Retry(job=job.id.partition("/")[2], owner=job.owner, numbers=tuple(job.appended))


def retry_requests(history: JobHistory, keys: Sequence[JobKey]) -> tuple[list[Retry], list[str]]:
    """Return the requests to repeat jobs of one run, and the reasons why the other jobs cannot be repeated.

    Raises:
        JournalError: if the journal was altered.
    """
    ended = {job.id.partition("/")[2]: job for job in history.ended(set(keys))}
    requests, faults = [], []
    for key in keys:
        try:
            requests.append(retry_request(ended.get(key.text()) or history.find(key)))
        except InputError as error:
            faults.append(str(error))
    return requests, faults


class RetryableMatches(NamedTuple):
    """The newest jobs that match a query, and the requests to repeat them."""

    found: int
    more: bool  # whether there are older jobs, which were not examined
    retryable: int
    requests: list[Retry]  # newest first, at most `MOST_WAITING`

    def text(self) -> str:
        """Return how many jobs match, and how many of them can be repeated."""
        counted = f"Of the newest {self.found:,} matches" if self.more else f"Of {self.found:,} matches"
        if len(self.requests) == self.retryable:
            return f"{counted}, {self.retryable:,} can be retried."
        return f"{counted}, {self.retryable:,} can be retried, the newest {len(self.requests):,} at once."


def retryable_matches(history: JobHistory, query: JobQuery) -> RetryableMatches:
    """Return the newest matching jobs, and the requests to repeat those that can be repeated.

    Raises:
        JournalError: if the journal was altered.
    """
    page = history.page(query, most=MOST_MATCHES)
    retryable = [job for job in page.jobs if is_retryable(job)]
    requests = [retry_request(job) for job in retryable[:MOST_WAITING]]
    return RetryableMatches(len(page.jobs), page.older is not None, len(retryable), requests)


class CancellableMatches(NamedTuple):
    """The open jobs that match a query, and those of them that a request can cancel."""

    found: int
    cancellable: int
    jobs: list[str]  # keys, newest first, at most `MOST_CANCELLED`

    def text(self) -> str:
        """Return how many open jobs match, and how many of them can be cancelled."""
        counted = f"Of {self.found:,} open matches, {self.cancellable:,} can be cancelled"
        at_once = f", the newest {len(self.jobs):,} at once" if len(self.jobs) < self.cancellable else ""
        return f"{counted}{at_once}."


def cancellable_matches(history: JobHistory, query: JobQuery) -> CancellableMatches:
    """Return the open jobs that match, and those that can be cancelled: all but those that only await a heuristic."""
    matching = history.open(query)
    keys = [job.id.partition("/")[2] for job in matching if job.state != "held"]
    return CancellableMatches(len(matching), len(keys), keys[:MOST_CANCELLED])


def cancel_request(history: JobHistory, keys: Sequence[JobKey]) -> CancelJobs:
    """Return the request to cancel jobs of one run. The host reports those that have ended meanwhile.

    Raises:
        InputError: if a job does not exist, or there are too many.
        JournalError: if the journal was altered.
    """
    if len(keys) > MOST_CANCELLED:
        raise InputError(f"{len(keys):,} jobs cannot be cancelled at once: give at most {MOST_CANCELLED:,}")
    known = {job.id.partition("/")[2] for job in history.open()}
    for key in keys:
        if key.text() not in known:
            history.find(key)
    return CancelJobs(tuple(dict.fromkeys(key.text() for key in keys)))


def format_control(control: Control) -> str:
    """Return a short text of a request, such as "limit day.run.calls 200"."""
    match control:
        case SetMode():
            return {"paused": "pause", "running": "resume", "draining": "drain", "cancelled": "cancel"}[control.mode]
        case SetLimit():
            return f"limit {control.name} {'lifted' if control.value is None else f'{control.value:,}'}"
        case SetCadence():
            share = "" if control.factor is None else f" {control.factor / FULL:g}"
            pinned = {True: " pinned", False: " auto", None: ""}[control.pinned]
            return f"throttle {control.kind}{share}{pinned}"
        case Retry():
            return f"retry {control.job}"
        case CancelJobs():
            many = len(control.jobs)
            return f"cancel {control.jobs[0]}" if many == 1 else f"cancel {many:,} jobs"


def format_outcome(outcome: ControlOutcome) -> str:
    """Return the outcome of a request in words, as of now."""
    if outcome.state == "applied":
        role = "as job " if isinstance(outcome.control, Retry) else ""
        detail = f", {role}{outcome.detail}" if outcome.detail else ""
        return f"took effect at tick {outcome.tick:,}{detail}"
    if outcome.state == "refused":
        return f"refused at tick {outcome.tick:,}: {outcome.detail}"
    return f"waits; {outcome.detail}"
