"""Read and write workers' notes of the times at which models' answers arrived.

If due ticks follow the latencies of models, the script that settles an attempt with an answer notes the last committed
tick in the run's list `timed`. The replies to the host's ordinary steps carry the list. The host takes it at the next
boundary, journals it, and removes it with the step that commits that tick.

The note also names the tick at which the worker claimed the job, because the wait for a worker says nothing about the
model: `cogitate.scheduler.tick.pace` subtracts it before a boundary learns from the note.

A job that ends while a worker runs it takes longer than its age, which is a fact too (`Overdue`). The host withdraws
this fact once no worker has the job and no answer has arrived.

The note also records the usage of the call. An answer may wait long for its due tick, like a plan that was requested
the evening before. From the boundary that learns of it on, admission counts this usage instead of the job's
reservation.
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
    used: Cost = Cost()  # usage of the call, as admission's view counts it; zero if it was not noted


class Overdue(NamedTuple):
    """A job that ended late while a worker ran it."""

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
    claimed: _Amount = 0  # last committed tick at the claim; 0: not noted


_NOTE = typed_json.decoder(_Note)


def read_timed(raw: Iterable[bytes]) -> list[Timed | None]:
    """Return the times that workers have noted; None for an unreadable note.

    Args:
        raw: notes, each the last committed tick, a space, and a `_Note` as JSON.
    """
    times: list[Timed | None] = []
    for line in raw:
        try:
            tick, _, rest = line.decode().partition(" ")
            note = _NOTE.decode(rest)
            key = JobKey.parse(note.key)
            used = Cost(note.calls, note.tokens, note.usd_micros)
            times.append(Timed(key, note.model, max(0, note.ahead), max(1, int(tick) + 1 - key.tick), used))
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="the time of an answer", error=str(error)[:200])
            times.append(None)
    return times


def read_claimed(raw: Iterable[bytes]) -> dict[JobKey, int]:
    """Return the ticks at which jobs were claimed, from those notes that record them."""
    claimed = {}
    for line in raw:
        with contextlib.suppress(ValueError, RecursionError):  # `read_timed` reports it
            note = _NOTE.decode(line.decode().partition(" ")[2])
            if note.claimed:
                claimed[JobKey.parse(note.key)] = note.claimed
    return claimed


def note_of(key: JobKey, model: str, ahead: int, used: Cost, claimed: int = 0) -> bytes:
    """Return a worker's note on an answer; the script prepends the tick.

    Args:
        claimed: the last committed tick when the worker claimed the job; 0: unknown.
    """
    return msgspec.json.encode(_Note(key.text(), model, ahead, used.calls, used.tokens, used.usd_micros, claimed))
