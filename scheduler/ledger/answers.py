"""The ledger's answers to a host's steps, as the host reads them. What cannot be read is reported and passed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.intake.effects import check_bounds
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import Cost, JobKey

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


class LateAnswer(NamedTuple):
    """An answer that came after its job's end."""

    key: JobKey
    result: Result | None  # None: it cannot be read


class Learned(NamedTuple):
    """The final usage of an ended job that admission counts in full."""

    key: JobKey
    usage: Cost  # of its newest attempt; nothing if there was none
    saved: bool  # nothing was spent: the usage is that of an identical call
    at: int  # tick that was committed when it became known


class RetriedAttempt(NamedTuple):
    """The usage of an attempt that a newer one of its job has superseded."""

    token: str
    key: JobKey
    used: Cost


class BoundaryInput(NamedTuple):
    """Everything that the ledger shows the host for a boundary. No boundary has taken any of it yet."""

    rows: list[DueJob]
    controls: Sequence[ControlRequest | None] = ()  # requests of operators
    late_answers: Sequence[LateAnswer] = ()  # answers that came after their jobs' ends
    learned: Sequence[Learned] = ()  # the costs of ended jobs
    timed: Sequence[Timed | None] = ()  # the times at which answers were there
    claimed: Mapping[JobKey, int] = {}  # the ticks at which their jobs were claimed, as far as it was noted
    overdue: Sequence[Overdue] = ()  # of the jobs that end late here, those that a worker has; and guesses to take back
    retries: Sequence[RetriedAttempt] = ()  # the usage of earlier attempts, which no tick has journalled


class Collected(NamedTuple):
    """The answer to `collect`."""

    boundary: BoundaryInput
    attempts: dict[str, Attempt]  # by token
    beats: dict[str, int]  # by worker
    unclaimed: list[str]  # job keys


class Advanced(NamedTuple):
    """The answer to `advance`."""

    boundary: BoundaryInput  # of the next tick
    deleted: list[str]  # windows


MOST_FAILURE = 64  # characters of a class of failures
MOST_CELL = 200  # of a cell's window, scope and unit

_STATES: Mapping[str, JobState] = {state: state for state in get_args(JobState)}
_COLUMNS = 7  # of a row
_RESULT = typed_json.decoder(Result)
_ATTEMPT = typed_json.decoder(Attempt)


class _Correction(msgspec.Struct):
    usage: tuple[int, int, int]
    at: int
    saved: bool


class _Retry(msgspec.Struct):
    job: str
    used: tuple[int, int, int]


_CORRECTION = typed_json.decoder(_Correction)
_RETRY = typed_json.decoder(_Retry)


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
            result = _read_result(raw[i + 2]) if state == "staged" else None
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="a result", job=key.text(), error=str(error)[:200])
            state = "dead"
        failure = raw[i + 5].decode("ascii", "replace")[:MOST_FAILURE]
        empty = raw[i + 6].decode("utf-8", "replace")[:MOST_CELL]
        rows.append(DueJob(key, state, result, claims, arrival, failure, empty))
    return rows


def _read_result(raw: bytes) -> Result:
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


class ReportedValues(set[tuple[str, bytes]]):
    """The unreadable values that the log has: each comes again with every answer, as it stays in the ledger."""

    def report(self, what: str, key: bytes, error: Exception) -> None:
        """Warn of it, unless that was done."""
        if (what, key) not in self:
            self.add((what, key))
            shown = key[:MOST_CELL].decode("utf-8", "backslashreplace")
            log.warning("ledger.unreadable", what=what, key=shown, error=str(error)[:200])


def read_offers(raw: list[bytes], reported: ReportedValues | None = None) -> list[LateAnswer]:
    """Return the answers that came after their job's end. One whose job cannot be read is reported and stays."""
    found, reported = [], ReportedValues() if reported is None else reported
    for i in range(0, len(raw), 2):
        result = None
        try:
            key = JobKey.parse(raw[i].decode())
        except ValueError as error:
            reported.report("a late answer's job", raw[i], error)
            continue
        try:
            result = _read_result(raw[i + 1])
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="a late answer", job=key.text(), error=str(error)[:200])
        found.append(LateAnswer(key, result))
    return found


def read_learned(raw: list[bytes], reported: ReportedValues | None = None) -> list[Learned]:
    """Return the final usage of ended jobs. An unreadable one is reported and stays, and its job counts in full."""
    found, reported = [], ReportedValues() if reported is None else reported
    for i in range(0, len(raw), 2):
        try:
            known = _CORRECTION.decode(raw[i + 1])
            found.append(Learned(JobKey.parse(raw[i].decode()), Cost(*known.usage), known.saved, known.at))
        except (ValueError, RecursionError) as error:
            reported.report("what an ended job came to", raw[i], error)
    return found


def read_retries(raw: list[bytes], reported: ReportedValues | None = None) -> list[RetriedAttempt]:
    """Return the usage of earlier attempts, in order. An unreadable one is reported and stays."""
    found, reported = [], ReportedValues() if reported is None else reported
    for i in range(0, len(raw), 2):
        try:
            known = _RETRY.decode(raw[i + 1])
            found.append(RetriedAttempt(raw[i].decode(), JobKey.parse(known.job), Cost(*known.used)))
        except (ValueError, RecursionError) as error:
            reported.report("what an earlier attempt used", raw[i], error)
    return sorted(found)
