"""Decode the outline of a journal line: ends, decisions and spending, without effects."""

from __future__ import annotations

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.journal.lines import Correction, EndNote, JournalError, Retried, unpack_line
from cogitate.tasks.job import JobKey


class EndOutline(msgspec.Struct):
    """The end of a job."""

    key: JobKey
    end: str
    reason: str = "none"


class DecisionOutline(msgspec.Struct):
    """Admission's decision on a request."""

    key: JobKey
    decision: str
    refused: str = ""


class CoreOutline(msgspec.Struct):
    """The countable part of a line's core."""

    tick: int
    minute: int  # game time, total minutes
    ended: tuple[EndOutline, ...] = ()
    decided: tuple[DecisionOutline, ...] = ()


class NotesOutline(msgspec.Struct):
    """The notes of a line that record spending."""

    ended: tuple[EndNote, ...] = ()
    corrected: tuple[Correction, ...] = ()
    retried: tuple[Retried, ...] = ()


class LineOutline(msgspec.Struct):
    """One tick in outline."""

    v: int
    core: CoreOutline
    notes: NotesOutline


_OUTLINE = typed_json.decoder(LineOutline)


def read_outline(stored: bytes) -> LineOutline:
    """Return the outline of a stored line."""
    try:
        return _OUTLINE.decode(unpack_line(stored)[1])
    except msgspec.DecodeError as error:
        raise JournalError(f"the journal was changed, a line of it cannot be read: {error}") from error
