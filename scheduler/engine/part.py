"""The base class of the engine's parts. A part implements one feature of a run, from the boundary to the ledger.

The engine ends the jobs that are due and notifies each part of each end (`ended`). Then it calls the parts in the order
of `cogitate.scheduler.engine.engine`: `begin` at the boundary, `end` after the world's turn. A part puts its journal
entries into `TickState.core` and `TickState.notes`. The commit writes what `take_records` and `take_writes` return, and
`load` reads it back on resume. The auditor and the run's summary use the declarations of the class: `hashes`, `audit`,
`figures`. To add a feature, add a part and list it there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from cogitate.memory.clock import DAY
from cogitate.memory.effects import losses
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.engine.boundary import Closing, cancelled
from cogitate.scheduler.engine.open_jobs import OpenJob, counted
from cogitate.scheduler.engine.run_data import RunData, WorldTurn
from cogitate.scheduler.journal.run_totals import Charge
from cogitate.scheduler.ledger.ledger import Records, Value, Write
from cogitate.scheduler.ledger.run_store import RunKey, RunStore
from cogitate.scheduler.ledger.step_replies import BoundaryInput
from cogitate.scheduler.steering.cadence import KindFault
from cogitate.tasks.job import JobKey

LONGEST_AFTER_END = DAY  # game minutes after a job's end within which its answer may still change memory


@dataclass(kw_only=True)
class TickState:
    """The state of one tick as it passes through the parts: its inputs, and their outcome so far."""

    number: int
    minute: int  # game time, total minutes
    run: RunData
    parts: Sequence[Part]
    boundary: BoundaryInput
    turn: WorldTurn = field(default_factory=WorldTurn)
    controls: Sequence[ControlRequest | None] = ()  # requests of operators
    away: bool = False  # whether the ledger is away, so that no job can be admitted

    closings: list[Closing] = field(default_factory=list)  # ends of jobs in this tick
    closed: dict[JobKey, OpenJob] = field(default_factory=dict)  # the same jobs before their ends
    applied: list[Closing] = field(default_factory=list)  # all changes of memory at the boundary, in order
    touched: set[str] = field(default_factory=set)  # owners whose memory has changed by more than observations
    cut: set[str] = field(default_factory=set)  # owners whose memory was cut to a limit
    called_off: list[OpenJob] = field(default_factory=list)  # jobs that operators cancelled; heuristics replace them
    opened: list[OpenJob] = field(default_factory=list)
    faults: Sequence[KindFault] = ()  # of kinds that were asked whether they are due
    core: dict[str, Any] = field(default_factory=dict)  # fields of the line's `Core`, by name
    notes: dict[str, Any] = field(default_factory=dict)  # fields of the line's `TickNotes`, by name

    def close(self, closing: Closing) -> None:
        """Remove a job that has ended from the open ones, and notify every part."""
        item = self.run.open.close(closing.ended.key)
        self.closings.append(closing)
        self.closed[closing.ended.key] = item
        self.run.view.move(item.cells, counted(item), closing.counts_as)
        for part in self.parts:
            part.ended(self, closing, item)

    def cancel(self, keys: Iterable[JobKey], because: str = "") -> list[OpenJob]:
        """Cancel open jobs, in the order of their keys, and return them."""
        items = [self.run.open[key] for key in sorted(keys)]
        for item in items:
            self.close(cancelled(item, because))
        return items

    def apply(self, closing: Closing) -> None:
        """Record the changes of memory by an end or a late answer."""
        self.applied.append(closing)
        self.touched |= {effect.owner for effect in closing.ended.effects}

    @property
    def changed(self) -> list[str]:
        """Return the present owners whose memory has changed so far, in order."""
        return sorted((self.touched | {owner for owner, _ in self.turn.observed}) & self.run.streams.keys())

    def count_losses(self, effects: Iterable[Any]) -> None:
        """Count the losses of effects as warnings."""
        for loss in losses(effects):
            self.run.warnings[loss.name] += loss.amount


class Figure(NamedTuple):
    """Counts of a part in the summary of a run, by kind and by end."""

    name: str  # in `RunTotals.figures`, and in the summary as JSON
    end: str  # the end that `sentence` is about
    sentence: str  # the count replaces {}

    @property
    def label(self) -> str:
        """Return the name in the form that reports show."""
        return self.name.replace("_", " ")


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """A run at one instant, for the audits of parts: the ledger's state, and the state that the journal implies."""

    tick: int
    trimmed: int  # last tick whose journal line was removed
    hashes: Mapping[str, Mapping[str, bytes]]  # `Part.hashes`, by name
    open: Collection[str]  # keys of the open jobs
    attempts: Mapping[str, str]  # token of an attempt whose usage has not arrived -> key of its job
    windows: Collection[str]
    ended: Collection[JobKey]  # from the untrimmed lines of the journal
    charged: Mapping[str, Charge]  # likewise: key -> an ended job that counts in full
    streams: Mapping[str, Stream]  # likewise: of the present owners


class Part:
    """One feature of a run. Each step does nothing unless the part implements it."""

    hashes: ClassVar[tuple[RunKey, ...]] = ()  # hashes of the ledger (job -> record) that only this part writes
    figures: ClassVar[tuple[Figure, ...]] = ()

    def begin(self, tick: TickState) -> None:
        """Act at the boundary, after the due jobs have ended."""

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Note a job that has ended, at the boundary or by cancellation."""

    def end(self, tick: TickState) -> None:
        """Act at the end of the tick, after the world's turn."""

    def take_records(self) -> Records | None:
        """Return the records of jobs that end with this tick, which the same step writes; None if the part has none."""
        return None

    def take_writes(self) -> list[Write]:
        """Return the commands that bring the ledger up to date with this tick. A second call returns none."""
        return []

    def load(self, store: RunStore) -> None:
        """Read back the part's state from the ledger. Streams, owners and open jobs have been loaded before.

        Raises:
            ValueError: if no version writes such a state.
        """

    @classmethod
    def audit(cls, run: AuditedRun) -> list[str]:
        """Return a sentence for each fault in the part's records in the ledger.

        Raises:
            ValueError: if a record is unreadable.
        """
        return []


Record = TypeVar("Record", bound=msgspec.Struct)


class JobRecords(Generic[Record]):
    """A part's records by job, with the changes that the ledger does not have yet."""

    def __init__(self) -> None:
        self.records: dict[JobKey, Record] = {}
        self._new: set[JobKey] = set()
        self._gone: set[JobKey] = set()

    def remember(self, key: JobKey, record: Record) -> None:
        self.records[key] = record
        self._new.add(key)

    def drop(self, key: JobKey) -> None:
        """Drop a job's record here and in the ledger, which may have records that this host has not."""
        self.records.pop(key, None)
        if key in self._new:
            self._new.remove(key)
        else:
            self._gone.add(key)

    def take_records(self) -> list[tuple[JobKey, bytes]]:
        """Return the new records since the last call, in the form that the ledger stores."""
        new, self._new = sorted(self._new), set()
        return [(key, msgspec.json.encode(self.records[key])) for key in new]

    def take_gone(self) -> list[Value]:
        """Return the keys of the records dropped since the last call, in the form that the ledger stores."""
        gone, self._gone = sorted(self._gone), set()
        return [key.text() for key in gone]
