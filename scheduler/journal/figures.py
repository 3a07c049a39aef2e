"""Figures of ticks for charts: what was spent, how jobs ended, and how the run was steered and paced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from cogitate.scheduler.journal.spending import SpendingNotes, spending
from cogitate.scheduler.ledger.claims import Source


class Figures(msgspec.Struct, array_like=True, kw_only=True):
    """The figures of one tick, or of several in a row."""

    tick: int  # the last of them
    minute: int  # its game time, total minutes
    ticks: int = 1
    tokens: dict[str, int] = {}  # by kind, as they became known
    usd_micros: dict[str, int] = {}  # likewise
    sources: dict[str, int] = {}  # of ended jobs
    late: int = 0  # of them
    cadence: int | None = None  # of reflections after the last tick, in thousandths of the usual; None: not known
    causes: dict[str, int] = {}  # pressure on it, in percent
    age: int | None = None  # ticks since the oldest job whose answer is wanted was admitted; the most of all ticks
    host_us: int | None = None  # microseconds of the host's own work, of all ticks together


class EndedJob(Protocol):
    """The end of a job."""

    @property
    def reason(self) -> str: ...


class CountedCore(Protocol):
    """Counts of a line's core."""

    @property
    def tick(self) -> int: ...

    @property
    def minute(self) -> int: ...

    @property
    def ended(self) -> Sequence[EndedJob]: ...


def figures_of(core: CountedCore, notes: SpendingNotes) -> Figures:
    """Return what a line of the journal says; nothing of steering and pace."""
    tokens: dict[str, int] = {}
    usd_micros: dict[str, int] = {}
    sources: dict[str, int] = {}
    for note in notes.ended:
        source: Source = note.source
        sources[source] = sources.get(source, 0) + 1
    for spent in spending(notes):
        for found, amount in ((tokens, spent.cost.tokens), (usd_micros, spent.cost.usd_micros)):
            if amount:
                found[spent.key.kind] = found.get(spent.key.kind, 0) + amount
    late = sum(ended.reason == "late" for ended in core.ended)
    return Figures(tick=core.tick, minute=core.minute, tokens=tokens, usd_micros=usd_micros, sources=sources, late=late)


def joined(one: Figures, later: Figures) -> Figures:
    """Return the figures of both; `later` follows `one`."""
    return Figures(
        tick=later.tick,
        minute=later.minute,
        ticks=one.ticks + later.ticks,
        tokens=_sums(one.tokens, later.tokens),
        usd_micros=_sums(one.usd_micros, later.usd_micros),
        sources=_sums(one.sources, later.sources),
        late=one.late + later.late,
        cadence=later.cadence,
        causes=later.causes,
        age=max((age for age in (one.age, later.age) if age is not None), default=None),
        host_us=None if one.host_us is None or later.host_us is None else one.host_us + later.host_us,
    )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    found = dict(one)
    for name, amount in other.items():
        found[name] = found.get(name, 0) + amount
    return found
