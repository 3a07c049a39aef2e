"""Parse the ledger's replies to a host's steps. Unreadable values are reported and skipped.

Each part of the engine parses its own values (`BoundaryInput.shown`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.intake.effects import check_bounds
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import JobKey

T = TypeVar("T")
JobState = Literal["open", "staged", "dead", "held"]

log = structlog.get_logger()


class DueJob(NamedTuple):
    """The ledger's row of a due job."""

    key: JobKey
    state: JobState
    result: Result | None  # None: not staged
    claims: int
    arrival: int = 0  # ordinal of the result among all staged results of the run; 0: not staged
    failure: str = ""  # class of the failure of the last attempt that had no result
    empty: str = ""  # the cell whose retry pool had no room for another attempt


class Attempt(msgspec.Struct, frozen=True):
    """An attempt whose usage has not arrived."""

    job: str
    worker: str
    tick: int
    batched: int = 0  # 1 while its request is in a batch; then it has no lease


class BoundaryInput(NamedTuple):
    """The ledger's values for a boundary that no earlier boundary has taken."""

    rows: list[DueJob]
    controls: Sequence[ControlRequest | None] = ()  # operators' requests
    timed: Sequence[Timed | None] = ()  # the times at which answers arrived
    claimed: Mapping[JobKey, int] = {}  # the ticks at which their jobs were claimed, if noted
    overdue: Sequence[Overdue] = ()  # jobs that end late here while a worker runs them, and guesses to withdraw
    shown: Mapping[str, Sequence[bytes]] = {}  # values for the engine's parts, by hash: alternating fields and values


class Collected(NamedTuple):
    """The reply to `collect`."""

    boundary: BoundaryInput
    attempts: dict[str, Attempt]  # by token
    beats: dict[str, int]  # by worker
    unclaimed: list[str]  # job keys


class Advanced(NamedTuple):
    """The reply to `advance`."""

    boundary: BoundaryInput  # of the next tick
    deleted: list[str]  # windows


MOST_FAILURE = 64  # characters of a class of failures
MOST_CELL = 200  # of a cell's window, scope and unit

_STATES: Mapping[str, JobState] = {state: state for state in get_args(JobState)}
_COLUMNS = 7  # of a row
_RESULT = typed_json.decoder(Result)
_ATTEMPT = typed_json.decoder(Attempt)


def read_rows(raw: list[bytes]) -> list[DueJob]:
    """Return the due jobs. A job with an unreadable result counts as dead, so its heuristic applies."""
    rows = []
    for i in range(0, len(raw), _COLUMNS):
        try:
            key = JobKey.parse(raw[i].decode())
        except ValueError as error:
            log.warning("ledger.unreadable", what="a job that is due", error=str(error)[:200])
            continue
        state = _STATES.get(raw[i + 1].decode("ascii", "replace"), "dead")
        result, claims, arrival = None, 0, 0
        try:
            claims, arrival = int(raw[i + 3]), int(raw[i + 4])
            result = read_result(raw[i + 2]) if state == "staged" else None
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="a result", job=key.text(), error=str(error)[:200])
            state = "dead"
        failure = raw[i + 5].decode("ascii", "replace")[:MOST_FAILURE]
        empty = raw[i + 6].decode("utf-8", "replace")[:MOST_CELL]
        rows.append(DueJob(key, state, result, claims, arrival, failure, empty))
    return rows


def read_result(raw: bytes) -> Result:
    """Decode and validate a staged result; its worker may have another version of the kind.

    Raises:
        ValueError: if it is unreadable, or its effects are invalid.
    """
    result = _RESULT.decode(raw)
    check_bounds(result.effects)
    return result


def read_attempts(raw: list[bytes]) -> dict[str, Attempt]:
    """Return the readable attempts by token. The others have no lease to watch, so they last until the due tick."""
    attempts = {}
    for i in range(0, len(raw), 2):
        try:
            attempts[raw[i].decode()] = _ATTEMPT.decode(raw[i + 1])
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="an attempt", error=str(error)[:200])
    return attempts


class Unreadable(NamedTuple):
    """An unreadable value of the ledger."""

    what: str  # description of the value
    name: Literal["key", "job"]  # what `of` is
    of: str  # the value's key or job
    error: str

    @classmethod
    def at(cls, what: str, key: bytes, error: Exception) -> Unreadable:
        """Return an unreadable value that is identified by its key."""
        return cls(what, "key", key[:MOST_CELL].decode("utf-8", "backslashreplace"), str(error)[:200])


def read_shown(
    raw: Sequence[bytes], what: str, read: Callable[[str, bytes], T], unreadable: list[Unreadable]
) -> list[T]:
    """Decode the values of a hash in a reply. An unreadable value stays in the ledger and is added to `unreadable`.

    Args:
        raw: alternating fields and values.
        what: description of a value.
        read: decodes a field's value, or raises ValueError.
    """
    values = []
    for field, value in zip(raw[::2], raw[1::2], strict=True):
        try:
            values.append(read(field.decode(), value))
        except (ValueError, RecursionError) as error:
            unreadable.append(Unreadable.at(what, field, error))
    return values


class UnreadableLog:
    """Warns about each unreadable value once; the value stays in the ledger, so every reply contains it again."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def warn(self, unreadable: Iterable[Unreadable], **context: object) -> None:
        """Warn about the new values among these."""
        for value in unreadable:
            if (value.what, value.of) not in self._logged:
                self._logged.add((value.what, value.of))
                subject = {value.name: value.of}
                log.warning("ledger.unreadable", what=value.what, error=value.error, **subject, **context)
