"""Times at which models' answers arrived, as workers note them for the host of their run.

Where due ticks follow the latencies of models, a worker that settles an attempt with an answer has the script note the
last committed tick of that moment in the list `timed` of the run. The host is shown the list with the steps it takes
anyway, takes it at the next boundary, journals it, and removes it with the step that commits that tick.

The note also names the tick at which the worker claimed the job, since the time that a job waited for a worker says
nothing about its model: `cogitate.scheduler.tick.pace` separates the two before a boundary learns.

A job that ends while a worker has it takes longer than its age, which is a fact as well (`Overdue`). It is taken back
once no worker has the job and no answer has come.

The note says what the call used, too. An answer may wait long for its due tick, as plans do that are asked for before
the morning; from the boundary that learns of it on, admission counts that instead of the job's reservation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.scheduler.config.limits import MAX_LIMIT
from cogitate.tasks.job import Cost, JobKey

log = structlog.get_logger()

_Amount = Annotated[int, msgspec.Meta(ge=0, le=MAX_LIMIT)]


class Timed(NamedTuple):
    """The time at which the answer of a job arrived."""

    key: JobKey
    model: str
    ahead: int  # jobs of the same kind and model that were in flight when it was admitted
    ticks: int  # from its admission to the first boundary that could have applied it
    used: Cost = Cost()  # by the call, as admission's view counts it; nothing if it was not noted


class Overdue(NamedTuple):
    """A job that ended late while a worker had it."""

    key: JobKey
    ticks: int  # its age at its end; 0: its worker was lost or its call failed, so no answer will come


class _Note(msgspec.Struct, array_like=True):
    """A worker's note on the time of an answer."""

    key: str
    model: str
    ahead: int
    calls: _Amount = 0
    tokens: _Amount = 0
    usd_micros: _Amount = 0
    claimed: _Amount = 0  # the tick that was committed then; 0: not noted


_NOTE = typed_json.decoder(_Note)


def read_timed(raw: Iterable[bytes]) -> list[Timed | None]:
    """Return the times that workers have noted: each the last committed tick, then key, model and place as JSON."""
    found: list[Timed | None] = []
    for one in raw:
        try:
            tick, _, rest = one.decode().partition(" ")
            note = _NOTE.decode(rest)
            key = JobKey.parse(note.key)
            used = Cost(note.calls, note.tokens, note.usd_micros)
            found.append(Timed(key, note.model, max(0, note.ahead), max(1, int(tick) + 1 - key.tick), used))
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="the time of an answer", error=str(error)[:200])
            found.append(None)
    return found


def read_claimed(raw: Iterable[bytes]) -> dict[JobKey, int]:
    """Return the ticks at which jobs were claimed, from the notes on their answers that have them."""
    found = {}
    for one in raw:
        with contextlib.suppress(ValueError, RecursionError):  # `read_timed` reports it
            note = _NOTE.decode(one.decode().partition(" ")[2])
            if note.claimed:
                found[JobKey.parse(note.key)] = note.claimed
    return found


def note_of(key: JobKey, model: str, ahead: int, used: Cost, claimed: int = 0) -> bytes:
    """Return a worker's note on an answer; the script puts the tick before it.

    Args:
        claimed: the tick that was committed when the worker claimed the job; 0: not known.
    """
    return msgspec.json.encode(_Note(key.text(), model, ahead, used.calls, used.tokens, used.usd_micros, claimed))
