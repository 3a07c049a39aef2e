"""Which memories a declared kind reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from memory.entry import Entry
from tasks.kind import Case
from tasks.kind_check import KindError
from tasks.own.cadences import minutes_in
from tasks.recall import without_repeats

Choice = Callable[[Case], Sequence[Entry]]


def newest(count: int) -> Choice:
    """Return a choice of the newest memories, in the order in which they were made.

    Raises:
        KindError: when the count is none.
    """
    _check_count("newest", count)
    return lambda case: without_repeats(reversed(case.entries))[:count][::-1]


def drawn(count: int, *, older: str = "") -> Choice:
    """Return a choice by lot, oldest first: another for each job, the same for a job wherever it is computed.

    Args:
        older: leaves out what is younger than that span of game time, such as "12h" or "1d".

    Raises:
        KindError: when the count or the span is none.
    """
    _check_count("drawn", count)
    least = minutes_in(older)
    if older and not least:
        raise KindError(f'drawn(…, older={older!r}): give a span of game time such as "12h" or "1d"')

    def draw(case: Case) -> list[Entry]:
        job = case.job.key.text()
        known = without_repeats(entry for entry in case.entries if entry.minute <= case.job.minute - least)
        lots = sorted(known, key=lambda entry: hashlib.blake2b(f"{job} {entry.number}".encode()).digest())
        return sorted(lots[:count], key=lambda entry: entry.number)

    return draw


def _check_count(name: str, count: object) -> None:
    if type(count) is not int or not 1 <= count <= 1_000:
        raise KindError(f"{name}({count!r}): give a number of memories from 1 to 1,000")
