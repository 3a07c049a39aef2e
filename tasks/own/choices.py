"""Choices of the memories that a declared kind reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import get_args

from cogitate.memory.entry import Entry, EntryType
from cogitate.tasks.kind import Case
from cogitate.tasks.kind_check import KindError
from cogitate.tasks.own.cadences import minutes_in
from cogitate.tasks.recall import without_repeats

Choice = Callable[[Case], Sequence[Entry]]


def newest(count: int, *, types: Collection[EntryType] = ()) -> Choice:
    """Return a choice of the newest memories, oldest first.

    Args:
        types: the types to choose from, such as ("observation",); empty: every type.

    Raises:
        KindError: when the count or a type is invalid.
    """
    _check("newest", count, types)
    return lambda case: without_repeats(_of(types, reversed(case.entries)))[:count][::-1]


def drawn(count: int, *, older: str = "", types: Collection[EntryType] = ()) -> Choice:
    """Return a random choice, oldest first: it differs from job to job, but is the same on every machine for one job.

    Args:
        older: the minimum age in game time, such as "12h" or "1d".
        types: the types to choose from, such as ("observation",); empty: every type.

    Raises:
        KindError: when the count, the span or a type is invalid.
    """
    _check("drawn", count, types)
    least = minutes_in(older)
    if older and not least:
        raise KindError(f'drawn(…, older={older!r}): give a span of game time such as "12h" or "1d"')

    def draw(case: Case) -> list[Entry]:
        job = case.job.key.text()
        known = without_repeats(one for one in _of(types, case.entries) if one.minute <= case.job.minute - least)
        lots = sorted(known, key=lambda entry: hashlib.blake2b(f"{job} {entry.number}".encode()).digest())
        return sorted(lots[:count], key=lambda entry: entry.number)

    return draw


def _of(types: Collection[EntryType], entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if entry.type in types) if types else entries


def _check(name: str, count: object, types: object) -> None:
    if type(count) is not int or not 1 <= count <= 1_000:
        raise KindError(f"{name}({count!r}): give a number of memories from 1 to 1,000")
    if not isinstance(types, tuple | list | set | frozenset) or not set(types) <= set(get_args(EntryType)):
        raise KindError(f"{name}(…, types={types!r}): give a tuple of {', '.join(get_args(EntryType))}")
