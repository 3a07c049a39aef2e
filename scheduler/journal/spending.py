"""Charge what a tick's line says was spent: each attempt once, when it is known what it used.

A job's end has the usage of its winning attempt and of those before it that were known. Of a job that ended without a
result it is the correction that says what its newest attempt used, and of attempts that are heard of later still, a
separate note. Usage that never becomes known is charged only to the windows of the budget, in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from cogitate.scheduler.journal.lines import Correction, EndNote, Retried
from cogitate.tasks.job import Cost, JobKey, added


class Spent(NamedTuple):
    """One charge for a job."""

    key: JobKey
    cost: Cost
    note: EndNote | None  # of its end, where that is what says it


class SpendingNotes(Protocol):
    """The notes of a line that charge for attempts."""

    @property
    def ended(self) -> Sequence[EndNote]: ...

    @property
    def corrected(self) -> Sequence[Correction]: ...

    @property
    def retried(self) -> Sequence[Retried]: ...


def spending(notes: SpendingNotes) -> Iterator[Spent]:
    """Yield what a line charges."""
    for note in notes.ended:
        yield Spent(note.key, added(note.spent, note.retried), note)
    for correction in notes.corrected:
        yield Spent(correction.key, correction.spent, None)
    for retried in notes.retried:
        yield Spent(retried.key, retried.used, None)
