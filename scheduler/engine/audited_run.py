"""A run as the auditor has read it, for the checks of the engine's parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cogitate.memory.stream import Stream
from cogitate.scheduler.journal.run_totals import Charge
from cogitate.tasks.job import JobKey


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """One instant of a run: the ledger's side of it, and what the journal leads to."""

    tick: int
    trimmed: int  # the journal's lines up to this tick were removed
    hashes: Mapping[str, Mapping[str, bytes]]  # `Part.hashes`, by name
    open: Collection[str]  # keys of the open jobs
    attempts: Mapping[str, str]  # token of an attempt whose usage has not arrived -> key of its job
    windows: Collection[str]
    ended: Collection[JobKey]  # by the journal, as far as it was not trimmed
    charged: Mapping[str, Charge]  # likewise: key -> an ended job that counts in full
    streams: Mapping[str, Stream]  # likewise: of the owners that are here
