"""The page Jobs: a run's jobs that match the filters in the page's address, and those that a request can change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.clock import clock_in_force, day_and_time
from cogitate.ops.formatting.job_life import format_shortfall
from cogitate.ops.operator_requests import cancellable_matches, retryable_matches
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery, JobRecord, JobState, Position
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import real_times_at
from cogitate.tasks.registry import kind_names

ROWS = 50  # per page
NUMBERS = {"from": "a tick", "to": "a tick", "minutes": "a number of minutes"}


def query_of(arguments: Mapping[str, str]) -> JobQuery:
    """Return the query in an address's arguments; empty ones count as absent.

    Raises:
        InputError: for an unknown argument or an invalid value; the message names it.
    """
    given: dict[str, str | int] = {name: value for name, value in arguments.items() if value}
    for name, what in NUMBERS.items():
        text = str(given.get(name, "0"))
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise InputError(f"the filter {name} is {what}, such as 15, not {text[:40]!r}")
        if name in given:
            given[name] = int(text)
    try:
        return typed_json.convert(given, JobQuery)
    except msgspec.ValidationError as error:
        raise InputError(f"invalid filter of jobs: {error}") from error


def job_list(client: Redis, run: str, query: JobQuery, start: Position) -> dict[str, Any]:
    """Return a page of a run's jobs, with game times by the clock in force.

    Raises:
        RunMissing: if the run does not exist.
    """
    history = JobHistory(client, run)
    page = history.page(query, start, most=ROWS)
    ends = {one.ended: clock_in_force().minute(one.ended) for one in page.jobs if one.ended}
    times = real_times_at(RunStore.open(client, run), ends)
    return {
        "jobs": [_row(one) | {"real": times.get(one.ended)} for one in page.jobs],
        "older": page.older.text() if page.older is not None else "",
        "since": page.since,
        "trimmed": history.trimmed,
        "filters": msgspec.to_builtins(query),
        "states": get_args(JobState),
        "kinds": kind_names(),
    }


def _row(one: JobRecord) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind,
        "owner": one.owner,
        "tick": one.tick,
        "state": one.state,
        "at": one.ended or one.due,
        "clock": day_and_time(clock_in_force().minute(one.ended or one.due)),
        "open": not one.ended,
        "source": one.source,
        "reason": one.reason,
        "failure": format_shortfall(one),
        "model": one.model,
        "worker": one.worker or ", ".join(one.workers),
    }


def matches(client: Redis, run: str, query: JobQuery) -> dict[str, Any]:
    """Return the number of matching jobs in words, and the ids of those that a request can repeat or cancel.

    Raises:
        RunMissing: if the run does not exist.
    """
    history = JobHistory(client, run)
    retryable, cancellable = retryable_matches(history, query), cancellable_matches(history, query)
    return {
        "found": retryable.text(),
        "retry": [f"{run}/{request.job}" for request in retryable.requests],
        "open": cancellable.text(),
        "cancel": [f"{run}/{key}" for key in cancellable.jobs],
    }
