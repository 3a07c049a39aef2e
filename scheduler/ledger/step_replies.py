"""The ledger's replies to a host's steps, as the host reads them. Unreadable values are reported and skipped.

Each part of the engine reads what the ledger shows for it (`BoundaryInput.shown`).
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
    """A job that is due, as the ledger has it."""

    key: JobKey
    state: JobState
    result: Result | None  # staged
    claims: int
    arrival: int = 0  # staged as the n-th result of the run; 0: not staged
    failure: str = ""  # class of the failure of the last attempt that had no result
    empty: str = ""  # the cell whose retry pool had no room for another attempt


class Attempt(msgspec.Struct, frozen=True):
    """An attempt whose usage has not arrived."""

    job: str
    worker: str
    tick: int
    batched: int = 0  # 1 while a batch holds its request: then it has no lease


class BoundaryInput(NamedTuple):
    """Everything that the ledger shows the host for a boundary. No boundary has taken any of it yet."""

    rows: list[DueJob]
    controls: Sequence[ControlRequest | None] = ()  # requests of operators
    timed: Sequence[Timed | None] = ()  # the times at which answers arrived
    claimed: Mapping[JobKey, int] = {}  # the ticks at which their jobs were claimed, where noted
    overdue: Sequence[Overdue] = ()  # of the jobs that end late here, those that a worker has; and guesses to take back
    shown: Mapping[str, Sequence[bytes]] = {}  # for parts of the engine, by name of a hash: field, value, …


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
    """Return the due jobs. One whose result cannot be read is dead, so its heuristic applies."""
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
    """Read what a worker staged, perhaps one with another version of the kind.

    Raises:
        ValueError: when it cannot be read, or asks for what cannot be committed.
    """
    result = _RESULT.decode(raw)
    check_bounds(result.effects)
    return result


def read_attempts(raw: list[bytes]) -> dict[str, Attempt]:
    """Return the readable attempts by token. The others have no lease to watch and last until their job is due."""
    found = {}
    for i in range(0, len(raw), 2):
        try:
            found[raw[i].decode()] = _ATTEMPT.decode(raw[i + 1])
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="an attempt", error=str(error)[:200])
    return found


class Unreadable(NamedTuple):
    """A value of the ledger that cannot be read."""

    what: str
    name: Literal["key", "job"]
    of: str  # its key, or its job
    error: str

    @classmethod
    def at(cls, what: str, key: bytes, error: Exception) -> Unreadable:
        """Return a value that is known by its key alone."""
        return cls(what, "key", key[:MOST_CELL].decode("utf-8", "backslashreplace"), str(error)[:200])


def read_shown(
    raw: Sequence[bytes], what: str, read: Callable[[str, bytes], T], unreadable: list[Unreadable]
) -> list[T]:
    """Return the values of a hash that the ledger shows. An unreadable one stays there, and is added to `unreadable`.

    Args:
        raw: field, value, …
        read: returns a field's value; it raises ValueError when it cannot.
    """
    found = []
    for field, value in zip(raw[::2], raw[1::2], strict=True):
        try:
            found.append(read(field.decode(), value))
        except (ValueError, RecursionError) as error:
            unreadable.append(Unreadable.at(what, field, error))
    return found


class UnreadableLog:
    """Warns once of each unreadable value: it stays in the ledger, so every boundary shows it again."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def warn(self, found: Iterable[Unreadable], **context: object) -> None:
        """Warn of the values that are new."""
        for one in found:
            if (one.what, one.of) not in self._told:
                self._told.add((one.what, one.of))
                log.warning("ledger.unreadable", what=one.what, error=one.error, **{one.name: one.of}, **context)
